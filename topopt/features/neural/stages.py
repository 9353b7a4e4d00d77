"""The two stages of training: what each draws as data, what it minimises, and which networks it changes.

    1. encoder and Heaviside decoder:   mean (H - H*)^2 + 5e-7 KL(q(z | code), N(0, 1))
    2. code decoder alone:              mean (code - code*)^2

KL is summed over the latent entries and averaged over the batch. Data of a block depend on the seed and the number of
the block alone.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from topopt.features.neural import samples
from topopt.features.neural.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from topopt.features.neural.model import Model


class FieldStage:
    """Encoder and Heaviside decoder."""

    name = "field"

    def __init__(self, settings: Settings, model: "Model") -> None:
        self.settings, self.total, self.rate = settings, settings.steps, settings.rate
        self.networks = {"encoder": model.encoder, "heaviside": model.heaviside}
        self.model = model

    def batches(self, block: int) -> Iterator[tuple["Tensor", ...]]:
        s = self.settings
        rng = np.random.default_rng([s.seed, 1, block])
        return _shuffled(rng, samples.draw(rng, s.shapes * s.block // 3, s.points), s.shapes)

    def loss(self, batch: tuple["Tensor", ...], noise: "Callable[..., Tensor]") -> tuple["Tensor", "Tensor"]:
        import torch

        code, points, target = batch
        mean, log_variance = self.model.encoder(code)
        z = mean + torch.exp(0.5 * log_variance) * noise(mean.shape)
        kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1).mean()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.precision == "bfloat16"):
            h = self.model.heaviside(z.repeat_interleave(points.shape[1], 0), points.reshape(-1, 2))
        error = ((h.float() - target.reshape(-1)) ** 2).mean()
        return error + self.settings.kl * kl, error


class CodeStage:
    """The code decoder alone; the encoder stays as it is."""

    name = "code"

    def __init__(self, settings: Settings, model: "Model") -> None:
        self.settings, self.total, self.rate = settings, settings.code_steps, settings.code_rate
        self.networks = {"code": model.code}
        self.model = model

    def batches(self, block: int) -> Iterator[tuple["Tensor", ...]]:
        s = self.settings
        rng = np.random.default_rng([s.seed, 2, block])
        return _shuffled(rng, samples.draw(rng, s.code_shapes * s.block // 3, 0), s.code_shapes)

    def loss(self, batch: tuple["Tensor", ...], noise: "Callable[..., Tensor]") -> tuple["Tensor", "Tensor"]:
        import torch

        code = batch[0]
        self.model.encoder.eval()
        with torch.no_grad():
            z, _ = self.model.encoder(code)
        error = ((self.model.code(z) - code) ** 2).mean()
        return error, error


def _shuffled(rng: np.random.Generator, data: tuple[np.ndarray, ...], size: int) -> Iterator[tuple["Tensor", ...]]:
    import torch

    order = rng.permutation(len(data[0]))
    tensors = [torch.from_numpy(np.ascontiguousarray(part[order], np.float32)) for part in data]
    return zip(*(tensor.split(size) for tensor in tensors), strict=True)
