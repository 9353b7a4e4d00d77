"""The method itself: exact derivatives, exact volume, symmetry, passive regions, resume, determinism."""

from dataclasses import replace

import numpy as np
import pytest

from pde.grid import Elasticity, Grid
from topopt import Continuation, Settings, optimize, presets
from topopt.density import DensityDesign, State
from topopt.errors import DesignError
from topopt.problem import Problem

SHARP = Continuation(betas=(1, 4, 16), first=4, steps=4)


def two_cases() -> Problem:
    """A little bracket with two load cases, self-weight, a kept corner, an empty corner and half-filled elements."""
    rng = np.random.default_rng(5)
    problem = presets.cantilever(12, 8, volume_fraction=0.5)
    forces = np.concatenate([problem.forces, np.zeros_like(problem.forces)])
    forces[1, 12, 8, 0] = 0.5
    keep, void = np.zeros(problem.grid.shape, bool), np.zeros(problem.grid.shape, bool)
    keep[-2:, 3:5], void[:3, :2] = True, True
    weight = np.zeros((2, *problem.grid.shape, 2))
    weight[..., 1] = -0.0005
    fraction = np.where(rng.random(problem.grid.shape) < 0.2, 0.5, 1.0)
    return replace(
        problem, forces=forces, weights=(1.0, 2.0), keep=keep, void=void, fraction=fraction, weight_forces=weight
    )


@pytest.mark.parametrize("projection", [None, SHARP])
def test_gradient_is_the_derivative_of_the_compliance(projection):
    design = DensityDesign(two_cases(), Settings(radius=2.0, projection=projection))
    rng = np.random.default_rng(1)
    start = design.start()
    x = np.where(design.problem.free, rng.uniform(0.3, 0.7, start.x.shape), start.x)
    state = replace(start, x=x, stage=1 if projection else 0)

    def value(x):
        _, rho, _ = design.density(replace(state, x=x))
        return design.response(rho).compliance

    filtered, rho, proj = design.density(state)
    gradient = design.gradient(x, filtered, proj, design.response(rho).gradient)
    direction = np.where(design.problem.free, rng.standard_normal(x.shape), 0.0)
    slope = np.vdot(gradient, direction)
    steps = [1e-3, 5e-4]
    errors = [abs((value(x + h * direction) - value(x - h * direction)) / (2 * h) - slope) for h in steps]
    assert errors[1] < 1e-4 * abs(slope)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1), "central differences converge with order 2"


def test_projected_volume_is_met_at_every_iterate():
    problem = two_cases()
    looks = []
    optimize(
        problem,
        radius=2.0,
        projection=SHARP,
        volume_tolerance=1e-13,
        callback=lambda state, info: looks.append(info.volume),
    )
    assert looks[1:] == pytest.approx([0.5] * (len(looks) - 1), abs=1e-9)


def test_kept_elements_are_solid_and_empty_ones_empty():
    problem = two_cases()
    result = optimize(problem, radius=2.0, projection=SHARP)
    assert (result.rho[problem.kept] == 1).all()
    assert (result.rho[problem.filled == 0] == 0).all()
    assert result.rho.min() >= 0 and result.rho.max() <= 1
    assert result.volume_fraction == pytest.approx(0.5, abs=2e-3)


def test_sharpening_ends_black_and_white():
    result = optimize(presets.cantilever(48, 32), radius=2.5, projection=Continuation(), max_iterations=120)
    assert result.grey < 0.01
    assert result.converged


def test_a_symmetric_question_has_a_symmetric_answer():
    problem = presets.cantilever(30, 20)
    result = optimize(problem, radius=1.5, symmetry=(1,), max_iterations=20)
    assert np.abs(result.rho - result.rho[:, ::-1]).max() < 1e-14


def test_symmetry_of_a_lopsided_body_is_refused():
    problem = presets.l_bracket(20, 8)
    with pytest.raises(DesignError, match="mirror image"):
        optimize(problem, symmetry=(0,))


def test_the_same_question_has_the_same_bits():
    first, second = (optimize(presets.cantilever_3d(16, 8, 8), max_iterations=6) for _ in range(2))
    assert np.array_equal(first.rho, second.rho)
    assert first.compliance == second.compliance


@pytest.mark.parametrize("at", [1, 5, 9])
def test_resumed_equals_uninterrupted_bit_for_bit(tmp_path, at):
    problem = presets.cantilever_3d(24, 12, 12)
    settings = Settings(projection=SHARP, tolerance=1e-3, max_iterations=12)
    whole, state = DensityDesign(problem, settings), None
    state = whole.start()
    while not state.done:
        state, info = whole.step(state)
        if info.iteration == at:
            state.save(tmp_path / "state.npz")
    again, resumed = DensityDesign(problem, settings), State.load(tmp_path / "state.npz")
    assert resumed.iteration == at
    while not resumed.done:
        resumed, _ = again.step(resumed)
    assert np.array_equal(resumed.x, state.x)
    assert np.array_equal(resumed.u, state.u)
    first, second = whole.finish(state), again.finish(resumed)
    assert first.compliance == second.compliance and np.array_equal(first.u, second.u)


def test_a_callback_may_end_the_run():
    def enough(state, info):
        if info.iteration == 3:
            raise StopIteration

    result = optimize(presets.mbb_beam(30, 10), callback=enough)
    assert result.iterations == 3 and not result.converged


def test_self_weight_bends_a_solid_beam_as_the_textbook_says():
    """Tip deflection of a clamped beam under its own weight: q L^4 / (8 E I), slender enough for shear not to count."""
    grid = Grid((160, 8))
    fixed = np.zeros((*grid.node_shape, 2), bool)
    fixed[0] = True
    weight = np.zeros((1, *grid.shape, 2))
    weight[..., 1] = -1e-6
    problem = Problem(
        "beam", grid, Elasticity(nu=0.0), fixed, np.zeros((1, *grid.node_shape, 2)), 0.5, weight_forces=weight
    )
    from topopt.interpolation import SIMP
    from topopt.responses.compliance import Compliance

    u = Compliance(problem, SIMP())(np.ones(grid.shape)).u[0]
    expected = -(8e-6) * 160**4 / (8 * (8**3 / 12))
    assert u[-1, 4, 1] == pytest.approx(expected, rel=5e-3)
