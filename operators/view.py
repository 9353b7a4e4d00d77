"""How an operator sees a problem: designs become features of points, states become values there, and back.

    predicted state = u_r + up( G(features(x); features(x_r), down(u_r)) - down(u_r) )

On the points of the solver `down` and `up` only reshape. On a coarser grid the operator is cheaper by the number of
points, and because only the change is prolonged, the prediction stays exact at the reference.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor


class View(Protocol):
    """All maps are differentiable and take batches."""

    def features(self, design: Tensor) -> Tensor:
        """(B, n) -> (B, M, inputs)"""
        ...

    def down(self, state: Tensor) -> Tensor:
        """(B, s) -> (B, M, outputs)"""
        ...

    def up(self, values: Tensor) -> Tensor:
        """(B, M, outputs) -> (B, s); linear."""
        ...

    def objective(self, state: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        """The part of J that depends on the state, (B,); known: name -> (B, ...)."""
        ...

    def to(self, place: Any) -> "View":
        """On another device, or in another precision."""
        ...

    @property
    def turns(self) -> Tensor | None:
        """(symmetries, s) renumberings that map the family onto itself; the first is the identity. None: none."""
        ...


@dataclass(frozen=True)
class Anchor:
    """A design with its solved state: design (B, n), state (B, s)."""

    design: Tensor
    state: Tensor


@dataclass(frozen=True)
class Seen:
    """An anchor through a view. state : (B, s); reference: features (B, M, inputs) and values (B, M, outputs) there.

    Attributes:
        still: what the operator has worked out of the reference already; None: each prediction works it out.
    """

    state: Tensor
    reference: tuple[Tensor, Tensor]
    still: Tensor | None = None

    @classmethod
    def of(cls, view: View, anchor: Anchor) -> "Seen":
        with torch.no_grad():
            features = view.features(anchor.design)
        return cls(anchor.state, (features, view.down(anchor.state)))

    def by(self, model: Any) -> "Seen":
        """For many predictions of one model that is no longer trained: half the work of an increment."""
        with torch.no_grad():
            return replace(self, still=model.still(self.reference))


def predict(model: Any, view: View, design: Tensor, anchor: Anchor | Seen | None) -> Tensor:
    """State (B, s) at designs (B, n), from the anchor's where there is one."""
    return change_from(model, view, design, anchor)[0]


def change_from(model: Any, view: View, design: Tensor, anchor: Anchor | Seen | None) -> tuple[Tensor, Tensor]:
    """State (B, s), and the operator's own values (B, M, outputs)."""
    if anchor is None:
        values = model(view.features(design))
        return view.up(values), values
    at = Seen.of(view, anchor) if isinstance(anchor, Anchor) else anchor
    values = model(view.features(design), at.reference, still=at.still)
    return at.state + view.up(values - at.reference[1]), values
