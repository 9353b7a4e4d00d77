"""Bounds on the state: against a quadratic programme solved by other means, and what is refused."""

import importlib.util

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from optim.design import ProjectedLBFGS, TrustRegionNewton
from optim.result import Stop
from pde.fem import FemError
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemSolverError

pytestmark = [
    pytest.mark.fem,
    pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]"),
]

ALPHA, N = 1e-4, 24


def membrane(**bounds):
    """-u'' = f on (0, 1), u towards sin(pi x); on intervals of equal length, control at the vertices."""
    from pde.fem.state_bounds import StateBounds

    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_interval(fe.MPI.COMM_SELF, N, [0.0, 1.0])
    V = fem.functionspace(mesh, ("Lagrange", 1))
    u, f, v = fem.Function(V), fem.Function(V), ufl.TestFunction(V)
    d = ufl.sin(ufl.pi * ufl.SpatialCoordinate(mesh)[0])
    dx = ufl.dx(metadata={"quadrature_degree": 6})
    F = u.dx(0) * v.dx(0) * dx - f * v * dx
    J = 0.5 * (u - d) ** 2 * dx + 0.5 * ALPHA * f**2 * dx
    ends = fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0) | np.isclose(x[0], 1))
    return StateBounds(F, J, u, f, [fem.dirichletbc(0.0, ends, V)], **bounds), V


def oracle(upper: float) -> tuple[np.ndarray, np.ndarray]:
    """The same problem as a dense quadratic programme, by its dual: non-negative least squares. -> f, multipliers"""
    h = 1 / N
    M = scipy.linalg.toeplitz([2 / 3 * h, h / 6, *[0] * (N - 1)])
    M[0, 0] = M[-1, -1] = h / 3
    K = scipy.linalg.toeplitz([2 / h, -1 / h, *[0] * (N - 3)])
    S = np.zeros((N + 1, N + 1))
    S[1:-1] = np.linalg.solve(K, M[1:-1])
    x = np.linspace(0, 1, N + 1)
    # Integrals of sin(pi x) against the hats, exactly.
    hats = (2 * np.sin(np.pi * x) - np.sin(np.pi * (x - h)) - np.sin(np.pi * (x + h))) / (np.pi**2 * h)
    H, g = S.T @ M @ S + ALPHA * M, -S[1:-1].T @ hats[1:-1]
    C = S[1:-1]
    Q, c = C @ np.linalg.solve(H, C.T), C @ np.linalg.solve(H, g) + upper
    root = np.linalg.cholesky(Q + 1e-14 * np.eye(N - 1)).T
    lam = scipy.optimize.nnls(root, -np.linalg.solve(root.T, c), maxiter=10_000)[0]
    return np.linalg.solve(H, -g - C.T @ lam), lam


@pytest.mark.parametrize("method", [TrustRegionNewton(), ProjectedLBFGS()])
def test_an_upper_bound_gives_the_answer_of_the_quadratic_programme(method) -> None:
    bounded, V = membrane(upper=0.6)
    found = bounded.solve(method, stop=Stop(max_iter=400, tol_kkt=1e-11), tolerance=1e-8)
    order = np.argsort(V.tabulate_dof_coordinates()[:, 0])
    f, lam = oracle(0.6)
    assert found.x[order] == pytest.approx(f, rel=1e-4, abs=1e-4 * np.abs(f).max())
    u = bounded.J.state.x.array[order]
    assert u.max() <= 0.6 + 1e-7 and (u > 0.6 - 1e-6).sum() == (lam > 1e-9).sum() > 3
    # Multipliers of functions: a vertex of a programme weighs as much as its lumped mass.
    assert found.multipliers[order][1:-1] / N == pytest.approx(lam, abs=1e-3 * lam.max())
    assert found.multipliers.min() >= 0


def test_bounds_that_do_not_bind_change_nothing() -> None:
    free, _ = membrane(upper=10.0)
    loose = free.solve(TrustRegionNewton(), stop=Stop(tol_kkt=1e-12))
    tight, _ = membrane(lower=-10.0, upper=10.0)
    assert np.array_equal(loose.x, tight.solve(TrustRegionNewton(), stop=Stop(tol_kkt=1e-12)).x)
    assert loose.rounds == 1 and not loose.multipliers.any()


def test_a_bound_that_no_control_can_keep_is_told() -> None:
    below, V = membrane(lower=0.2)
    ends = np.isclose(V.tabulate_dof_coordinates()[:, 0] % 1.0, 0)
    assert ends.sum() == 2
    # u = 0 is held at both ends, so this bound cannot be kept, and that is said.
    with pytest.raises(FemSolverError, match=r"still violated by 0\.2"):
        below.solve(TrustRegionNewton(), rounds=3, stop=Stop(tol_kkt=1e-10))


def test_gradients_are_exact_with_multipliers_and_price() -> None:
    from pde.functional import taylor_test

    bounded, _ = membrane(upper=0.4, price=50.0)
    bounded._multipliers[0].x.array[:] = 0.3
    x = np.sin(1 + 2 * np.arange(N + 1)) * 10 + 10
    assert taylor_test(bounded.J, x, show=False, steps=(1e-4, 5e-5, 2.5e-5)).passed


def test_what_cannot_be_bounded_is_refused() -> None:
    with pytest.raises(FemError, match="lower or an upper"):
        membrane()
