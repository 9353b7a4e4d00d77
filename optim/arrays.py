"""One array namespace over NumPy, torch and JAX.

The methods are written once, with the functions of this page. Vectors of the design stay where they are (CPU or GPU, in
the caller's precision); the handful of numbers per constraint live on the host, as NumPy arrays in double precision.
Nothing is imported that the caller has not imported already.
"""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.errors import StartError

type Array = Any  # numpy.ndarray | torch.Tensor | jax.Array
Host = NDArray[np.float64]


@dataclass(frozen=True)
class Namespace:
    """The functions of one array library, under the names and manners that the methods use."""

    name: str
    module: ModuleType

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def maximum(self, a: Array, b: Array | float) -> Array:
        """Elementwise; b may be a number."""
        return a.clip(min=b) if self.name == "torch" and isinstance(b, float) else self.module.maximum(a, b)

    def minimum(self, a: Array, b: Array | float) -> Array:
        return a.clip(max=b) if self.name == "torch" and isinstance(b, float) else self.module.minimum(a, b)

    def clip(self, x: Array, lower: Array, upper: Array) -> Array:
        """Nearest point between two arrays of the shape of x."""
        return self.module.minimum(self.module.maximum(x, lower), upper)

    def dot(self, a: Array, b: Array) -> float:
        return float((a * b).sum()) if a.ndim != 1 else float(a @ b)

    def concatenate(self, parts: list[Array]) -> Array:
        if len(parts) == 1:
            return parts[0]
        return self.module.cat(parts) if self.name == "torch" else self.module.concatenate(parts)

    def finite(self, x: Array) -> bool:
        # A sum is finite exactly when its terms are, short of overflow, and needs no second array.
        return bool(np.isfinite(float(x.sum()))) or bool(self.module.isfinite(x).all())

    def largest(self, x: Array) -> float:
        """max |x|, 0 for nothing."""
        return float(abs(x).max()) if x.shape[0] else 0.0

    def host(self, x: Array) -> Host:
        """As a NumPy array in double precision (a copy where needed)."""
        if self.name == "torch" and not isinstance(x, np.ndarray):
            x = x.detach().cpu().numpy()
        return np.asarray(x, np.float64)

    def like(self, values: Any, x: Array) -> Array:
        """Numbers from the host as an array with the library, type and device of x."""
        if self.name == "torch":
            return self.module.as_tensor(values, dtype=x.dtype, device=x.device)
        return self.module.asarray(values, dtype=x.dtype)

    def double(self, x: Array) -> Array:
        """In double precision, where the library allows it."""
        if self.name == "torch":
            return x.double()
        if self.name == "jax":
            import jax

            return x.astype("float64") if jax.config.jax_enable_x64 else x  # pyright: ignore[reportAttributeAccessIssue]
        return np.asarray(x, np.float64)

    def private(self, x: Array) -> Array:
        """A copy that nobody else writes to, without a derivative graph."""
        if self.name == "torch":
            return x.detach().clone()
        return x if self.name == "jax" else np.array(x)

    def pull(self, J: Array | None, lam: Host, x: Array) -> Array:
        """J^T lam as an array like x. J : (m, n) or None for no constraints; lam : (m,)."""
        if J is None or not len(lam):
            return self.module.zeros_like(x)
        return self.like(lam, x) @ J

    def precision(self, x: Array) -> float:
        """Rounding unit of the type of x."""
        return 1.2e-7 if "32" in str(x.dtype) else 2.2e-16


NUMPY = Namespace("numpy", np)


def namespace(x: Array) -> Namespace:
    """The library that x belongs to.

    Raises:
        StartError: x is no array of NumPy, torch or JAX.
    """
    root = type(x).__module__.split(".")[0]
    if root == "numpy":
        return NUMPY
    if root == "torch":
        return Namespace("torch", sys.modules["torch"])
    if root in ("jax", "jaxlib"):
        import jax.numpy

        return Namespace("jax", jax.numpy)
    raise StartError(f"x0 is a {type(x).__name__}: give a NumPy array, a torch tensor or a JAX array")
