"""The gradient protocol for every shipped problem."""

import importlib.util

import numpy as np
import pytest

from pde import problems
from tests.pde.fem import protocol

pytestmark = [
    pytest.mark.fem,
    pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]"),
]

# name: parameters, whether J is exactly quadratic, centre and half width of the region to test in, first step
CASES = {
    "poisson_control": ({"n": 6}, True, (0.5, 0.5), 1e-1),
    "bounded_control": ({"n": 6}, True, (0.0, 0.5), 1e-1),
    "permeability": ({"n": 6}, False, (1.4, 0.7), 1e-2),
    "heat_topology": ({"n": 6}, False, (0.5, 0.4), 1e-2),
    "bar": ({"n": 12}, False, (0.3, 0.2), 1e-2),
    "cantilever": ({"n": 10}, False, (0.5, 0.3), 1e-1),
    "stokes_control": ({"n": 3}, True, (0.0, 1.0), 1e-1),
    "disc_shape": ({"n": 3}, False, (0.0, 0.2), 1e-1),
    "obstacle_drag": ({"n": 4}, False, (0.0, 0.05), 1e-1),
    "double_pipe": ({"n": 8, "first_iterations": 1}, False, (0.5, 0.3), 1e-2),
    "wall_flow": ({"n": 4}, True, (0.0, 1.0), 1e-1),
    "plug_flow": ({"n": 12}, False, (0.5, 0.3), 1e-2),
    "reactor": ({"n": 6}, False, (0.5, 0.3), 1e-1),
}


@pytest.mark.parametrize("name", CASES)
def test_protocol(name):
    parameters, quadratic, (centre, width), first = CASES[name]
    posed = problems.pose(name, **parameters)
    n = posed.J.n
    x = centre + width * np.sin(1 + 2.3 * np.arange(n))
    inactive = np.arange(n) % 3 > 0
    if posed.lower is not None:  # some variables sit on their bounds, where only the third direction is feasible
        x[~inactive] = posed.upper if name != "bar" else centre
    points = np.linspace(0, 1, n)[:, None]
    directions = protocol.three(points, 0.2 * width, inactive)
    protocol.check(posed.J, x, directions, quadratic=quadratic, first_step=first)


@pytest.mark.parametrize("name", ["heat_topology", "bar", "cantilever"])
def test_constraint_derivatives(name):
    posed = problems.pose(name, **CASES[name][0])
    (g,) = posed.constraints
    x, d = np.random.default_rng(3).uniform(0.1, 0.9, (2, posed.J.n))
    slope = (g.value(x + 1e-3 * d) - g.value(x - 1e-3 * d)) / 2e-3
    assert g.jac(x) @ d == pytest.approx(slope, rel=1e-10)
    assert g.value(posed.x0) == pytest.approx([0], abs=1e-12)  # the uniform start uses all that is allowed
