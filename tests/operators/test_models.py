"""Operators behind one call: exact references, units, derivatives, files, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from operators.errors import OperatorError
from operators.models import Operator, build, card, load, save, state_error
from operators.settings import Settings

SMALL = Settings("virtual_fourier", 3, 2, width=16, blocks=2, modes=3, heads=2, sensors=16, hidden=1, grid=(5, 6))
POINTS = ["virtual_fourier", "physics_attention", "subspace_attention"]
ALL = [*POINTS, "fno", "tfno", "uno", "gino"]


def data(batch: int = 2, features: int = 3, seed: int = 0) -> torch.Tensor:
    """Nodes of a 5 x 6 grid: two coordinates, then the design."""
    axes = torch.meshgrid(torch.linspace(0, 1, 5), torch.linspace(0, 1, 6), indexing="ij")
    where = torch.stack(axes, -1).reshape(1, 30, 2).expand(batch, -1, -1)
    rest = torch.randn(batch, 30, features - 2, generator=torch.Generator().manual_seed(seed))
    return torch.cat([where, rest], dim=-1).double()


def states(batch: int = 2, seed: int = 5) -> torch.Tensor:
    return 3 + 7 * torch.randn(batch, 30, 2, generator=torch.Generator().manual_seed(seed)).double()


def made(kind: str, **changes: object) -> Operator:
    model = build(replace(SMALL, kind=kind, **changes), kept=(0, 1), seed=3).double()  # pyright: ignore[reportArgumentType]
    model.fit(data(20), states(20))
    return model.eval()


@pytest.mark.parametrize("kind", POINTS)
def test_the_increment_is_exact_at_the_reference(kind: str) -> None:
    model, x, u = made(kind), data(), states()
    torch.testing.assert_close(model(x, (x, u)), u, rtol=0, atol=1e-12)
    other = data(seed=9)
    assert not torch.allclose(model(other, (x, u)), u, atol=1e-3)


@pytest.mark.parametrize("kind", POINTS)
def test_two_passes_that_share_an_embedding_are_two_passes(kind: str) -> None:
    psi: Any = made(kind, frequencies=2).inner.psi
    x, reference = data(), (data(seed=8), states())
    apart = psi(x, reference, None, None) - psi(reference[0], reference, None, None)
    torch.testing.assert_close(psi.increment(x, reference, None, None), apart, rtol=1e-12, atol=1e-12)


def test_waves_of_the_coordinates_are_further_inputs_of_the_query_only() -> None:
    plain: Any = made("virtual_fourier").inner.psi
    waved: Any = made("virtual_fourier", frequencies=2).inner.psi
    weights = plain.state_dict()
    enter = torch.zeros_like(waved.query.enter.weight)
    enter[:, :3] = weights["query.enter.weight"]
    waved.load_state_dict({**weights, "query.enter.weight": enter})
    x, reference = data(), (data(seed=8), states())
    torch.testing.assert_close(waved(x, reference, None, None), plain(x, reference, None, None), rtol=1e-12, atol=1e-12)
    with torch.no_grad():
        waved.query.enter.weight[:, :3], waved.query.enter.weight[:, 3:] = 0.0, 1.0
    there = torch.cat([x[..., :2] + 2, x[..., 2:]], dim=-1)  # a period of the longest wave
    torch.testing.assert_close(waved(there, None, None, None), waved(x, None, None, None), rtol=1e-10, atol=1e-10)
    assert not torch.allclose(waved(there - 0.3, None, None, None), waved(x, None, None, None), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fno", "tfno", "uno", "gino"])
def test_models_of_neuraloperator_answer_in_the_same_way(kind: str) -> None:
    """Slow: neuraloperator takes many seconds to import."""
    model, x, u = made(kind).float(), data().float(), states().float()
    assert model(data(seed=9).float(), (x, u)).shape == (2, 30, 2)
    torch.testing.assert_close(model(x, (x, u)), u, rtol=0, atol=1e-4)
    assert model(x).shape == (2, 30, 2)
    y = data(seed=9).float().requires_grad_()
    (slope,) = torch.autograd.grad(model(y, (x, u)).square().sum(), y, create_graph=True)
    (again,) = torch.autograd.grad(slope.square().sum(), y)
    assert torch.isfinite(again).all() and again.abs().max() > 0


def test_a_dropped_reference_is_no_reference() -> None:
    model, x, u = made("virtual_fourier", reference_dropout=1.0), data(), states()
    torch.testing.assert_close(model.train()(data(seed=4), (x, u)), model.eval()(data(seed=4)))


def test_derivatives_are_in_physical_units() -> None:
    model, x, reference = made("virtual_fourier"), data(1), (data(1, seed=8), states(1))
    h, w = data(1, seed=6), states(1, seed=6)
    _, change = model.jvp(x, h, reference)
    _, slope = model.vjp(x, w, reference)
    assert (change * w).sum().item() == pytest.approx((slope * h).sum().item(), rel=1e-12)
    step = 1e-5
    difference = (model(x + step * h, reference) - model(x - step * h, reference)) / (2 * step)
    torch.testing.assert_close(change, difference, rtol=1e-7, atol=1e-7)


def test_the_gradient_of_an_objective_is_its_derivative() -> None:
    model, x, reference = made("physics_attention"), data(1), (data(1, seed=8), states(1))

    def J(u: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (u**2).mean((1, 2)) + (x[..., 2] ** 3).sum(1)

    value, slope, u = model.objective_and_gradient(J, x, reference)
    assert value.item() == pytest.approx(J(u, x).item(), rel=1e-14)
    h, step = data(1, seed=6), 1e-5
    up, down = (J(model(x + s * h, reference), x + s * h).item() for s in (step, -step))
    assert (slope * h).sum().item() == pytest.approx((up - down) / (2 * step), rel=1e-7)


@pytest.mark.parametrize("kind", POINTS)
def test_saved_and_loaded_it_answers_with_the_same_bits(kind: str, tmp_path: Path) -> None:
    model, x, reference = made(kind), data(), (data(seed=8), states())
    save(model, tmp_path / "m.safetensors", {"problem": "test"})
    again = load(tmp_path / "m.safetensors")
    assert again.settings == model.settings and card(tmp_path / "m.safetensors") == {"problem": "test"}
    assert torch.equal(again(x, reference), model(x, reference))


def test_the_seed_decides_the_weights_and_nothing_else_does() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one, two = build(SMALL, seed=3), build(SMALL, seed=3)
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_errors_are_relative_to_each_component() -> None:
    true = torch.tensor([[[3.0, 100.0], [4.0, 0.0]]])
    wrong = true + torch.tensor([[[0.3, 0.0], [0.4, 1.0]]])
    torch.testing.assert_close(state_error(wrong, true), torch.tensor([[0.1, 0.01]]))


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no operator 'gnot'"):
        build(replace(SMALL, kind="gnot"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(OperatorError, match="state or increment"):
        build(replace(SMALL, output="both"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(OperatorError, match=r"\(batch, points, 3\)"):
        made("virtual_fourier")(states())
    with pytest.raises(OperatorError, match="reference has"):
        made("virtual_fourier")(data(), (data(1), states(1)))
    with pytest.raises(OperatorError, match="does not exist"):
        load(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"no tensors here")
    with pytest.raises(OperatorError, match="holds no operator"):
        load(tmp_path / "bad.safetensors")
