"""Compliances that were computed by other programs, reproduced by both back-ends."""

import numpy as np
import pytest

from pde.grid import Elasticity, Grid, System
from tests.pde.grid.cases import Case, cantilever_2d, field_f11, heat, mbb, quarter_clamped_cantilever

BACKENDS = ("direct", "native")


def compliance(case: Case, modulus: np.ndarray, backend: str, tol: float = 1e-10) -> tuple[float, np.ndarray]:
    u = System(case.grid, case.physics, case.fixed, backend).solve(modulus, case.force, tol=tol).u  # type: ignore[arg-type]
    return float((u * case.force).sum()), u


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("case", "uniform", "graded", "largest"),
    [
        (quarter_clamped_cantilever(8), 5.532812255, 26.43519775, (6.151395, 28.751468)),
        (mbb(60, 20), 125.8777635, 943.4937591, (125.87776, 943.49376)),
        (heat(60, 20), 249.9140204, 151501.2166, (26.031112, 15000063.0)),
    ],
    ids=["hex8 16x8x8", "quad4 60x20", "heat 60x20"],
)
def test_uniform_and_graded(case: Case, uniform: float, graded: float, largest: tuple, backend: str) -> None:
    c, u = compliance(case, np.ones(case.grid.shape), backend)
    assert c == pytest.approx(uniform, rel=3e-10)
    assert np.abs(u).max() == pytest.approx(largest[0], rel=1e-6)
    c, u = compliance(case, field_f11(case.grid.shape), backend)
    assert c == pytest.approx(graded, rel=5e-10)
    assert np.abs(u).max() == pytest.approx(largest[1], rel=1e-6)


def edge_loaded(shape: tuple[int, int, int]) -> Case:
    """Clamped at x = 0; -1 in y on the nodes of the edge x = nx, y = 0."""
    nx, ny, nz = shape
    fixed, force = np.zeros((nx + 1, ny + 1, nz + 1, 3), bool), np.zeros((nx + 1, ny + 1, nz + 1, 3))
    fixed[0] = True
    force[nx, 0, :, 1] = -1
    return Case(Grid(shape), Elasticity(0.3, "standard"), fixed, force)


def sine_loaded(shape: tuple[int, int, int]) -> Case:
    """Clamped at x = 0; -sin(pi j / ny) in z on the edge x = nx, z = 0."""
    nx, ny, nz = shape
    fixed, force = np.zeros((nx + 1, ny + 1, nz + 1, 3), bool), np.zeros((nx + 1, ny + 1, nz + 1, 3))
    fixed[0] = True
    force[nx, :, 0, 2] = -np.sin(np.pi * np.arange(ny + 1) / ny)
    return Case(Grid(shape), Elasticity(0.3, "standard"), fixed, force)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (mbb(60, 20), 125.87776347),
        (mbb(150, 50), 129.13057317),
        (mbb(300, 100), 131.51487760),
        (cantilever_2d(32, 20, 0), 27.47091504),
        (cantilever_2d(32, 20, 10), 22.52401917),
        (cantilever_2d(60, 20, 0), 122.80188169),
        (cantilever_2d(60, 20, 10), 117.85497488),
        (cantilever_2d(160, 100, 0), 30.96748242),
        (cantilever_2d(160, 100, 50), 23.59683614),
        (edge_loaded((60, 20, 4)), 765.57908376),
        (sine_loaded((24, 12, 12)), 206.78736016),
    ],
    ids=lambda value: "x".join(map(str, value.grid.shape)) if isinstance(value, Case) else "",
)
@pytest.mark.parametrize("backend", ["native", "auto"])
def test_solid_beams(case: Case, expected: float, backend: str) -> None:
    assert compliance(case, np.ones(case.grid.shape), backend)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("case", "volume", "expected"),
    [
        (mbb(60, 20), 0.5, 1007.0221007),
        (edge_loaded((60, 20, 4)), 0.3, 28354.77986),
        (sine_loaded((24, 12, 12)), 0.12, 119668.542),
    ],
    ids=["mbb", "3d edge", "3d sine"],
)
def test_first_objective_of_a_uniform_design(case: Case, volume: float, expected: float) -> None:
    modulus = np.full(case.grid.shape, 1e-9 + volume**3 * (1 - 1e-9))
    assert compliance(case, modulus, "native")[0] == pytest.approx(expected, rel=5e-9)


def l_bracket(n: int, arm: int) -> tuple[Case, np.ndarray]:
    """n x n square without its upper right part; arms `arm` wide, the upper end clamped, -1/3 on the upper 3 nodes of
    the right end. -> the case and the moduli, exactly zero where there is no bracket."""
    fixed, force = np.zeros((n + 1, n + 1, 2), bool), np.zeros((n + 1, n + 1, 2))
    fixed[: arm + 1, n] = True
    force[n, arm - 2 : arm + 1, 1] = -1 / 3
    modulus = np.zeros((n, n))
    modulus[:arm], modulus[:, :arm] = 1, 1
    return Case(Grid((n, n)), Elasticity(0.3, "standard"), fixed, force), modulus


@pytest.mark.parametrize(("n", "arm", "expected"), [(50, 20, 120.61332875), (100, 40, 122.62863511)])
@pytest.mark.parametrize("backend", BACKENDS)
def test_l_bracket_with_nothing_around_it(n: int, arm: int, expected: float, backend: str) -> None:
    case, modulus = l_bracket(n, arm)
    c, u = compliance(case, modulus, backend)
    assert c == pytest.approx(expected, rel=1e-9)
    assert not u[arm + 1 :, arm + 1 :].any()
