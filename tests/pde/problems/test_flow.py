"""The flow problems: plug flow against its exact optimum, the reactor against plug flow, the pipes against print."""

import importlib.util
import itertools

import numpy as np
import pytest

from optim import minimize
from optim.result import Stop
from pde import problems
from pde.problems import double_pipe
from tests.pde.problems.ipopt import stopped

needs_dolfinx = pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]")


def test_plug_flow_from_a_random_start_is_uniform_and_exact() -> None:
    found = problems.solve("plug_flow", n=40)
    assert found.result.status == "converged"
    assert found.figures["yield"] == pytest.approx(0.4166628354, abs=5e-11)
    assert found.x == pytest.approx(np.full(40, 0.40502997), abs=1e-7)
    assert found.figures["speed"] == pytest.approx(0.78241840, abs=1e-7)
    assert found.figures["outlet"] == pytest.approx(0.46746800, abs=1e-7)
    J = found.posed.J
    assert J.value(np.full(40, 0.5)) == pytest.approx(-0.39954741, abs=5e-9)
    # At 0.9 the channel and the catalyst block alike, 1 / v = 0.2 and S = 0.1.
    assert J.value(np.full(40, 0.9)) == pytest.approx(-5 * (1 - np.exp(-0.02)), rel=1e-14)


def test_plug_flow_depends_on_two_means_only() -> None:
    J = problems.pose("plug_flow", n=6).J
    rng = np.random.default_rng(0)
    theta = rng.uniform(0.2, 0.8, 6)
    assert J.value(theta) == pytest.approx(float(J.value(rng.permutation(theta))), rel=1e-14)
    dJ = J.value_grad(theta)[1]
    span = np.stack([np.ones(6), 1 / (0.1 + theta) ** 2])
    assert np.linalg.lstsq(span.T, dJ, rcond=None)[1] == pytest.approx([0], abs=1e-25)


@pytest.mark.fem
@needs_dolfinx
def test_a_layout_along_the_channel_flows_like_a_plug() -> None:
    """The yield of a uniform layout tends to the plug's as diffusion vanishes, with an error of first order."""
    excess = [
        problems.pose("reactor", n=32, D=D).measure(np.full(33 * 17, 0.5))["uniform_yield"] - 0.4166628354
        for D in (0.04, 0.02, 0.01)
    ]
    assert all(e > 0 for e in excess)
    assert [a / b for a, b in itertools.pairwise(excess)] == pytest.approx([2, 2], rel=0.03)


@pytest.mark.fem
@pytest.mark.slow
@needs_dolfinx
def test_the_reactor_beats_every_uniform_layout() -> None:
    found = problems.solve("reactor", n=16)
    assert found.result.success
    # No uniform layout passes the plug's optimum by more than O(D) = 0.0028 at D = 0.02.
    assert found.figures["yield"] > found.figures["uniform_yield"] + 0.02
    assert found.x.min() >= 0 and found.x.max() <= 1


@pytest.mark.fem
@needs_dolfinx
def test_blowing_through_a_cylinder_halves_the_loss() -> None:
    """Published on a finer mesh: 19.980460."""
    found = problems.solve("wall_flow", n=12)
    assert found.result.success
    assert found.figures["objective"] == pytest.approx(19.980460, rel=5e-3)
    assert found.figures["objective"] < 0.5 * found.figures["at_rest"]


@pytest.mark.fem
@pytest.mark.slow
@needs_dolfinx
def test_two_pipes_join() -> None:
    """To an optimum: IPOPT, run on beyond where the published run was stopped, ends at 43.9708564."""
    posed = problems.pose("double_pipe", n=100)
    result = minimize(posed.problem, posed.x0, problems.METHODS["mma"](), stop=Stop(100, tol_kkt=None, tol_f=1e-5))
    figures = posed.measure(result.x)
    assert figures["volume"] <= 1 / 3 + 1e-6
    assert figures["objective"] == pytest.approx(43.9708564, rel=1e-3)


@pytest.mark.fem
@pytest.mark.slow
@needs_dolfinx
def test_two_pipes_stopped_where_the_published_run_stood_have_its_objective() -> None:
    """Published: 45.944633 after 100 iterations of IPOPT at its limit, with an overall error of 1.8048642e-3."""
    limit = 0.5  # a third of 1.5 x 1
    early = double_pipe.pose(n=100, q=0.01, first_iterations=0)
    start = stopped(early, early.x0, limit, max_iter=20).x
    posed = double_pipe.pose(n=100, first_iterations=0)
    found = stopped(posed, start, limit, max_iter=100, acceptable_tol=1.8048642e-3, acceptable_iter=1)
    assert found.status == "Solved_To_Acceptable_Level"
    figures = posed.measure(found.x)
    assert figures["volume"] <= 1 / 3 + 1e-6
    assert figures["objective"] == pytest.approx(posed.known["published"], rel=0.02)


@needs_dolfinx
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("double_pipe", ["velocity", "pressure"]),
        ("stokes_control", ["velocity", "pressure"]),
        ("reactor", ["velocity", "pressure", "concentration"]),
        ("permeability", ["state"]),
    ],
)
def test_parts_of_a_state_are_shown_by_their_names(name: str, parts: list[str]) -> None:
    posed = problems.pose(name, n=6)
    shown = problems.fields(posed, np.asarray(posed.x0))
    assert [f.name for f in shown] == ["control", *parts]
    if len(parts) > 1:
        assert shown[1].function_space.dofmap.index_map_bs == 2  # the velocity is the vector
