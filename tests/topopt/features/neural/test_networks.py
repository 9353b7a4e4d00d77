"""The networks: shapes, sizes, and derivatives of second order."""

import pytest
import torch

from topopt.features.neural.networks import CodeDecoder, Encoder, HeavisideDecoder


def size(network):
    return sum(p.numel() for p in network.parameters())


def trunk(entries):
    return sum(a * b + b + 2 * b for a, b in ((entries, 128), (128, 256), (256, 128)))


def test_numbers_of_parameters():
    assert size(Encoder()) == trunk(15) + 2 * (128 * 15 + 15)
    assert size(CodeDecoder()) == trunk(15) + 128 * 15 + 15
    # As published: eight hidden layers of 512, the fourth narrower by the 17 inputs that join after it.
    layers = [(17, 512), (512, 512), (512, 512), (512, 495), *[(512, 512)] * 4]
    assert size(HeavisideDecoder(width=512)) == sum(a * b + 3 * b for a, b in layers) + 512 + 1


def test_shapes():
    torch.manual_seed(0)
    mean, log_variance = Encoder()(torch.rand(6, 15))
    assert mean.shape == log_variance.shape == (6, 15)
    assert CodeDecoder()(mean).shape == (6, 15)
    decoder = HeavisideDecoder(width=48, depth=4)
    h = decoder(mean, torch.rand(6, 2))
    assert h.shape == (6,)
    assert ((h > 0) & (h < 1)).all()
    assert torch.sigmoid(decoder.logit(mean, torch.zeros(6, 2))).equal(decoder(mean, torch.zeros(6, 2)))


@pytest.mark.parametrize("depth", [4, 8])
def test_the_field_has_second_derivatives(depth):
    torch.manual_seed(1)
    decoder = HeavisideDecoder(width=32, depth=depth).double()
    z, points = torch.rand(3, 15, dtype=torch.float64), torch.rand(3, 2, dtype=torch.float64)
    z.requires_grad_(True)
    points.requires_grad_(True)
    assert torch.autograd.gradcheck(decoder, (z, points))
    assert torch.autograd.gradgradcheck(decoder, (z, points))
