"""Plane elasticity of a plate of given densities: compliance and its derivative, on triangles or on pixels.

    c = sum_k w_k f_k . u_k,   K(rho) u_k = f_k,   dc/drho_e = - E'(rho_e) sum_k w_k u_e^T K_e u_e

The triangles are linear (constant strain).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pde.grid import Elasticity
from topopt.features.direct import Banded, Sparse
from topopt.features.errors import FeatureError
from topopt.features.mesh import Mesh
from topopt.interpolation import SIMP

Field = NDArray[np.float64]

# Larger bands than this cost more than a sparse factorisation does.
BAND_VALUES = 2e7
PLANE_STRAIN = Elasticity(nu=0.3, element="standard", plane="strain")
SOFT = SIMP(3.0, 1e-4)


@dataclass(frozen=True)
class Response:
    """compliance, N mm; gradient (m,) with respect to each density; displacements (cases, nodes, 2), mm."""

    compliance: float
    gradient: Field
    u: Field


class Plate(Protocol):
    """What a feature design needs to know of its domain: m cells with one density each."""

    @property
    def points(self) -> Field:
        """(m, 2), where the features are looked at, mm."""
        ...

    @property
    def areas(self) -> Field:
        """(m,), mm2."""
        ...

    @property
    def h(self) -> float:
        """Size of a cell, mm."""
        ...

    @property
    def bounds(self) -> Field:
        """Lowest and highest (x, y) of the domain, mm."""
        ...

    @property
    def border(self) -> Field:
        """(k, 2, 2) segments of the domain's border, mm."""
        ...

    @property
    def thickness(self) -> float:
        """That the response is for, mm."""
        ...

    def response(self, rho: Field) -> Response:
        """rho : (m,)"""
        ...


@dataclass(frozen=True)
class TrianglePlate:
    """Linear triangles.

    Args:
        mesh: the domain.
        fixed: (n, 2) bool, displacements that are zero.
        forces: (cases, n, 2), N; (n, 2) is one case.
        weights: (cases,) of the load cases; default 1 each.
        material: Poisson's ratio, and plane "strain" or "stress".
        modulus: Young's modulus of the solid, MPa. thickness: mm.
        interpolation: from density to modulus.

    Raises:
        FeatureError: an array of a wrong shape, no support, no load.
    """

    mesh: Mesh
    fixed: NDArray[np.bool_]
    forces: Field
    weights: tuple[float, ...] = ()
    material: Elasticity = PLANE_STRAIN
    modulus: float = 1.0
    thickness: float = 1.0
    interpolation: SIMP = SOFT

    def __post_init__(self) -> None:
        n = len(self.mesh.nodes)
        forces = np.asarray(self.forces, float)
        forces = forces[None] if forces.ndim == 2 else forces
        weights = self.weights or (1.0,) * len(forces)
        if self.fixed.shape != (n, 2) or forces.shape[1:] != (n, 2) or len(weights) != len(forces):
            raise FeatureError(
                f"fixed {self.fixed.shape}, forces {forces.shape} and {len(weights)} weights do not fit a mesh of "
                f"{n} nodes: give ({n}, 2), (cases, {n}, 2) and one weight for each case"
            )
        if self.fixed.sum() < 3:
            raise FeatureError("the plate can still move as a whole: fix at least three displacements")
        if not np.isfinite(forces).all() or not np.abs(np.where(self.fixed, 0, forces)).sum((1, 2)).all():
            raise FeatureError("a load case holds no force that acts on a free node: check the place of the loads")
        object.__setattr__(self, "forces", forces)
        object.__setattr__(self, "weights", tuple(float(w) for w in weights))

    @property
    def points(self) -> Field:
        return self.mesh.centroids

    @property
    def areas(self) -> Field:
        return self.mesh.areas

    @property
    def h(self) -> float:
        return self.mesh.size

    @property
    def bounds(self) -> Field:
        return np.stack([self.mesh.nodes.min(0), self.mesh.nodes.max(0)])

    @property
    def border(self) -> Field:
        """(k, 2, 2) sides of a single triangle."""
        sides = np.sort(self.mesh.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), 1)
        unique, count = np.unique(sides, axis=0, return_counts=True)
        return self.mesh.nodes[unique[count == 1]]

    @cached_property
    def element_matrices(self) -> Field:
        """(m, 6, 6) for a density of 1, N/mm."""
        x, y = np.moveaxis(self.mesh.nodes[self.mesh.triangles], 2, 0)
        bx = np.roll(y, -1, 1) - np.roll(y, -2, 1)
        by = np.roll(x, -2, 1) - np.roll(x, -1, 1)
        area = self.areas
        B = np.zeros((len(area), 3, 6))
        B[:, 0, 0::2] = B[:, 2, 1::2] = bx
        B[:, 1, 1::2] = B[:, 2, 0::2] = by
        C = self.modulus * self.thickness * self.material.material_matrix(2)
        return np.einsum("mki,kl,mlj,m->mij", B, C, B, 1 / (4 * area), optimize=True)

    @cached_property
    def solver(self) -> Banded | Sparse:
        dofs = (2 * self.mesh.triangles[..., None] + np.arange(2)).reshape(-1, 6)
        banded = Banded(dofs, self.element_matrices, self.fixed.ravel())
        if banded.values <= BAND_VALUES:
            return banded
        return Sparse(dofs, self.element_matrices, self.fixed.ravel())

    def response(self, rho: Field) -> Response:
        """rho : (m,), in [0, 1].

        Raises:
            FeatureError: the equations have no solution: the plate is not held.
        """
        factors = self.interpolation(rho)
        cases, n, _ = self.forces.shape
        free = np.where(self.fixed, 0.0, self.forces).reshape(cases, 2 * n)
        u = self.solver.solve(factors, free.T).T.reshape(cases, n, 2)
        per_case = np.einsum("kni,kni->k", self.forces, u)
        energy = np.zeros(len(rho))
        for weight, case in zip(self.weights, u, strict=True):
            local = case[self.mesh.triangles].reshape(-1, 6)
            energy += weight * np.einsum("mi,mi->m", local, np.matmul(self.element_matrices, local[..., None])[..., 0])
        return Response(float(per_case @ self.weights), -self.interpolation.derivative(rho) * energy, u)
