"""What an element resists: the element matrix of a unit modulus, for elasticity and for conduction.

Local node order: bit 0 of the node number is x, bit 1 is y, bit 2 is z (0 = lower). Degrees of freedom are interleaved:
node by node, component by component. Matrices are integrated exactly by 2 Gauss points along each axis.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import GridError

Matrix = NDArray[np.float64]


class Physics(Protocol):
    """Everything a grid solver needs to know about the equation."""

    def dofs_per_node(self, dim: int) -> int: ...

    def element_matrix(self, spacing: tuple[float, ...]) -> Matrix:
        """Matrix of one element with modulus 1. -> (2**dim * dofs, 2**dim * dofs)"""
        ...


@dataclass(frozen=True)
class Elasticity:
    """Linear isotropic elasticity with Young's modulus 1.

    Args:
        nu: Poisson's ratio, in (-1, 0.5).
        element: "incompatible" adds Wilson's modes 1 - xi^2 per axis and component, condensed out (Wilson et al. 1973;
            on rectangles and cuboids they pass the patch test as they are): bending without locking at the same cost.
            "standard" is the bilinear or trilinear element of the literature's reference values.
        plane: in two dimensions, plane "stress" (unit thickness) or plane "strain".
    """

    nu: float = 0.3
    element: Literal["incompatible", "standard"] = "incompatible"
    plane: Literal["stress", "strain"] = "stress"

    def __post_init__(self) -> None:
        if not -1.0 < self.nu < 0.5:
            raise GridError(f"Poisson's ratio must lie between -1 and 0.5, not {self.nu}")
        if self.element not in ("incompatible", "standard") or self.plane not in ("stress", "strain"):
            raise GridError(f"unknown element {self.element!r} or plane {self.plane!r}")

    def dofs_per_node(self, dim: int) -> int:
        return dim

    def material_matrix(self, dim: int) -> Matrix:
        """Stress from engineering strain, Voigt order (xx, yy, xy) or (xx, yy, zz, yz, xz, xy), modulus 1."""
        nu = self.nu
        if dim == 2 and self.plane == "stress":
            return np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]]) / (1 - nu**2)
        lam, mu = nu / ((1 + nu) * (1 - 2 * nu)), 1 / (2 * (1 + nu))
        shears = dim * (dim - 1) // 2
        C = np.zeros((dim + shears, dim + shears))
        C[:dim, :dim] = lam
        C[range(dim), range(dim)] += 2 * mu
        C[range(dim, dim + shears), range(dim, dim + shears)] = mu
        return C

    def element_matrix(self, spacing: tuple[float, ...]) -> Matrix:
        dim = len(spacing)
        C = self.material_matrix(dim)
        n = 2**dim * dim
        K = np.zeros((n + dim * dim, n + dim * dim))
        for xi, weight in _gauss(dim):
            B = np.hstack([strain_matrix(shape_gradients(xi, spacing)), strain_matrix(_mode_gradients(xi, spacing))])
            K += weight * np.prod(spacing) / 2**dim * B.T @ C @ B
        if self.element == "standard":
            return _symmetric(K[:n, :n])
        K_ua, K_aa = K[:n, n:], K[n:, n:]
        return _symmetric(K[:n, :n] - K_ua @ np.linalg.solve(K_aa, K_ua.T))


@dataclass(frozen=True)
class Conduction:
    """Scalar conduction (heat, Poisson) with conductivity 1."""

    def dofs_per_node(self, dim: int) -> int:
        return 1

    def element_matrix(self, spacing: tuple[float, ...]) -> Matrix:
        dim = len(spacing)
        K = np.zeros((2**dim, 2**dim))
        for xi, weight in _gauss(dim):
            dN = shape_gradients(xi, spacing)
            K += weight * np.prod(spacing) / 2**dim * dN.T @ dN
        return _symmetric(K)


def shape_gradients(xi: NDArray[np.float64], spacing: tuple[float, ...]) -> Matrix:
    """Gradients of the bilinear or trilinear shape functions. xi : (dim,) in [-1, 1] -> (dim, 2**dim), 1/mm."""
    dim = len(spacing)
    gradients = np.empty((dim, 2**dim))
    for corner in range(2**dim):
        signs = np.array([1.0 if (corner >> axis) & 1 else -1.0 for axis in range(dim)])
        factors = (1 + signs * xi) / 2
        for axis in range(dim):
            others = np.prod(np.delete(factors, axis))
            gradients[axis, corner] = signs[axis] * others / spacing[axis]
    return gradients


def strain_matrix(gradients: Matrix) -> Matrix:
    """Engineering strain from nodal displacements. gradients : (dim, k) -> (3 or 6, k * dim), Voigt order."""
    dim, k = gradients.shape
    pairs = [(1, 0)] if dim == 2 else [(1, 2), (0, 2), (0, 1)]
    B = np.zeros((dim + len(pairs), k, dim))
    for axis in range(dim):
        B[axis, :, axis] = gradients[axis]
    for row, (a, b) in enumerate(pairs, start=dim):
        B[row, :, a], B[row, :, b] = gradients[b], gradients[a]
    return B.reshape(dim + len(pairs), k * dim)


def _mode_gradients(xi: NDArray[np.float64], spacing: tuple[float, ...]) -> Matrix:
    # Mode a is 1 - xi_a^2; on a box its gradient has only the a-th entry, -2 xi_a * (2 / h_a).
    return np.diag(-4.0 * xi / np.asarray(spacing))


def _gauss(dim: int) -> list[tuple[NDArray[np.float64], float]]:
    point = 1 / np.sqrt(3)
    corners = np.array(np.meshgrid(*[[-point, point]] * dim, indexing="ij")).reshape(dim, -1).T
    return [(xi, 1.0) for xi in corners]


def _symmetric(K: Matrix) -> Matrix:
    return (K + K.T) / 2
