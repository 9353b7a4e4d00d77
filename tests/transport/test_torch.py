"""The kernels in PyTorch against brute force and against the compiled loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.transport import cases
from tests.transport.test_legendre import brute_force
from transport import Domain, Settings, TransportError, barycenter, w2
from transport.kernels import Compiled, kernels_on

torch = pytest.importorskip("torch")
TORCH, LOOPS = kernels_on("torch"), Compiled(1)
SHAPES = [(5, 7), (16, 40), (33, 2), (2, 2), (130, 140), (4, 5, 6), (3, 17, 20), (20, 12, 16)]
gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.fixture(params=["torch", pytest.param("cuda", marks=[pytest.mark.gpu, gpu])])
def kernels(request):
    return kernels_on(request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_c_transform_equals_brute_force_to_the_last_bit(kernels, shape):
    steps, rng = Domain(shape).steps, np.random.default_rng(1)
    for size in (0.0, 1e-3, 0.1, 3.0):
        f = size * rng.normal(size=(2, *shape))
        found = kernels.get(kernels.c_transform(kernels.put(f), steps))
        assert np.array_equal(found, np.stack([brute_force(g, steps) for g in f]))
        assert np.array_equal(found, LOOPS.c_transform(f, steps))


@given(arrays(np.float64, (2, 9, 13), elements=st.floats(-2, 2, width=32)))
def test_ties_do_not_matter_to_the_c_transform(f):
    # Values of single precision, and few of them: many minimisers are equally good.
    f, steps = np.round(f, 1), Domain(f.shape[1:]).steps
    assert np.array_equal(
        TORCH.get(TORCH.c_transform(TORCH.put(f), steps)), np.stack([brute_force(g, steps) for g in f])
    )


def test_many_lines_are_worked_off_in_blocks(monkeypatch):
    from transport import torch_legendre, torch_push

    shape, rng = (40, 60), np.random.default_rng(2)
    f, mu, domain = 1e-3 * rng.normal(size=(3, *shape)), rng.random((3, *shape)), Domain(shape)
    whole = TORCH.c_transform(TORCH.put(f), domain.steps)
    pushed, cost = TORCH.push(whole, TORCH.put(mu), domain)
    monkeypatch.setattr(torch_legendre, "CANDIDATES", 500)
    monkeypatch.setattr(torch_push, "PIECES", 300)
    assert torch.equal(TORCH.c_transform(TORCH.put(f), domain.steps), whole)
    again, same = TORCH.push(whole, TORCH.put(mu), domain)
    assert torch.equal(again, pushed) and same == pytest.approx(cost, rel=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_push_forward_and_poisson_give_what_the_loops_give(kernels, shape):
    domain, rng = Domain(shape), np.random.default_rng(3)
    mu = rng.random((2, *shape))
    mu[1][tuple(slice(n // 3) for n in shape)] = 0
    for size in (1e-3, 0.1):
        f = LOOPS.c_transform(size * rng.normal(size=mu.shape), domain.steps)
        images, costs = LOOPS.push(f, mu, domain)
        found, found_costs = kernels.push(kernels.put(f), kernels.put(mu), domain)
        assert np.abs(kernels.get(found) - images).max() < 1e-12 * images.max()
        assert found_costs == pytest.approx(costs, rel=1e-12)
        assert np.abs(kernels.get(found).sum() / mu.sum() - 1) < 1e-13
        g, energies = LOOPS.inverse_laplacian(images - mu, domain)
        same, same_energies = kernels.inverse_laplacian(kernels.put(images - mu), domain)
        assert np.abs(kernels.get(same) - g).max() < 1e-12 * np.abs(g).max()
        assert same_energies == pytest.approx(energies, rel=1e-12)


@pytest.mark.parametrize("shape", [(24, 30), (10, 12, 8)])
def test_t9_identity_up_to_every_edge(kernels, shape):
    mu = np.random.default_rng(4).random((1, *shape))
    moved, cost = kernels.push(kernels.put(np.zeros_like(mu)), kernels.put(mu), Domain(shape))
    assert np.abs(kernels.get(moved) - mu).max() < 1e-12 and cost.max() < 1e-20


def test_barycenters_agree_with_the_loops(kernels):
    case, settings = cases.t1w((48, 40)), Settings((20, 30), coarsest=16)
    device = "torch" if kernels is not None and kernels.device.type == "cpu" else "cuda"
    options = {"settings": settings, "primal_iterations": 3}
    loops = barycenter(case.measures, case.weights, **options)
    found = barycenter(case.measures, case.weights, device=device, **options)
    # The loops round their gradients to single precision, so the iterates part at the eighth digit.
    assert found.dual_value == pytest.approx(loops.dual_value, rel=1e-6)
    assert found.primal_value == pytest.approx(loops.primal_value, rel=1e-6)
    assert np.abs(found.density - loops.density).mean() < 0.02
    assert found.dual_value <= found.primal_value <= found.upper_value
    again = barycenter(case.measures, case.weights, device=device, **options)
    assert np.array_equal(again.density, found.density) and again.dual_value == found.dual_value


def test_first_step_agrees_to_single_precision_of_the_gradient():
    from transport.ascent import Ascent

    case = cases.t2((40, 40))
    states = []
    for device in ("cpu", "torch"):
        ascent = Ascent(case.measures, case.weights, Domain((40, 40)), Settings((3,)), device=device)
        states.append(ascent.step(ascent.start()))
    gradient = np.abs(states[0].f).max()
    assert np.abs(states[0].f - states[1].f.numpy()).max() < 1e-6 * gradient
    assert states[0].history[0].dual == states[1].history[0].dual


def test_resumed_runs_reach_the_same_bits(tmp_path):
    case, file = cases.t1((32, 32)), tmp_path / "state.npz"
    options = {"settings": Settings((12,), coarsest=16), "device": "torch", "primal_iterations": 1}
    whole = barycenter(case.measures, **options)
    options |= {"checkpoint": file, "checkpoint_every": 1}
    barycenter(case.measures, callback=lambda row: row.iteration == 5, **options)
    assert np.array_equal(barycenter(case.measures, resume=True, **options).density, whole.density)


def test_masks_and_distances(kernels):
    device = "torch" if kernels.device.type == "cpu" else "cuda"
    shape = (32, 32)
    mu = [cases.disk(shape, (0.3, 0.5), 0.12), cases.disk(shape, (0.7, 0.5), 0.12)]
    mask = np.ones(shape, bool)
    mask[12:20, 12:20] = False
    found = barycenter(mu, mask=mask, settings=Settings((20,)), device=device, primal_iterations=1)
    assert found.density[~mask].max() == 0 and found.density.mean() == pytest.approx(1, abs=1e-12)
    for method in ("accelerated", "back-and-forth"):
        options = {"method": method, "settings": Settings((30,))}
        assert w2(*mu, device=device, **options).half_squared == pytest.approx(
            w2(*mu, **options).half_squared, rel=1e-9
        )


def test_devices_that_are_not_there_are_refused():
    mu = np.ones((2, 8, 8))
    with pytest.raises(TransportError, match="device must be"):
        barycenter(mu, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(TransportError, match="sees no GPU"):
            barycenter(mu, device="cuda")
    with pytest.raises(TransportError, match="accelerated method"):
        barycenter(mu, method="sga", device="torch")
