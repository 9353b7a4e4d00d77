"""Element matrices against closed forms, and elements against beams and linear fields."""

from typing import Literal

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, Grid, System
from pde.grid.native.modes import Modes, eigenvalue_bounds, find_structure
from tests.pde.grid.cases import field_f11

Element = Literal["standard", "incompatible"]
NU = 0.3
LAME, MU = NU / ((1 + NU) * (1 - 2 * NU)), 1 / (2 * (1 + NU))


def in_modes(K: np.ndarray, dim: int, dofs: int) -> dict[tuple[str, str], float]:
    """Entries of M by names such as ("3x", "6z"): mode bits and component."""
    modes = Modes(dim, dofs)
    M = modes.to_modes(K)
    names = [f"{modes.bits(i)}{'xyz'[modes.component(i)] if dofs > 1 else ''}" for i in range(modes.count)]
    return {(a, b): M[i, j] for i, a in enumerate(names) for j, b in enumerate(names) if abs(M[i, j]) > 1e-14}


def expected_hexahedron(element: Element) -> dict[tuple[str, str], float]:
    diagonal, off = (LAME + 3 * MU) / 48, LAME / 48
    if element == "incompatible":
        diagonal, off = 0.0228938, 0.0068681
    blocks = [
        (("1x", "2y", "4z"), (LAME + 2 * MU) / 16, LAME / 16),
        *[(pair, MU / 16, MU / 16) for pair in (("1y", "2x"), ("1z", "4x"), ("2z", "4y"))],
        *[(pair, diagonal, off) for pair in (("3x", "6z"), ("3y", "5z"), ("5x", "6y"))],
        (("3z", "5y", "6x"), 2 * MU / 48, MU / 48),
        *[((name,), (LAME + 4 * MU) / 144, 0.0) for name in ("7x", "7y", "7z")],
    ]
    return {(a, b): on if a == b else across for names, on, across in blocks for a in names for b in names}


@pytest.mark.parametrize("element", ["standard", "incompatible"])
def test_hexahedron_in_mode_space(element: Element) -> None:
    K = Elasticity(NU, element).element_matrix((1.0, 1.0, 1.0))
    M, expected = in_modes(K, 3, 3), expected_hexahedron(element)
    assert len(M) == 45
    assert M.keys() == expected.keys()
    for key, value in expected.items():
        assert M[key] == pytest.approx(value, abs=5e-8)
    assert np.allclose(np.diag(K), {"standard": 0.2350427350, "incompatible": 0.2087148962}[element], atol=1e-10)
    assert np.allclose(Elasticity(NU, element).element_matrix((2.0,) * 3), 2 * K)


@pytest.mark.parametrize("element", ["standard", "incompatible"])
def test_quadrilateral_in_mode_space(element: Element) -> None:
    K = Elasticity(NU, element).element_matrix((1.0, 1.0))
    C, G = 1 / (1 - NU**2), 1 / (2 * (1 + NU))
    bend = (C + G) / 12 if element == "standard" else 1 / 12
    blocks = [(("1x", "2y"), C / 4, NU * C / 4), (("1y", "2x"), G / 4, G / 4), (("3x",), bend, 0), (("3y",), bend, 0)]
    expected = {(a, b): on if a == b else off for names, on, off in blocks for a in names for b in names}
    M = in_modes(K, 2, 2)
    assert len(M) == 10
    assert pytest.approx(expected, abs=1e-14) == M
    assert np.allclose(np.diag(K), {"standard": 0.4945054945, "incompatible": 0.4542124542}[element], atol=1e-10)


def test_conduction_in_mode_space() -> None:
    flat = in_modes(Conduction().element_matrix((1.0, 1.0)), 2, 1)
    assert flat == pytest.approx({("1", "1"): 1 / 4, ("2", "2"): 1 / 4, ("3", "3"): 1 / 6})
    K = Conduction().element_matrix((1.0, 1.0, 1.0))
    expected = {(str(m), str(m)): {1: 1 / 16, 2: 1 / 24, 3: 1 / 48}[m.bit_count()] for m in range(1, 8)}
    assert in_modes(K, 3, 1) == pytest.approx(expected)
    assert np.diag(K) == pytest.approx(1 / 3)


def test_first_rows_known_from_the_literature() -> None:
    K = Elasticity(NU, "standard").element_matrix((1.0, 1.0))
    around = [0, 1, 3, 2]  # counter-clockwise corners in our numbering
    order = [2 * n + c for n in around for c in (0, 1)]
    row = [0.49450549, 0.17857143, -0.30219780, -0.01373626, -0.24725275, -0.17857143, 0.05494505, 0.01373626]
    assert K[0, order] == pytest.approx(row, abs=5e-9)
    assert K[0, 0] == pytest.approx((1 / 2 - NU / 6) / (1 - NU**2))
    heat = Conduction().element_matrix((1.0, 1.0))
    assert heat[0, around] == pytest.approx([2 / 3, -1 / 6, -1 / 3, -1 / 6])


@pytest.mark.parametrize("element", ["standard", "incompatible"])
@pytest.mark.parametrize(("dim", "rigid"), [(2, 3), (3, 6)])
def test_rigid_motions_cost_nothing(dim: int, rigid: int, element: Element) -> None:
    eigenvalues = np.linalg.eigvalsh(Elasticity(NU, element).element_matrix((1.0,) * dim))
    assert np.abs(eigenvalues[:rigid]).max() < 1e-14
    assert eigenvalues[rigid] > 1e-3


