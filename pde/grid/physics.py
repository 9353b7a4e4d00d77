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
        return _elastic_element(self.material_matrix(len(spacing)), spacing, self.element)


@dataclass(frozen=True)
class Anisotropic:
    """Linear elasticity with any material matrix; the modulus of an element scales it.

    The fast back-ends need the reflection symmetry of the box: every orthotropic matrix has it if its axes are those of
    the grid. Anything else, an oblique fibre for example, is solved directly.

    Args:
        matrix: stress from engineering strain, 3 x 3 in the order (xx, yy, xy) or 6 x 6 in (xx, yy, zz, yz, xz, xy),
            nested tuples or an array; symmetric and positive definite.
        element: see `Elasticity`.
    """

    matrix: tuple[tuple[float, ...], ...]
    element: Literal["incompatible", "standard"] = "incompatible"

    def __post_init__(self) -> None:
        C = np.asarray(self.matrix, float)
        if C.shape not in ((3, 3), (6, 6)) or not np.isfinite(C).all():
            raise GridError(f"a material matrix is 3 x 3 or 6 x 6 and finite, not of shape {C.shape}")
        if not np.allclose(C, C.T, rtol=1e-9, atol=1e-12 * np.abs(C).max()) or np.linalg.eigvalsh(C)[0] <= 0:
            raise GridError("the material matrix must be symmetric and positive definite: look for a sign or a ratio")
        if self.element not in ("incompatible", "standard"):
            raise GridError(f"unknown element {self.element!r}")
        object.__setattr__(self, "matrix", tuple(map(tuple, ((C + C.T) / 2).tolist())))

    def dofs_per_node(self, dim: int) -> int:
        return dim

    def material_matrix(self, dim: int) -> Matrix:
        C = np.array(self.matrix)
        if len(C) != 3 * (dim - 1):
            raise GridError(f"a grid with {dim} axes needs a material matrix with {3 * (dim - 1)} rows, not {len(C)}")
        return C

    def element_matrix(self, spacing: tuple[float, ...]) -> Matrix:
        return _elastic_element(self.material_matrix(len(spacing)), spacing, self.element)


def orthotropic(
    young: tuple[float, ...], poisson: tuple[float, ...], shear: tuple[float, ...]
) -> tuple[tuple[float, ...], ...]:
    """Material matrix of an orthotropic material with its axes along the grid, for `Anisotropic` (plane stress in 2-D).

    Args:
        young: (Ex, Ey) or (Ex, Ey, Ez).
        poisson: (nu_xy,) or (nu_yz, nu_xz, nu_xy); nu_ab is the contraction along b under tension along a.
        shear: (Gxy,) or (Gyz, Gxz, Gxy).

    Raises:
        GridError: the numbers of the three do not belong together.
    """
    dim = len(young)
    pairs = {2: [(0, 1)], 3: [(1, 2), (0, 2), (0, 1)]}.get(dim)
    if pairs is None or len(poisson) != len(pairs) or len(shear) != len(pairs):
        raise GridError("an orthotropic material has 2, 1 and 1 or 3, 3 and 3 Young's moduli, ratios and shear moduli")
    compliance = np.zeros((dim + len(pairs),) * 2)
    compliance[range(dim), range(dim)] = 1 / np.asarray(young, float)
    for row, ((a, b), nu, G) in enumerate(zip(pairs, poisson, shear, strict=True), start=dim):
        compliance[a, b] = compliance[b, a] = -nu / young[a]
        compliance[row, row] = 1 / G
    C = np.linalg.inv(compliance)
    return tuple(map(tuple, ((C + C.T) / 2).tolist()))


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


def _elastic_element(C: Matrix, spacing: tuple[float, ...], element: str) -> Matrix:
    n = 2 ** len(spacing) * len(spacing)
    K = _with_modes(C, spacing)
    if element == "standard":
        return _symmetric(K[:n, :n])
    K_ua, K_aa = K[:n, n:], K[n:, n:]
    return _symmetric(K[:n, :n] - K_ua @ np.linalg.solve(K_aa, K_ua.T))


def _with_modes(C: Matrix, spacing: tuple[float, ...]) -> Matrix:
    """Nodal values first, then Wilson's modes, not condensed."""
    dim = len(spacing)
    n = 2**dim * dim
    K = np.zeros((n + dim * dim, n + dim * dim))
    for xi, weight in _gauss(dim):
        B = np.hstack([strain_matrix(shape_gradients(xi, spacing)), strain_matrix(_mode_gradients(xi, spacing))])
        K += weight * np.prod(spacing) / 2**dim * B.T @ C @ B
    return K


def gauss_strain_matrices(physics: "Elasticity | Anisotropic", spacing: tuple[float, ...]) -> Matrix:
    """Strain at the Gauss points from the nodal values of an element, incompatible modes included.

    -> (2**dim points, 3 or 6, 2**dim * dim); points are numbered as corners: bit 0 is x.
    """
    dim = len(spacing)
    n = 2**dim * dim
    modes = np.zeros((dim * dim, n))
    if physics.element == "incompatible":
        K = _with_modes(physics.material_matrix(dim), spacing)
        modes = -np.linalg.solve(K[n:, n:], K[n:, :n])
    points = [np.array([(-1.0, 1.0)[(c >> a) & 1] for a in range(dim)]) / np.sqrt(3) for c in range(2**dim)]
    return np.stack(
        [
            strain_matrix(shape_gradients(xi, spacing)) + strain_matrix(_mode_gradients(xi, spacing)) @ modes
            for xi in points
        ]
    )


def _gauss(dim: int) -> list[tuple[NDArray[np.float64], float]]:
    point = 1 / np.sqrt(3)
    corners = np.array(np.meshgrid(*[[-point, point]] * dim, indexing="ij")).reshape(dim, -1).T
    return [(xi, 1.0) for xi in corners]


def _symmetric(K: Matrix) -> Matrix:
    return (K + K.T) / 2
