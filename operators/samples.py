"""Iterates of many runs as tensors to learn from, and the directional derivatives that a solver adds to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from operators.errors import OperatorError
from operators.trajectories import Run


@dataclass(frozen=True)
class Samples:
    """N iterates.

    Attributes:
        design: (N, n). state: (N, s). slope: (N, n) covector, the part of dJ/dx that comes through the state.
        first: (N,), norm of the slope at the start of the sample's run.
        run, place: (N,) on the processor. known: name -> (N, ...), what the objective needs.
        weights: (N, M) quadrature weights at the operator's points, or None.
        direction, tangent: (N, k, n) and (N, k, s), h and (du/dx) h. cotangent, pullback: (N, k, s) and (N, k, n).
    """

    design: Tensor
    state: Tensor
    slope: Tensor
    first: Tensor
    run: Tensor
    place: Tensor
    known: dict[str, Tensor]
    weights: Tensor | None = None
    direction: Tensor | None = None
    tangent: Tensor | None = None
    cotangent: Tensor | None = None
    pullback: Tensor | None = None

    def __len__(self) -> int:
        return len(self.design)

    def take(self, rows: np.ndarray | Sequence[int], turns: Tensor | None = None, turn: int = 0) -> "Samples":
        """Some samples in this order, all turned by one symmetry of the family: their fields are renumbered."""
        index = torch.as_tensor(np.asarray(rows))
        picked = {f.name: _picked(getattr(self, f.name), index) for f in fields(self)}
        if turns is None or turn % len(turns) == 0:
            return Samples(**picked)
        order = turns[turn % len(turns)]
        for name in TURNED:
            picked[name] = _turned(picked[name], order)
        picked["known"] = {name: _turned(value, order) for name, value in picked["known"].items()}
        return Samples(**picked)

    def to(self, device: torch.device) -> "Samples":
        moved = {f.name: _moved(getattr(self, f.name), device) for f in fields(self) if f.name not in ("run", "place")}
        return replace(self, **moved)


TURNED = ("design", "state", "slope", "direction", "tangent", "cotangent", "pullback")


def samples(runs: Iterable[Run], keep: int | None = None, dtype: torch.dtype = torch.float32) -> Samples:
    """The iterates of runs, at most `keep` of each.

    Raises:
        OperatorError: no runs, or a value that is not finite.
    """
    kept = [run if keep is None else run.thinned(keep) for run in runs]
    if not kept:
        raise OperatorError("there are no runs to learn from: make some with `formgrad operator data`")
    for run in kept:
        if not (np.isfinite(run.state).all() and np.isfinite(run.gradient).all()):
            raise OperatorError(f"run {run.number} holds values that are not finite: delete it and make it again")
    lengths = [len(run) for run in kept]

    def stacked(values: Iterable[np.ndarray]) -> Tensor:
        return torch.as_tensor(np.concatenate(list(values)), dtype=dtype)

    slope = [run.gradient - run.explicit for run in kept]
    known = {
        name: stacked(np.repeat(run.known[name][None], n, 0) for run, n in zip(kept, lengths, strict=True))
        for name in kept[0].known
    }
    return Samples(
        design=stacked(run.design for run in kept),
        state=stacked(run.state for run in kept),
        slope=stacked(slope),
        first=stacked(np.full(n, np.linalg.norm(g[0])) for g, n in zip(slope, lengths, strict=True)),
        run=torch.as_tensor(np.repeat([run.number for run in kept], lengths)),
        place=torch.as_tensor(np.concatenate([np.arange(n) for n in lengths])),
        weights=known.pop("weights", None),
        known=known,
    )


def with_tangents(given: Samples, problem: Any, directions: np.ndarray) -> Samples:
    """Add (du/dx) h, which does not depend on the objective; one tangent solve each.

    Args:
        problem: any member of the family, with `tangent(x, u, h)`. directions: (N, k, n).
    """
    if not hasattr(problem, "tangent"):
        raise OperatorError(f"{type(problem).__name__} has no tangent solves: take the sensitivity loss")
    rows = [
        [problem.tangent(x, u, h) for h in hs]
        for x, u, hs in zip(_host(given.design), _host(given.state), directions, strict=True)
    ]
    like = given.design
    h, pushed = (torch.as_tensor(np.array(values)).to(like) for values in (directions, rows))
    return replace(given, direction=h, tangent=pushed)


def with_pullbacks(given: Samples, problem: Any, cotangents: np.ndarray) -> Samples:
    """Add (du/dx)^T w; one adjoint solve each. cotangents : (N, k, s)."""
    if not hasattr(problem, "state_pullback"):
        raise OperatorError(f"{type(problem).__name__} has no pull-backs of states: take the sensitivity loss")
    rows = [
        [problem.state_pullback(x, u, w) for w in ws]
        for x, u, ws in zip(_host(given.design), _host(given.state), cotangents, strict=True)
    ]
    like = given.design
    w, pulled = (torch.as_tensor(np.array(values)).to(like) for values in (cotangents, rows))
    return replace(given, cotangent=w, pullback=pulled)


def _host(values: Tensor) -> np.ndarray:
    return values.double().cpu().numpy()


def _picked(value: Any, index: Tensor) -> Any:
    if isinstance(value, dict):
        return {name: _picked(part, index) for name, part in value.items()}
    return None if value is None else value[index.to(value.device)]


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, dict):
        return {name: part.to(device) for name, part in value.items()}
    return None if value is None else value.to(device)


def _turned(value: Tensor | None, order: Tensor) -> Tensor | None:
    """Fields on the points; anything of another length, such as a noise level, does not turn."""
    return value if value is None or value.shape[-1] != len(order) else value[..., order]
