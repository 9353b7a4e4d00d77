"""A family of inverse problems: log-permeability from noisy pressures, each with its own truth, data and start.

    min  1/2 |(u - u_d) / sigma|^2 + 1/2 |z|^2        -div(exp(m) grad u) = 1 in (0, 1)^2,  u = 0 on the rim,  m = T z

on a grid of nodes with conductivity exp((m_i + m_j) / 2) between neighbours. The design is white, z ~ N(0, I): T is the
square root of a bilaplacian prior, (4 M + K / 4)^-1 M^(1/2), scaled to pointwise standard deviation 0.7, so that the
norm of z is a norm of functions and does not know the mesh. Many runs with different truths are what an operator can
learn from: with one datum all runs end at one design, which is memorised.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from optim.space import Euclidean, Space
from pde.functional import Spent
from pde.grid.errors import SolverError

Vector = NDArray[np.float64]
DEVIATION, NOISE = 0.7, 0.1


@dataclass(frozen=True)
class Square:
    """n x n cells of the unit square: what all members of the family share.

    Attributes:
        difference: (edges, nodes), of neighbours. average: the same. inner: nodes off the rim.
        prior: T, (nodes, nodes).
    """

    n: int
    difference: Any
    average: Any
    inner: NDArray[np.intp]
    prior: Vector

    @classmethod
    def of(cls, n: int) -> "Square":
        count, number = (n + 1) ** 2, np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
        pairs = np.concatenate(
            [
                np.stack([number[:-1].ravel(), number[1:].ravel()], 1),
                np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1),
            ]
        )
        edges = np.repeat(np.arange(len(pairs)), 2)
        signs, halves = np.tile([-1.0, 1.0], len(pairs)), np.full(2 * len(pairs), 0.5)
        difference = sp.csr_array((signs, (edges, pairs.ravel())), shape=(len(pairs), count))
        average = sp.csr_array((halves, (edges, pairs.ravel())), shape=(len(pairs), count))
        side = np.full(n + 1, 1.0)
        side[[0, -1]] = 0.5
        mass = np.outer(side, side).ravel() / n**2
        along = np.concatenate([np.outer(np.ones(n), side).ravel(), np.outer(side, np.ones(n)).ravel()])
        stiff = difference.T @ sp.diags_array(along) @ difference
        T = np.linalg.solve((4 * sp.diags_array(mass) + 0.25 * stiff).toarray(), np.diag(np.sqrt(mass)))
        T *= DEVIATION / np.sqrt((T**2).sum(axis=1).mean())
        return cls(n, difference, average, number[1:-1, 1:-1].ravel(), T)

    @property
    def points(self) -> Vector:
        """(nodes, 2)"""
        axis = np.linspace(0, 1, self.n + 1)
        return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


@dataclass
class Inversion:
    """One member. x is z : (nodes,); u : (nodes,), zero on the rim."""

    square: Square
    data: Vector
    sigma: float
    spent: Spent = field(default_factory=Spent)
    lower: None = None
    upper: None = None
    constraints: tuple[Any, ...] = ()

    @classmethod
    def member(cls, square: Square, number: int) -> "tuple[Inversion, Vector]":
        """Number `number` of the family, and where its runs start: a draw of the prior as well."""
        rng = np.random.default_rng([7, number])
        truth, start = rng.standard_normal((2, square.prior.shape[1]))
        problem = cls(square, np.zeros(square.prior.shape[0]), 1.0)
        u = problem.solve(truth)
        sigma = NOISE * float(np.sqrt((u[square.inner] ** 2).mean()))
        data = u.copy()
        data[square.inner] += sigma * rng.standard_normal(len(square.inner))
        return cls(square, data, sigma), start

    @property
    def n(self) -> int:
        return self.square.prior.shape[1]

    @property
    def space(self) -> Space:
        return Euclidean()

    # -- the state, and what a derivative costs -----------------------------------------------------------------------

    def matrix(self, x: Vector) -> Any:
        """Of the inner nodes."""
        D, inner = self.square.difference, self.square.inner
        with np.errstate(over="ignore"):
            k = np.exp(self.square.average @ (self.square.prior @ x))
        if not np.isfinite(k).all():
            raise SolverError("the permeability overflows: take smaller steps in z")
        return (D.T @ sp.diags_array(k) @ D).tocsr()[inner][:, inner].tocsc()

    def load(self) -> Vector:
        return np.full(len(self.square.inner), 1 / self.square.n**2)

    def solve(self, x: Vector) -> Vector:
        """u(x); one forward solve.

        Raises:
            SolverError: the equation has no finite solution at x.
        """
        self._keep(x)
        self.spent.forward += 1
        return self._whole(self._factors.solve(self.load()))

    def adjoint_gradient(self, x: Vector, u: Vector) -> Vector:
        """dJ/dx with u = u(x); one adjoint solve."""
        Ju, Jx = self.partials(u, x)
        self.spent.adjoint += 1
        return Jx + self.pulled(x, u, self._adjoint(x, Ju))

    def tangent(self, x: Vector, u: Vector, h: Vector) -> Vector:
        """The change of u along h; one tangent solve."""
        self._keep(x)
        self.spent.tangent += 1
        s = self.square
        right = s.difference.T @ (self._flux(x, u) * (s.average @ (s.prior @ h)))
        return self._whole(-self._factors.solve(right[s.inner]))

    def state_pullback(self, x: Vector, u: Vector, w: Vector) -> Vector:
        """(du/dx)^T w; one adjoint solve."""
        self.spent.adjoint += 1
        return self.pulled(x, u, self._adjoint(x, w))

    def pulled(self, x: Vector, u: Vector, p: Vector) -> Vector:
        """-(dR/dx)^T p for an adjoint p : (nodes,), zero on the rim."""
        s = self.square
        return -(s.prior.T @ (s.average.T @ (self._flux(x, u) * (s.difference @ p))))

    # -- the objective ------------------------------------------------------------------------------------------------

    def objective(self, u: Vector, x: Vector) -> float:
        return 0.5 * float(((u - self.data) ** 2).sum()) / self.sigma**2 + 0.5 * float(x @ x)

    def partials(self, u: Vector, x: Vector) -> tuple[Vector, Vector]:
        """dJ/du : (nodes,) and dJ/dx : (n,), each with the other held."""
        return (u - self.data) / self.sigma**2, x

    def _flux(self, x: Vector, u: Vector) -> Vector:
        s = self.square
        return np.exp(s.average @ (s.prior @ x)) * (s.difference @ u)

    def _adjoint(self, x: Vector, w: Vector) -> Vector:
        self._keep(x)
        return self._whole(self._factors.solve(w[self.square.inner]))

    def _keep(self, x: Vector) -> None:
        """Factors at x; they serve state, adjoint and tangent."""
        if getattr(self, "_at", None) is None or not np.array_equal(self._at, x):
            self._factors = sla.splu(self.matrix(x))
            self._at = x.copy()
            self.spent.factorisations += 1

    def _whole(self, inner: Vector) -> Vector:
        u = np.zeros(self.square.prior.shape[0])
        u[self.square.inner] = inner
        return u
