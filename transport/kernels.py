"""Where the work is done: the few operations on stacks of densities and potentials that every method here is made of.

    "cpu"      compiled loops (numba), threads over measures and lines: the default, and the reference
    "torch"    the same in PyTorch on the processor: slower, for tests and where numba is not wanted
    "cuda"     the same in PyTorch on a GPU ("cuda:1": the second one)

Stacks are opaque to their users: `put` makes one from an array, `get` makes it an array again. Kernels that take `out`
may write there and return it, or return something new.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from transport import sweeps
from transport.domain import Domain
from transport.errors import TransportError
from transport.legendre import c_transform
from transport.mask import Mask
from transport.poisson import inverse_laplacian
from transport.pushforward import push
from transport.threads import thread_count

Field = NDArray[np.float64]
Stack = Any
"""(m, n_1, ..., n_d) float64, an array of the back-end."""


class Kernels(Protocol):
    """One back-end."""

    def put(self, values: NDArray) -> Stack: ...

    def get(self, stack: Stack) -> Field: ...

    def c_transform(self, f: Stack, steps: tuple[float, ...], out: Stack | None = None) -> Stack:
        """See `transport.legendre`."""
        ...

    def push(self, f: Stack, mu: Stack, domain: Domain) -> tuple[Stack, Field]:
        """See `transport.pushforward`; the costs are an array of NumPy."""
        ...

    def inverse_laplacian(self, r: Stack, domain: Domain) -> tuple[Stack, Field]:
        """See `transport.poisson`; may overwrite r."""
        ...

    def means_of_products(self, a: Stack, b: Stack) -> Field: ...

    def extrapolate(self, f: Stack, previous: Stack, beta: float, out: Stack | None) -> Stack: ...

    def recentre(self, f: Stack, weights: Field) -> None: ...

    def differences(self, images: Stack, weights: Field) -> Stack:
        """sum_k w_k R_k - R_i. Compiled loops round them to single precision, which halves the cost of the cosines."""
        ...

    def climb(self, f: Stack, gradient: Stack, step: float, out: Stack | None) -> Stack: ...

    def close(self, f: Stack, mask: Mask) -> Stack:
        """f outside the mask set to what no minimum chooses; f itself may change."""
        ...

    def gather(self, masses: Stack, mask: Mask) -> None: ...


def host(stack: Stack) -> Field:
    """A stack of any back-end as an array."""
    return stack if isinstance(stack, np.ndarray) else stack.detach().cpu().numpy()


def kernels_on(device: str, threads: int = 0) -> Kernels:
    """The back-end of a device.

    Raises:
        TransportError: an unknown device, or a GPU that is not there.
    """
    if device == "cpu":
        return Compiled(thread_count(threads))
    if device != "torch" and device.partition(":")[0] != "cuda":
        raise TransportError(f"device must be 'cpu', 'torch' or 'cuda', not {device!r}")
    from transport.torch_kernels import TorchKernels

    return TorchKernels("cpu" if device == "torch" else device)


class Compiled:
    """The back-end "cpu"."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def put(self, values: NDArray) -> Field:
        return np.ascontiguousarray(values, np.float64)

    def get(self, stack: Field) -> Field:
        return stack

    def c_transform(self, f: Field, steps: tuple[float, ...], out: Field | None = None) -> Field:
        return c_transform(f, steps, out=out, threads=self.threads)

    def push(self, f: Field, mu: Field, domain: Domain) -> tuple[Field, Field]:
        return push(f, mu, domain, threads=self.threads)

    def inverse_laplacian(self, r: NDArray, domain: Domain) -> tuple[NDArray, Field]:
        return inverse_laplacian(r, domain, threads=self.threads)

    def means_of_products(self, a: Field, b: Field) -> Field:
        return sweeps.means_of_products(a, b, self.threads)

    def extrapolate(self, f: Field, previous: Field, beta: float, out: Field | None) -> Field:
        out = np.empty_like(f) if out is None else out
        sweeps.extrapolate(f, previous, beta, out, self.threads)
        return out

    def recentre(self, f: Field, weights: Field) -> None:
        sweeps.recentre(f, weights, self.threads)

    def differences(self, images: Field, weights: Field) -> NDArray:
        mean, out = np.empty_like(images[0]), np.empty(images.shape, np.float32)
        sweeps.mean_and_differences(images, weights, mean, out, self.threads)
        return out

    def climb(self, f: Field, gradient: NDArray, step: float, out: Field | None) -> Field:
        out = np.empty_like(f) if out is None else out
        sweeps.climb(f, gradient, step, out, self.threads)
        return out

    def close(self, f: Field, mask: Mask) -> Field:
        mask.close(f)
        return f

    def gather(self, masses: Field, mask: Mask) -> None:
        mask.gather(masses)
