"""Every kind of run with its part of the run view."""

from ui.barycenter import watch as barycenter
from ui.features import watch as features
from ui.pde import hybrid
from ui.pde import watch as pde
from ui.run_view import other, training
from ui.run_view.show import Show
from ui.runs import RunView
from ui.structure import watch as structure

SHOWS: dict[str, Show] = {
    "structure": structure.SHOW,
    "features": features.SHOW,
    "barycenter": barycenter.SHOW,
    "pde": pde.SHOW,
    "hybrid": hybrid.SHOW,
    "operator_data": training.DATA,
    "operator_train": training.TRAINING,
}


def show_of(run: RunView) -> Show:
    """The part of its kind."""
    return SHOWS.get(run.kind, other.SHOW)
