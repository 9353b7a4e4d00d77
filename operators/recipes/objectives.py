"""Objectives of the families in torch, from tensors of the solver's forms.

Each is called as `J(state, design, known)`, state : (B, s), design : (B, n) -> (B,).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from torch import Tensor

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Bilinear:
    """J = x . A u + b . u.

    Args: A: (n, s), sparse. b: (s,).
    """

    A: Tensor
    b: Tensor

    @classmethod
    def of(cls, A: Any, b: Vector) -> "Bilinear":
        return cls(sparse(A), single(b))

    def __call__(self, state: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        return (design * torch.sparse.mm(self.A, state.T).T).sum(dim=1) + state @ self.b

    def to(self, place: Any) -> "Bilinear":
        return moved(self, place)


@dataclass(frozen=True)
class Dissipation:
    """J = 1/2 u . H u + 1/2 sum_q w_q (alpha(m_q) - alpha_H) |u_q|^2, m = x, at points q of quadrature.

    Args: H: (s, s), sparse, with alpha_H everywhere. field: (q, n) and velocities: (q, s) each, sparse; weights: (q,).
    alpha: m -> alpha.
    """

    H: Tensor
    level: float
    field: Tensor
    velocities: tuple[Tensor, ...]
    weights: Tensor
    alpha: Callable[[Any], Any]

    @classmethod
    def of(
        cls, H: Any, level: float, field: Any, velocities: Sequence[Any], weights: Vector, alpha: Callable[[Any], Any]
    ) -> "Dissipation":
        return cls(sparse(H), level, sparse(field), tuple(map(sparse, velocities)), single(weights), alpha)

    def __call__(self, state: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        bent = 0.5 * (state * torch.sparse.mm(self.H, state.T).T).sum(dim=1)
        square = sum(torch.sparse.mm(part, state.T) ** 2 for part in self.velocities)
        resisted = self.alpha(torch.sparse.mm(self.field, design.T)) - self.level
        return bent + 0.5 * (self.weights[:, None] * resisted * square).sum(dim=0)

    def to(self, place: Any) -> "Dissipation":
        return moved(self, place)


@dataclass(frozen=True)
class Work:
    """J = f . u with the f of each member, known as "load"."""

    def __call__(self, state: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        return (state * known["load"]).sum(dim=1)

    def to(self, place: Any) -> "Work":
        return self


@dataclass(frozen=True)
class Energy:
    """u . K(x) u = sum_q E(m_q) |S_q u|^2.

    Args:
        strains: (r q, s), sparse: S, its r rows per point q beside each other. field: (q, n), sparse: m = field x.
        modulus: m -> E.
    """

    strains: Tensor
    field: Tensor
    modulus: Callable[[Any], Any]

    @classmethod
    def of(cls, strains: Any, field: Any, modulus: Callable[[Any], Any]) -> "Energy":
        return cls(sparse(strains), sparse(field), modulus)

    def __call__(self, state: Tensor, design: Tensor) -> Tensor:
        """(B,)"""
        square = torch.sparse.mm(self.strains, state.T) ** 2
        modulus = self.modulus(torch.sparse.mm(self.field, design.T))
        return (modulus * square.reshape(-1, *modulus.shape).sum(dim=0)).sum(dim=0)


@dataclass(frozen=True)
class Simp:
    """E = least + (most - least) m^power"""

    least: float
    most: float
    power: float

    def __call__(self, m: Any) -> Any:
        return self.least + (self.most - self.least) * m.clip(0, 1) ** self.power


def moved(value: Any, place: Any) -> Any:
    """Tensors, and what holds them, on another device or in another precision; numbers of places stay integers."""
    if isinstance(value, Tensor):
        whole = isinstance(place, torch.dtype) and not value.is_floating_point()
        return value if whole else value.to(place)
    if isinstance(value, tuple):
        return tuple(moved(part, place) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: moved(getattr(value, f.name), place) for f in fields(value)})
    return value


def sparse(matrix: Any) -> Tensor:
    """fp32, for `torch.sparse.mm`, which can be differentiated twice."""
    A = coo_array(matrix)
    A.sum_duplicates()
    places = torch.as_tensor(np.stack(A.coords).astype(np.int64))
    return torch.sparse_coo_tensor(places, single(A.data), A.shape, check_invariants=True).coalesce()


def single(values: Vector) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32)
