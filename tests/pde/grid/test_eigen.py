"""Natural frequencies against the dense problem, beam theory, and SLEPc."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from pde.grid import Conduction, Elasticity, Grid, GridError, SolverError, System
from pde.grid.eigen import eigenvalue_derivatives, natural_modes
from pde.grid.mass import apply_mass, mass_energies, mass_interpolation, mass_interpolation_derivative
from tests.pde.grid.cases import clamped_block, field_f11

STEEL = 7.85e-9


def matrices(system: System, density: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """K and M over all values, assembled column by column from an element mass matrix integrated by hand."""
    grid, dofs = system.grid, system.vector_shape[-1]
    one = np.ones((1, 1))
    for h in grid.spacing:  # type: ignore[union-attr]
        one = np.kron(h * np.array([[1 / 3, 1 / 6], [1 / 6, 1 / 3]]), one)
    element = np.kron(one, np.eye(dofs))
    nodes = grid.element_nodes().reshape(grid.size, -1)
    where = (nodes[:, :, None] * dofs + np.arange(dofs)).reshape(grid.size, -1)
    n = where.shape[1]
    pairs = np.repeat(where, n, axis=1).ravel(), np.tile(where, n).ravel()
    assembled = [
        sp.csr_matrix(
            sp.coo_matrix(((field.ravel()[:, None] * local.ravel()).ravel(), pairs), shape=(system.fixed.size,) * 2)
        )
        for field, local in ((system.modulus, system.element_matrix), (density, element))
    ]
    return assembled[0], assembled[1]


@pytest.mark.parametrize("shape", [(7, 5), (4, 3, 5)], ids=str)
def test_the_mass_matrix_is_the_assembled_one(shape: tuple[int, ...]) -> None:
    grid, rng = Grid(shape, (0.5, 2.0, 1.5)[: len(shape)]), np.random.default_rng(0)
    case = clamped_block(shape, Elasticity())
    system = System(grid, Elasticity(), case.fixed, "direct")
    system.update(np.ones(shape))
    density, u = rng.random(shape), rng.normal(size=case.fixed.shape)
    expected = (matrices(system, density)[1] @ u.ravel()).reshape(u.shape)
    assert np.abs(apply_mass(grid, density, u) - expected).max() <= 1e-14 * np.abs(expected).max() * 10
    assert (density * mass_energies(grid, u)).sum() == pytest.approx((u * expected).sum())
    total = apply_mass(grid, density, np.ones(u.shape)).sum() / grid.dim
    assert total == pytest.approx(density.sum() * grid.element_volume)


def test_mass_vanishes_faster_than_stiffness() -> None:
    rho = np.array([0.0, 0.05, 0.1 - 1e-12, 0.1, 0.5, 1.0])
    assert np.allclose(mass_interpolation(rho), [0, 1e5 * 0.05**6, 0.1, 0.1, 0.5, 1])
    step = 1e-7
    slope = (mass_interpolation(rho[[1, 4]] + step) - mass_interpolation(rho[[1, 4]] - step)) / (2 * step)
    assert np.allclose(slope, mass_interpolation_derivative(rho[[1, 4]]), rtol=1e-6)


@pytest.mark.parametrize("backend", ["native", "direct"])
@pytest.mark.parametrize(
    ("shape", "physics"), [((12, 5), Elasticity()), ((6, 4, 3), Elasticity()), ((12, 7), Conduction())]
)
def test_against_the_dense_problem(shape: tuple[int, ...], physics: Elasticity | Conduction, backend: str) -> None:
    case = clamped_block(shape, physics)
    rho = 0.05 + field_f11(shape, 0.0) / 1.1
    system = System(case.grid, physics, case.fixed, backend)  # type: ignore[arg-type]
    found = natural_modes(system, rho**3, rho, 5, tol=1e-5)
    K, M = matrices(system, rho)
    free = ~case.fixed.ravel()
    expected = scipy.linalg.eigh(K[free][:, free].toarray(), M[free][:, free].toarray(), eigvals_only=True)[:5]
    assert np.allclose(found.eigenvalues, expected, rtol=1e-9)
    flat = found.shapes.reshape(5, -1)
    assert np.allclose(flat @ M @ flat.T, np.eye(5), atol=1e-8)
    assert not found.shapes[:, case.fixed].any()


def test_a_steel_reed_rings_as_beam_theory_says() -> None:
    """(1.8751 / L)^2 sqrt(E I / (rho A)) / 2 pi, and 6.267 times that for the second bending mode, less shear."""
    L, b, h = 100.0, 4.0, 2.0
    grid = Grid((100, 4, 2))
    fixed = np.zeros((*grid.node_shape, 3), bool)
    fixed[0] = True
    system = System(grid, Elasticity(0.0), fixed, "native")
    found = natural_modes(system, np.full(grid.shape, 210e3), np.full(grid.shape, STEEL), 4)
    beam = [1.875104**2, 4.694091**2]
    for thickness, modes in ((h, [0, 2]), (b, [1])):
        for k, mode in enumerate(modes):
            f = beam[k] / (2 * np.pi * L**2) * np.sqrt(210e3 * thickness**2 / 12 / STEEL)
            assert found.frequencies[mode] == pytest.approx(f, rel=0.012)


def test_a_free_rod_on_springs() -> None:
    """Nothing else holds it: the lowest mode is the rigid body on its spring, sqrt(k / m)."""
    grid = Grid((20, 6))
    fixed, springs = np.zeros((*grid.node_shape, 2), bool), np.zeros((*grid.node_shape, 2))
    fixed[..., 1] = True
    springs[0, :, 0] = 1e-4 / 7
    found = {}
    for backend in ("native", "direct"):
        system = System(grid, Elasticity(), fixed, backend, springs=springs)  # type: ignore[arg-type]
        found[backend] = natural_modes(system, np.ones(grid.shape), np.ones(grid.shape), 3, tol=1e-5)
    assert found["native"].eigenvalues[0] == pytest.approx(1e-4 / 120, rel=1e-2)
    assert np.allclose(found["native"].eigenvalues, found["direct"].eigenvalues, rtol=1e-8)


def test_void_does_not_vibrate() -> None:
    """A part in a box of void with the modulus 1e-9 and the mass of rho^6 sounds as the part alone."""
    inner = clamped_block((24, 10), Elasticity())
    alone = System(inner.grid, inner.physics, inner.fixed, "native")
    expected = natural_modes(alone, np.ones((24, 10)), np.ones((24, 10)), 4).frequencies
    grid = Grid((32, 20))
    rho, fixed = np.full(grid.shape, 1e-3), np.zeros((33, 21, 2), bool)
    rho[:24, 5:15], fixed[0, 5:16] = 1, True
    system = System(grid, Elasticity(), fixed, "native")
    found = natural_modes(system, np.maximum(rho**3, 1e-9), mass_interpolation(rho), 4).frequencies
    assert np.allclose(found, expected, rtol=1e-5)
    rho[rho < 1] = 0
    assert np.allclose(natural_modes(system, rho, rho, 4).frequencies, expected, rtol=1e-8)


def test_derivatives_against_differences() -> None:
    case, rng = clamped_block((10, 5), Elasticity()), np.random.default_rng(2)
    system = System(case.grid, case.physics, case.fixed, "direct")
    E, m = rng.uniform(0.5, 1, (10, 5)), rng.uniform(0.5, 1, (10, 5))
    dE, dm = rng.normal(size=E.shape), rng.normal(size=m.shape)
    modes = natural_modes(system, E, m, 3, tol=1e-7)
    by_E, by_m = eigenvalue_derivatives(system, modes)
    step = 1e-5
    up, down = (natural_modes(system, E + s * dE, m + s * dm, 3, tol=1e-7).eigenvalues for s in (step, -step))
    expected = (by_E * dE + by_m * dm).sum(axis=(1, 2))
    assert np.allclose((up - down) / (2 * step), expected, rtol=1e-6)


def test_iterations_hardly_grow_and_a_guess_helps() -> None:
    counts = []
    for n in (8, 16, 32):
        case = clamped_block((2 * n, n, n), Elasticity())
        system = System(case.grid, case.physics, case.fixed, "native")
        ones = np.ones(case.grid.shape)
        modes = natural_modes(system, ones, ones, 3, tol=1e-3)
        counts.append(modes.iterations)
    assert counts[-1] <= 1.5 * counts[0] + 1
    again = natural_modes(system, ones, ones, 3, tol=1e-3, guess=modes.shapes)
    assert again.iterations == 0
    assert np.allclose(again.eigenvalues, modes.eigenvalues)


def test_what_is_refused() -> None:
    case = clamped_block((6, 4), Elasticity())
    system, ones = System(case.grid, case.physics, case.fixed, "native"), np.ones((6, 4))
    with pytest.raises(GridError, match="density"):
        natural_modes(system, ones, -ones)
    with pytest.raises(GridError, match="fewer"):
        natural_modes(system, ones, ones, 50)
    with pytest.raises(SolverError, match="did not converge"):
        natural_modes(system, ones, ones, 3, tol=1e-9, max_iterations=1)


@pytest.mark.fem
def test_against_slepc() -> None:
    """A clamped block of a varied material by shift and invert."""
    pytest.importorskip("dolfinx_solver", reason="needs DOLFINx: pip install 'formgrad[fem]'")
    from petsc4py import PETSc
    from slepc4py import SLEPc

    case = clamped_block((14, 6, 5), Elasticity())
    rho = 0.2 + field_f11(case.grid.shape, 0.0) / 1.25
    system = System(case.grid, case.physics, case.fixed, "native")
    found = natural_modes(system, rho**3, rho, 6, tol=1e-5)
    free = ~case.fixed.ravel()
    K, M = (A[free][:, free].tocsr() for A in matrices(system, rho))
    K, M = (
        PETSc.Mat().createAIJ(A.shape, csr=(A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data))
        for A in (K, M)
    )
    solver = SLEPc.EPS().create()
    solver.setOperators(K, M)
    solver.setProblemType(SLEPc.EPS.ProblemType.GHEP)
    solver.setDimensions(6)
    solver.setTarget(0.0)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    solver.getST().setType(SLEPc.ST.Type.SINVERT)
    solver.setTolerances(1e-10)
    solver.solve()
    expected = np.sort([solver.getEigenvalue(i).real for i in range(6)])
    assert np.allclose(found.eigenvalues, expected, rtol=1e-9)