@pytest.mark.parametrize(
    ("physics", "dim", "bound"),
    [
        (Elasticity(NU, "standard"), 3, 5.318182),
        (Elasticity(NU, "incompatible"), 3, 5.98903),
        (Elasticity(NU, "standard"), 2, 2.888889),
        (Elasticity(NU, "incompatible"), 2, 3.14516),
        (Conduction(), 2, 1.5),
        (Conduction(), 3, 1.5),
    ],
    ids=str,
)
def test_largest_eigenvalue_after_jacobi(physics: Elasticity | Conduction, dim: int, bound: float) -> None:
    modes = Modes(dim, physics.dofs_per_node(dim))
    K = physics.element_matrix((1.0,) * dim)
    bounds = eigenvalue_bounds(modes, K, 4)
    assert bounds[0] == pytest.approx(bound, abs=1e-5)
    # On the first coarse level: nothing that the moduli of the children can do goes beyond, and one child reaches it.
    largest = 0.0
    rng = np.random.default_rng(0)
    draws = [*np.eye(2**dim), *(rng.random((50, 2**dim)) ** 8)]
    for draw in draws:
        A = sum(e * modes.child(c).T @ modes.to_modes(K) @ modes.child(c) for c, e in enumerate(draw))
        A = modes.transform.T @ A @ modes.transform
        s = 1 / np.sqrt(np.diag(A))
        largest = max(largest, np.linalg.eigvalsh(A * s[:, None] * s)[-1])
    assert largest == pytest.approx(bounds[1], rel=1e-9)


def test_other_element_matrices_are_recognised() -> None:
    rng = np.random.default_rng(1)
    modes = Modes(3, 3)
    assert find_structure(modes, modes.to_modes(np.eye(24))) is None
    noise = rng.normal(size=(24, 24))
    assert find_structure(modes, modes.to_modes(noise @ noise.T)) is None
    box = find_structure(modes, modes.to_modes(Elasticity().element_matrix((1.0, 2.0, 3.0))))
    cube = find_structure(modes, modes.to_modes(Elasticity().element_matrix((2.0, 2.0, 2.0))))
    assert box is not None
    assert cube is not None
    assert cube.size < box.size


@pytest.mark.parametrize("backend", ["direct", "native"])
@pytest.mark.parametrize("element", ["standard", "incompatible"])
@pytest.mark.parametrize("shape", [(6, 4, 5), (9, 7)], ids=str)
def test_linear_fields_are_exact(shape: tuple[int, ...], element: Element, backend: str) -> None:
    """Patch test: linear displacements leave every inner node without force, and the energy is that of the strain."""
    grid = Grid(shape, 0.7)
    physics = Elasticity(NU, element)
    gradient = np.random.default_rng(2).normal(size=(grid.dim, grid.dim))
    u = grid.nodes() @ gradient.T
    system = System(grid, physics, u == u[0, 0], backend)  # type: ignore[arg-type]
    system.update(np.ones(shape))
    inner = tuple(slice(1, -1) for _ in shape)
    assert np.abs(system.apply(u)[inner]).max() <= 1e-13 * np.abs(system.apply(u)).max()
    pairs = [(0, 1)] if grid.dim == 2 else [(1, 2), (0, 2), (0, 1)]
    strain = np.array([*np.diag(gradient), *(gradient[a, b] + gradient[b, a] for a, b in pairs)])
    energy = strain @ physics.material_matrix(grid.dim) @ strain * grid.element_volume
    assert np.allclose(system.energies(u), energy, rtol=1e-12)


# Voxels through the thickness: tip deflection over Timoshenko's (k = 5/6), slenderness 10.
DEFLECTIONS = {
    "standard": {1: 0.643, 2: 0.869, 3: 0.932, 4: 0.957, 6: 0.976},
    "incompatible": {1: 0.985, 2: 0.987, 3: 0.989, 4: 0.990, 6: 0.992},
}


@pytest.mark.parametrize("element", ["standard", "incompatible"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_slender_cantilever(n: int, element: Element) -> None:
    grid = Grid((10 * n, n, n))
    fixed, force = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    fixed[0] = True
    share = np.ones(n + 1)
    share[[0, -1]] = 0.5
    force[-1, :, :, 2] = np.outer(share, share) / n**2
    u = System(grid, Elasticity(NU, element), fixed, "native").solve(np.ones(grid.shape), force).u
    length, inertia, shear = 10 * n, n**4 / 12, 5 / 6 * MU * n**2
    timoshenko = length**3 / (3 * inertia) + length / shear
    assert (u * force).sum() / timoshenko == pytest.approx(DEFLECTIONS[element][n], abs=8e-4)


@pytest.mark.parametrize("shape", [(16, 8, 8), (20, 10)], ids=str)
def test_operator_is_symmetric(shape: tuple[int, ...]) -> None:
    grid, rng = Grid(shape), np.random.default_rng(3)
    fixed = np.zeros((*grid.node_shape, grid.dim), bool)
    fixed[0] = True
    system = System(grid, Elasticity(), fixed, "native")
    system.update(field_f11(shape))
    x, y = rng.normal(size=(2, *fixed.shape))
    Ax, Ay = system.apply(x), system.apply(y)
    size = np.linalg.norm(x) * np.linalg.norm(Ay)
    assert abs((x * Ay).sum() - (y * Ax).sum()) <= 2e-15 * size
