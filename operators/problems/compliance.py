"""Compliance of a density design on pixels or voxels.

    min  f . u(x)    K(E(rho)) u = f,   rho = W x,   E = E_min + (1 - E_min) rho^p,  mean rho <= volume,  0 <= x <= 1

with W a cone filter of some radius (Bruns and Tortorelli 2001). The equation is its own adjoint: the adjoint state of
f . u is u, so that gradients cost no solve, and `spent.adjoint` stays at zero.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optim.functions import Linear
from optim.space import Euclidean, Space
from pde.functional import Spent
from pde.grid import Elasticity, Grid, System
from pde.grid.direct import Direct

Vector = NDArray[np.float64]
E_MIN = 1e-6


@dataclass
class Compliance:
    """x : (elements,) in C order; u : (nodes * dim,).

    Args:
        system: with supports; its back-end solves. force: (*node_shape, dim). volume: largest mean density.
        filter: W, (elements, elements). power: of SIMP.
    """

    system: System
    force: Vector
    volume: float
    filter: Any
    power: float = 3.0
    linear: bool = True
    spent: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        grid, shape = self.system.grid, self.system.vector_shape
        self.load = np.where(self.system.fixed, 0.0, self.force).ravel()
        self.lower, self.upper = np.zeros(grid.size), np.ones(grid.size)
        row = np.asarray(self.filter.sum(axis=0)).ravel() / grid.size
        self.constraints: tuple[Any, ...] = (Linear(row[None] / self.volume, np.ones(1)),)
        nodes = grid.element_nodes().reshape(grid.size, -1)
        self.element_dofs = (nodes[:, :, None] * shape[-1] + np.arange(shape[-1])).reshape(grid.size, -1)

    @property
    def n(self) -> int:
        return self.system.grid.size

    @property
    def space(self) -> Space:
        return Euclidean()

    def modulus(self, x: Vector) -> Vector:
        """E : (elements,)"""
        return E_MIN + (1 - E_MIN) * np.clip(self.filter @ x, 0, 1) ** self.power

    def solve(self, x: Vector) -> Vector:
        """u(x); one forward solve.

        Raises:
            SolverError: the equation was not solved.
        """
        self.spent.forward += 1
        self.spent.factorisations += isinstance(self.system.engine, Direct)
        modulus = self.modulus(x).reshape(self.system.grid.shape)
        return self.system.solve(modulus, self.load.reshape(self.system.vector_shape), tol=1e-10).u.ravel()

    def objective(self, u: Vector, x: Vector) -> float:
        return float(self.load @ u)

    def partials(self, u: Vector, x: Vector) -> tuple[Vector, Vector]:
        """dJ/du : (s,) and dJ/dx : (n,), each with the other held."""
        return self.load, np.zeros_like(x)

    def adjoint_gradient(self, x: Vector, u: Vector) -> Vector:
        """dJ/dx with u = u(x); no solve."""
        return self.pulled(x, u, u)

    def residual(self, x: Vector, u: Vector) -> Vector:
        """R = K u - f : (s,), zero at the supports."""
        forces = self.modulus(x)[:, None] * (u[self.element_dofs] @ self.system.element_matrix)
        inside = np.bincount(self.element_dofs.ravel(), forces.ravel(), len(u))
        return np.where(self.system.fixed.ravel(), 0.0, inside - self.load)

    def pulled(self, x: Vector, u: Vector, p: Vector) -> Vector:
        """-(dR/dx)^T p for the residual R = K u - f and p : (s,), zero at the supports."""
        work = np.einsum(
            "ei,ij,ej->e", p[self.element_dofs], self.system.element_matrix, u[self.element_dofs], optimize=True
        )
        slope = (1 - E_MIN) * self.power * np.clip(self.filter @ x, 0, 1) ** (self.power - 1)
        return -(self.filter.T @ (slope * work))

    @property
    def fixed(self) -> NDArray[np.integer]:
        """Numbers of the state whose values are given."""
        return np.flatnonzero(self.system.fixed)

    def linearised(self, x: Vector, u: Vector) -> tuple[Vector, Any]:
        """R : (s,), and dR/du = K : (s, s), sparse, which pays no regard to the supports."""
        local = self.modulus(x)[:, None, None] * self.system.element_matrix
        m = self.element_dofs.shape[1]
        places = np.repeat(self.element_dofs, m, axis=1).ravel(), np.tile(self.element_dofs, m).ravel()
        return self.residual(x, u), sp.csr_array((local.ravel(), places), shape=(len(u), len(u)))

    def projector(self, V: Vector) -> Callable[[Vector, Vector], tuple[Vector, Vector]]:
        """(x, u) -> V^T R : (r,) and V^T K V : (r, r). K is a sum over the elements, so only their moduli change."""
        local = V[self.element_dofs]  # (elements, k, r)
        stiff = np.einsum("ij,ejr->eir", self.system.element_matrix, local, optimize=True)
        rows, load, r = local.reshape(-1, V.shape[1]), V.T @ self.load, V.shape[1]

        def project(x: Vector, u: Vector) -> tuple[Vector, Vector]:
            modulus = self.modulus(x)[:, None, None]
            scaled = (modulus * stiff).reshape(-1, r)
            return scaled.T @ u[self.element_dofs].ravel() - load, rows.T @ scaled

        return project


def cone_filter(grid: Grid, radius: float) -> Any:
    """W : (elements, elements), rows sum to one; weights fall linearly to zero at `radius`, in lengths of the grid."""
    reach = [range(-int(radius // h), int(radius // h) + 1) for h in grid.steps]
    number = np.arange(grid.size).reshape(grid.shape)
    rows, columns, weights = [], [], []
    for shift in product(*reach):
        weight = radius - float(np.linalg.norm(np.array(shift) * grid.steps))
        if weight <= 0 and any(shift):
            continue
        here = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(shift, grid.shape, strict=True))
        there = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(shift, grid.shape, strict=True))
        rows.append(number[here].ravel())
        columns.append(number[there].ravel())
        weights.append(np.full(rows[-1].size, max(weight, 1e-12)))
    pairs = (np.concatenate(rows), np.concatenate(columns))
    W = sp.csr_array((np.concatenate(weights), pairs), shape=(grid.size, grid.size))
    return sp.csr_array(sp.diags_array(1 / W.sum(axis=1)) @ W)


def cantilever(
    shape: tuple[int, ...] = (32, 16), volume: float = 0.4, where: float = 0.5, radius: float = 1.5
) -> Compliance:
    """Held on the left, pulled down on the right at the height `where` of the way up; unit pixels or voxels."""
    grid = Grid(shape)
    fixed = np.zeros((*grid.node_shape, grid.dim), bool)
    fixed[0] = True
    force = np.zeros(fixed.shape)
    force[-1, round(where * shape[1]), ..., 1] = -1.0 / int(np.prod(grid.node_shape[2:]))
    system = System(grid, Elasticity(0.3, "standard"), fixed, "direct")
    return Compliance(system, force, volume, cone_filter(grid, radius))
