"""Why the inner product is part of the problem: a control problem solved on finer and finer meshes.

-u'' = f on (0, 1), u = 0 at both ends; J = |u - sin pi x|^2 / 2 + alpha |f|^2 / 2 in L2. The optimum is
f = c sin(pi x), c = pi^2 / (1 + alpha pi^4), with J = alpha pi^4 / (4 (1 + alpha pi^4)).
"""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import optim
from optim import Hilbert, Stop
from optim.design import ProjectedLBFGS, TrustRegionNewton
from pde.functional import taylor_test

ALPHA = 1e-4


@dataclass
class Control:
    """Linear elements on a mesh graded towards 0; the inner nodes carry f and u."""

    n: int

    def __post_init__(self):
        nodes = np.linspace(0, 1, self.n + 1) ** 2
        h = np.diff(nodes)
        self.nodes = nodes[1:-1]
        self.M = sp.diags_array([h[1:-1] / 6, (h[:-1] + h[1:]) / 3, h[1:-1] / 6], offsets=[-1, 0, 1]).tocsc()
        K = sp.diags_array([-1 / h[1:-1], 1 / h[:-1] + 1 / h[1:], -1 / h[1:-1]], offsets=[-1, 0, 1]).tocsc()
        self.solve = splu(K).solve
        self.target = np.sin(np.pi * self.nodes)

    def value(self, f):
        return self.value_grad(f)[0]

    def value_grad(self, f):
        miss = self.solve(self.M @ f) - self.target
        J = 0.5 * miss @ (self.M @ miss) + 0.5 * ALPHA * f @ (self.M @ f)
        return J, self.M @ (self.solve(self.M @ miss) + ALPHA * f)

    def hvp(self, f, v):
        return self.M @ (self.solve(self.M @ self.solve(self.M @ v)) + ALPHA * v)


def cg_steps(n, euclidean):
    control = Control(n)
    space = optim.Euclidean() if euclidean else Hilbert.from_matrix(control.M)
    problem = optim.Problem(control, space=space)
    # Until the gradient is 1e-8 of the first, each in its own norm.
    first = TrustRegionNewton().init(problem, np.zeros(n - 1))
    from optim.space import dual_norm

    tol = 1e-8 * dual_norm(space, first.now.df)
    result = optim.minimize(problem, np.zeros(n - 1), TrustRegionNewton(), stop=Stop(tol_kkt=tol, tol_x=None))
    assert result.status == "converged"
    return int(result.history["cg"].sum()), result, control


def test_the_control_is_the_known_one():
    _, result, control = cg_steps(1024, euclidean=False)
    c = np.pi**2 / (1 + ALPHA * np.pi**4)
    assert c == pytest.approx(9.7743929, abs=1e-7)
    assert result.f == pytest.approx(ALPHA * np.pi**4 / (4 * (1 + ALPHA * np.pi**4)), rel=1e-4)
    assert np.abs(result.x - c * np.sin(np.pi * control.nodes)).max() < 1e-3 * c


def test_iterations_do_not_depend_on_the_mesh_in_the_l2_inner_product():
    steps = [cg_steps(n, euclidean=False)[0] for n in (32, 128, 512, 1024)]
    assert max(steps) - min(steps) <= 2, steps


def test_and_grow_with_it_in_the_dot_product():
    steps = [cg_steps(n, euclidean=True)[0] for n in (32, 128, 512)]
    assert steps[0] < steps[1] < steps[2], steps
    assert steps[2] > 3 * cg_steps(512, euclidean=False)[0]


def test_lbfgs_too():
    counts = []
    for n in (32, 256, 1024):
        control = Control(n)
        problem = optim.Problem(control, space=Hilbert.from_matrix(control.M))
        counts.append(optim.minimize(problem, np.zeros(n - 1), ProjectedLBFGS(), stop=Stop(tol_kkt=1e-8)).iterations)
    assert max(counts) - min(counts) <= 3, counts


def test_derivatives_of_the_control_problem():
    control = Control(64)
    assert taylor_test(control, np.sin(3 * control.nodes), show=False).passed
