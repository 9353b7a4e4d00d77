"""The kernels in PyTorch, for GPUs: the same operations, written for many lines and cells at once.

What differs is the Legendre transform, see `transport.torch_legendre`; the rest is the same arithmetic as in
`transport.pushforward`, `transport.poisson` and `transport.sweeps`, in double precision throughout. On the processor
every sum has a fixed order; on a GPU mass is laid down by sorting (`index_put_` with `accumulate`), not by atomic
additions, so that there, too, the same input should give the same bits.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transport.domain import Domain
from transport.errors import TransportError
from transport.mask import Mask
from transport.poisson import inverse_eigenvalues
from transport.torch_legendre import c_transform
from transport.torch_push import push

Field = NDArray[np.float64]


class TorchKernels:
    """The back-ends "torch" and "cuda".

    Raises:
        TransportError: no such GPU here.
    """

    def __init__(self, device: str) -> None:
        kind, _, number = device.partition(":")
        if kind == "cuda" and not torch.cuda.is_available():
            raise TransportError(
                "device 'cuda': PyTorch sees no GPU here; leave it out, or install a CUDA build of torch"
            )
        if number and (not number.isdigit() or int(number) >= torch.cuda.device_count()):
            raise TransportError(
                f"device {device!r}: PyTorch sees {torch.cuda.device_count()} GPUs here, counted from 0"
            )
        self.device = torch.device(device)

    def put(self, values: NDArray) -> Tensor:
        return torch.tensor(np.ascontiguousarray(values, np.float64), device=self.device)

    def get(self, stack: Tensor) -> Field:
        return stack.detach().cpu().numpy()

    def c_transform(self, f: Tensor, steps: tuple[float, ...], out: Tensor | None = None) -> Tensor:
        return c_transform(f, steps)

    def push(self, f: Tensor, mu: Tensor, domain: Domain) -> tuple[Tensor, Field]:
        images, costs = push(f, mu, domain)
        return images, costs.cpu().numpy()

    def inverse_laplacian(self, r: Tensor, domain: Domain) -> tuple[Tensor, Field]:
        dims = tuple(range(1, r.ndim))
        spectrum = r
        for dim in dims:
            spectrum = cosines(spectrum, dim)
        scaled = spectrum * self._inverse(domain)
        energy = (spectrum * scaled).flatten(1).sum(1) / domain.size
        for dim in dims:
            scaled = inverse_cosines(scaled, dim)
        return scaled, energy.cpu().numpy()

    def means_of_products(self, a: Tensor, b: Tensor) -> Field:
        return (a * b).flatten(1).mean(1).cpu().numpy()

    def extrapolate(self, f: Tensor, previous: Tensor, beta: float, out: Tensor | None) -> Tensor:
        return f + beta * (f - previous)

    def recentre(self, f: Tensor, weights: Field) -> None:
        f -= self._mean(f, weights)

    def differences(self, images: Tensor, weights: Field) -> Tensor:
        return self._mean(images, weights) - images

    def climb(self, f: Tensor, gradient: Tensor, step: float, out: Tensor | None) -> Tensor:
        return f + step * gradient

    def close(self, f: Tensor, mask: Mask) -> Tensor:
        return torch.where(torch.as_tensor(mask.forbidden, device=self.device), mask.closed, f)

    def gather(self, masses: Tensor, mask: Mask) -> None:
        masses.copy_(self.put(_gathered(self.get(masses), mask)))

    def _mean(self, stack: Tensor, weights: Field) -> Tensor:
        # Term by term, in the order of the compiled loops.
        mean = torch.zeros_like(stack[0])
        for w, a in zip(weights, stack, strict=True):
            mean += float(w) * a
        return mean

    @lru_cache(maxsize=8)  # noqa: B019 - the tables of a few grids; the object is small
    def _inverse(self, domain: Domain) -> Tensor:
        return self.put(inverse_eigenvalues(domain, False))


def _gathered(masses: Field, mask: Mask) -> Field:
    masses = masses.copy()
    mask.gather(masses)
    return masses


def cosines(x: Tensor, dim: int) -> Tensor:
    """Orthonormal DCT-II along one dimension, by one FFT of the same length (Makhoul 1980)."""
    x = x.movedim(dim, -1)
    n = x.shape[-1]
    turned = torch.fft.fft(torch.cat([x[..., ::2], x[..., 1::2].flip(-1)], -1))
    out = (turned * _twist(n, x.device).conj()).real * math.sqrt(2 / n)
    out[..., 0] /= math.sqrt(2)
    return out.movedim(-1, dim)


def inverse_cosines(x: Tensor, dim: int) -> Tensor:
    """Its inverse, the DCT-III."""
    x = x.movedim(dim, -1) / math.sqrt(2 / x.shape[dim])
    n = x.shape[-1]
    first = x[..., :1] * math.sqrt(2)
    x = torch.cat([first, x[..., 1:]], -1)
    mirrored = torch.cat([torch.zeros_like(first), x[..., 1:].flip(-1)], -1)
    v = torch.fft.ifft(_twist(n, x.device) * torch.complex(x, -mirrored)).real
    out: Any = torch.empty_like(x)
    half = (n + 1) // 2
    out[..., ::2], out[..., 1::2] = v[..., :half], v[..., half:].flip(-1)
    return out.movedim(-1, dim)


@lru_cache(maxsize=16)
def _twist(n: int, device: torch.device) -> Tensor:
    angle = torch.arange(n, dtype=torch.float64, device=device) * (math.pi / (2 * n))
    return torch.polar(torch.ones_like(angle), angle)
