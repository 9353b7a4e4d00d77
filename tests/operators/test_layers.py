"""The mixing layers: symmetry, padding, quadrature, the spectral step, and derivatives of first and second order."""

from typing import Any

import numpy as np
import pytest
import torch

from operators.errors import OperatorError
from operators.layers import PhysicsAttention, SubspaceAttention, VirtualFourier
from operators.layers.subspace_attention import subspace_attention
from operators.models import build
from operators.settings import Settings

LAYERS = {
    "virtual_fourier": lambda: VirtualFourier(12, heads=3, sensors=8, modes=4),
    "virtual_fourier_real": lambda: VirtualFourier(12, heads=3, sensors=8, modes=4, spectrum="real"),
    "physics_attention": lambda: PhysicsAttention(12, heads=3, slices=5),
    "subspace_attention": lambda: SubspaceAttention(12, heads=3, slices=5),
}


@pytest.fixture(params=list(LAYERS))
def layer(request: pytest.FixtureRequest) -> torch.nn.Module:
    torch.manual_seed(0)
    made = LAYERS[request.param]().double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def points(count: int, batch: int = 2, width: int = 12) -> torch.Tensor:
    return torch.randn(batch, count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(count))


def test_the_order_of_points_does_not_matter(layer: torch.nn.Module) -> None:
    x, order = points(17), torch.randperm(17, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order], rtol=1e-12, atol=1e-13)


def test_padding_changes_nothing(layer: torch.nn.Module) -> None:
    x = points(9)
    padded = torch.cat([x, 100 * points(4)], dim=1)
    mask = torch.arange(13).expand(2, 13) < 9
    torch.testing.assert_close(layer(padded, mask)[:, :9], layer(x), rtol=1e-12, atol=1e-13)


