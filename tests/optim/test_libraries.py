"""Every method takes the same steps on NumPy, torch and JAX."""

import numpy as np
import pytest

import optim
from optim import Stop
from optim.design import GCMMA, MMA, SQP, AugmentedLagrangian, OptimalityCriteria, ProjectedLBFGS, TrustRegionNewton
from tests.optim import problems


def volume(name):
    """For optimality criteria."""
    array, stack = problems.library(name)
    c = array(np.array([1.0, 4.0, 9.0]) / 100)
    f = optim.smooth(lambda x: (c / x).sum(), grad=lambda x: -c / (x * x))
    g = optim.constraint(lambda x: stack([x.sum() - 1.2]), jac=lambda x: (0 * x + 1)[None])
    return optim.Problem(f, None, 1e-3, 1.0, (g,)), array(np.full(3, 0.4))


def rosenbrock(name):
    return problems.rosenbrock(6, name, -1.5, 0.8)


CASES = [
    (MMA(), problems.toy),
    (GCMMA(), problems.toy),
    (SQP(), problems.toy),
    (SQP(hessian="none"), problems.toy),
    (AugmentedLagrangian(), problems.toy),
    (AugmentedLagrangian(inner=TrustRegionNewton()), problems.toy),
    (OptimalityCriteria(), volume),
    (ProjectedLBFGS(), rosenbrock),
    (TrustRegionNewton(), rosenbrock),
]


@pytest.mark.parametrize(("method", "make"), CASES, ids=[type(m).__name__ + str(i) for i, (m, _) in enumerate(CASES)])
def test_iterates_agree(method, make):
    runs = {}
    for name in problems.LIBRARIES:
        problem, x0 = make(name)
        kept = []
        result = optim.minimize(
            problem, x0, method, stop=Stop(max_iter=10), callbacks=[lambda k, s, i, to=kept: to.append(np.asarray(s.x))]
        )
        assert type(result.x) is type(x0) and result.x.dtype == x0.dtype
        runs[name] = np.array(kept)
    assert len(runs["numpy"]) >= 4
    for name in ("torch", "jax"):
        assert runs[name].shape == runs["numpy"].shape
        assert np.abs(runs[name] - runs["numpy"]).max() < 1e-12


def test_single_precision_is_taken_with_tolerances_it_can_meet():
    import torch

    f = optim.smooth(lambda x: ((x - 0.3) ** 2).sum())
    g = optim.constraint(lambda x: x.sum().reshape(1) - 1)
    result = optim.minimize(f, torch.full((4,), 0.5), MMA(), bounds=(0, 1), constraints=[g], stop=Stop(tol_kkt=1e-9))
    assert result.status == "converged"
    assert result.x.dtype == torch.float32
    assert result.x.numpy() == pytest.approx(np.full(4, 0.25), abs=1e-4)


@pytest.mark.gpu
def test_gpu_and_cpu_agree():
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    c = torch.linspace(0.5, 2, 10_000, dtype=torch.float64)
    xs = []
    for device in ("cpu", "cuda"):
        k = c.to(device)
        f = optim.smooth(lambda x, k=k: (k / x).mean())
        g = optim.constraint(lambda x: x.mean().reshape(1) - 0.4)
        x0 = torch.full_like(k, 0.5)
        result = optim.minimize(f, x0, MMA(), bounds=(1e-3, 1), constraints=[g], stop=Stop(max_iter=10))
        assert result.x.device.type == device
        xs.append(result.x.cpu())
    assert (xs[0] - xs[1]).abs().max() < 1e-8
