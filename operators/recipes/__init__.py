"""Families of problems, each with how an operator sees it, what it learns from, and which sizes have proved right.

recipe = find("inversion")
recipe.member(number)        -> `operators.trajectories.Member`
recipe.view()                -> `operators.view.View`
shipped("inversion")         -> the trained operator in `assets/operators/`, as a surrogate for the hybrid
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from operators.errors import OperatorError
from operators.hybrid_settings import HybridSettings
from operators.models import load
from operators.settings import Settings
from operators.surrogates.neural import Viewed
from operators.training import TrainingSettings
from operators.trajectories import Member
from operators.view import View


@dataclass(frozen=True)
class Recipe:
    """One family.

    Attributes:
        member: number -> member. view: how an operator sees it. settings: kind, output -> sizes of an operator.
        kept: inputs that are not normalised. training: settings of `operators.training`.
        record: options of `operators.trajectories.record`. keep: iterates of a run that are learnt from.
        runs, unseen: numbers of the runs that are learnt from, and of those that are never shown.
        probe: length of the steps off the path at which gradients are judged, in the norm of the design space.
        hybrid: how the hybrid goes with an operator of this family.
    """

    name: str
    title: str
    member: Callable[[int], Member]
    view: Callable[[], View]
    settings: Callable[[str, str], Settings]
    kept: tuple[int, ...]
    training: TrainingSettings
    record: dict[str, Any]
    keep: int
    runs: range
    unseen: range
    probe: float
    hybrid: HybridSettings = field(default_factory=lambda: HybridSettings(resolution=1e-6))


PLACES: dict[str, str] = {
    "inversion": "operators.recipes.inversion",
    "cantilever": "operators.recipes.cantilever",
    "compliance": "operators.recipes.compliance",
    "double_pipe": "operators.recipes.double_pipe",
    "reactor": "operators.recipes.reactor",
}
WEIGHTS = Path(__file__).parents[2] / "assets" / "operators"


def find(name: str) -> Recipe:
    """The recipe of a problem.

    Raises:
        OperatorError: there is none of this name.
    """
    if name not in PLACES:
        raise OperatorError(f"there is no recipe for {name!r}: choose one of {', '.join(PLACES)}")
    return import_module(PLACES[name]).RECIPE


def shipped(name: str) -> Viewed:
    """The operator that comes with Formgrad; its card (`operators.models.card`) holds the commands that made it.

    Raises:
        OperatorError: there is no recipe of this name, or no weights for it.
    """
    return Viewed(load(WEIGHTS / f"{name}.safetensors"), find(name).view(), f"neural operator ({name})")