def test_two_points_of_half_the_weight_are_one(layer: torch.nn.Module) -> None:
    x, w = points(9), torch.rand(2, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.1
    twice = layer(torch.cat([x, x], 1), weights=torch.cat([w, w], 1) / 2)
    once = layer(x, weights=w)
    torch.testing.assert_close(twice, torch.cat([once, once], 1), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(layer(x), once, rtol=1e-3)


def test_one_point_few_points_and_many(layer: torch.nn.Module) -> None:
    for count in (1, 3, 2000):
        assert torch.isfinite(layer(points(count))).all()


def test_derivatives_of_first_and_second_order(layer: torch.nn.Module) -> None:
    x = points(4, batch=1).requires_grad_()
    assert torch.autograd.gradcheck(layer, (x,), eps=1e-6, atol=1e-7)
    assert torch.autograd.gradgradcheck(layer, (x,), eps=1e-6, atol=1e-6)
    h, w = points(4, batch=1) + 1, points(4, batch=1) - 2
    forward = torch.func.jvp(layer, (x.detach(),), (h,))[1]
    backward = torch.func.vjp(layer, x.detach())[1](w)[0]
    assert (forward * w).sum().item() == pytest.approx((backward * h).sum().item(), rel=1e-12)


def identity_filter(layer: VirtualFourier) -> None:
    with torch.no_grad():
        layer.filter.zero_()
        layer.filter[..., 0] = torch.eye(layer.filter.shape[1], dtype=layer.filter.dtype)[:, :, None]


def test_all_modes_with_the_identity_leave_the_sensors_alone() -> None:
    for sensors in (8, 9):
        layer = VirtualFourier(12, heads=3, sensors=sensors, modes=sensors // 2 + 1).double()
        identity_filter(layer)
        sequence = torch.randn(2, 3, sensors, 4, dtype=torch.float64)
        torch.testing.assert_close(layer.mix(sequence), sequence, rtol=1e-13, atol=1e-13)


def test_the_filter_starts_near_the_identity() -> None:
    torch.manual_seed(0)
    layer = VirtualFourier(64, heads=2, sensors=16, modes=9)
    sequence = torch.randn(8, 2, 16, 32)
    away = (layer.mix(sequence) - sequence).norm() / sequence.norm()
    assert float(away.detach()) == pytest.approx(0.3, abs=0.05)


def test_the_spectral_step_is_a_circulant_convolution() -> None:
    torch.manual_seed(4)
    layer = VirtualFourier(6, heads=2, sensors=10, modes=4).double()
    sequence = torch.randn(1, 2, 10, 3, dtype=torch.float64)
    R = torch.view_as_complex(layer.filter.detach()).numpy()
    spectrum = np.zeros((2, 3, 3, 6), complex)
    spectrum[..., :4] = R
    kernel = np.fft.irfft(spectrum, n=10, axis=-1)  # (head, in, out, lag)
    v, expected = sequence[0].numpy(), np.zeros((2, 10, 3))
    for s in range(10):
        for t in range(10):
            expected[:, s] += np.einsum("hi,hio->ho", v[:, t], kernel[..., (s - t) % 10])
    np.testing.assert_allclose(layer.mix(sequence)[0].detach().numpy(), expected, atol=1e-13)


def test_the_real_spectrum_has_no_phase() -> None:
    torch.manual_seed(4)
    whole = VirtualFourier(6, heads=2, sensors=10, modes=4).double()
    real = VirtualFourier(6, heads=2, sensors=10, modes=4, spectrum="real").double()
    real.load_state_dict(whole.state_dict())
    sequence = torch.randn(1, 2, 10, 3, dtype=torch.float64)
    even = real.mix(sequence)
    torch.testing.assert_close(even[:, :, 1:], even[:, :, 1:].flip(2), rtol=1e-12, atol=1e-13)
    assert not torch.allclose(even, whole.mix(sequence), rtol=1e-3)


def test_more_modes_than_there_are_is_refused() -> None:
    with pytest.raises(OperatorError, match="5 modes, not 6"):
        VirtualFourier(8, heads=2, sensors=8, modes=6)
    with pytest.raises(OperatorError, match="multiple"):
        VirtualFourier(10, heads=4)


def test_the_number_of_parameters_of_the_micro_reactor() -> None:
    """Published: 688,156, so 118,280 per block. Without norms a block has 117,256 numbers; what is left are four
    LayerNorms of 256. The published formula applies two of them, and so do we: 686,620."""
    psi: Any = build(Settings("virtual_fourier", inputs=4, outputs=4)).inner.psi
    count = {name: sum(p.numel() for p in part.parameters()) for name, part in psi.named_children()}
    assert count["query"] == count["state"] == 66_688
    assert psi.blocks[0].mixer.filter.numel() == 65_536
    norms = sum(
        p.numel() for part in psi.blocks[0].modules() if isinstance(part, torch.nn.LayerNorm) for p in part.parameters()
    )
    assert count["blocks"] / 3 - norms == 118_280 - 4 * 256
    assert sum(count.values()) == 688_156 - 3 * 512
    assert count["blocks"] == 3 * (118_280 - 512)


def test_subspace_attention_is_attention_with_tied_weights() -> None:
    torch.manual_seed(2)
    bases = torch.randn(6, 2, 3, dtype=torch.float64)
    tokens = torch.randn(1, 7, 6, dtype=torch.float64)
    attention = torch.nn.MultiheadAttention(6, 2, bias=False, batch_first=True).double()
    flat = bases.permute(1, 2, 0).reshape(6, 6)
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.cat([flat] * 3))
        attention.out_proj.weight.copy_(flat.T)
    torch.testing.assert_close(
        attention(tokens, tokens, tokens)[0], subspace_attention(tokens, bases), atol=1e-12, rtol=0
    )


def test_thresholded_subspace_attention_raises_the_signal_by_one_plus_eta_tau() -> None:
    """The theorem of the paper with its thresholded phi: d = 128, K = 4, p = 32, N = 200, tau = 1/2, eta = 1/4."""
    generator = torch.Generator().manual_seed(0)
    U = torch.linalg.qr(torch.randn(128, 128, dtype=torch.float64, generator=generator)).Q.unflatten(1, (4, 32))
    which = torch.arange(200) % 4
    inside = 0.05 * torch.randn(200, 4, 32, dtype=torch.float64, generator=generator)
    inside[torch.arange(200), which] = torch.randn(200, 32, dtype=torch.float64, generator=generator)
    z = torch.einsum("nkp,dkp->nd", inside, U)

    def ratio(z: torch.Tensor) -> float:
        a = torch.einsum("nd,dkp->nkp", z, U).square().sum(-1)
        own = a[torch.arange(200), which]
        return float((own / (a.sum(1) - own)).sqrt().mean())

    for _ in range(6):
        before = ratio(z)
        a = torch.einsum("nd,dkp->knp", z, U)
        phi = (a @ a.transpose(1, 2)).softmax(dim=1)
        phi = torch.where(phi > 0.5, 0.5, 0.0).to(phi.dtype)
        z = z + 0.25 * torch.einsum("knp,dkp->nd", phi.transpose(1, 2) @ a, U)
        assert ratio(z) / before == pytest.approx(1.125, abs=1e-3)
