"""A function written with torch, JAX or NumPy, as an objective or a constraint with its derivatives."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optim.arrays import NUMPY, Array, namespace
from optim.errors import ShapeError
from optim.problem import Kind
from optim.space import Euclidean, Space

DIFFERENCES_UP_TO = 100  # variables


@dataclass(frozen=True)
class Function:
    """An objective from one function; made by `smooth`. The library of x decides how it is differentiated."""

    fn: Callable[[Array], Any]
    grad: Callable[[Array], Array] | None = None
    hessian: Callable[[Array, Array], Array] | None = None
    space: Space = field(default_factory=Euclidean)
    jit: bool = True
    _compiled: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def value(self, x: Array) -> float:
        """f(x)"""
        kind = namespace(x).name
        if kind == "torch":
            import torch

            with torch.no_grad():
                return float(_scalar(self.fn(x)))
        out = self._jax("value")(x) if kind == "jax" else self.fn(x)
        return float(_scalar(out[0] if isinstance(out, tuple) else out))

    def value_grad(self, x: Array) -> tuple[float, Array]:
        """f(x) and its derivative (n,)."""
        kind = namespace(x).name
        if self.grad is not None:
            return self.value(x), self.grad(x)
        if kind == "torch":
            return _torch_value_grad(self.fn, x)
        if kind == "jax":
            f, g = self._jax("value_grad")(x)
            return float(f), g
        out = self.fn(x)
        if isinstance(out, tuple):
            return float(_scalar(out[0])), np.asarray(out[1])
        return float(_scalar(out)), _differences(lambda y: np.asarray(self.fn(y)), x, "objective")

    def hvp(self, x: Array, v: Array) -> Array:
        """Hessian times v, (n,). From a NumPy function: central differences of its gradient, about 9 digits."""
        kind = namespace(x).name
        if self.hessian is not None:
            return self.hessian(x, v)
        if kind == "torch" and self.grad is None:
            return _torch_hvp(self.fn, x, v)
        if kind == "jax" and self.grad is None:
            return self._jax("hvp")(x, v)
        length = float((v * v).sum()) ** 0.5
        if length == 0:
            return 0 * v
        h = 6e-6 * (1 + float((x * x).sum()) ** 0.5) / length
        return (self.value_grad(x + h * v)[1] - self.value_grad(x - h * v)[1]) / (2 * h)

    def _jax(self, what: str) -> Callable[..., Any]:
        # Compiled once per function, never once per step.
        if what not in self._compiled:
            import jax

            gradient = jax.grad(self.fn)
            made = {
                "value": self.fn,
                "value_grad": jax.value_and_grad(self.fn),
                "hvp": lambda x, v: jax.jvp(gradient, (x,), (v,))[1],
            }[what]
            self._compiled[what] = jax.jit(made) if self.jit else made
        return self._compiled[what]


@dataclass(frozen=True)
class FunctionConstraint:
    """A vector of constraints from one function; made by `constraint`."""

    fn: Callable[[Array], Any]
    kind: Kind = "ineq"
    m: int | None = None
    jacobian: Callable[[Array], Array] | None = None
    jit: bool = True
    _compiled: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def value(self, x: Array) -> Array:
        """(m,)"""
        kind = namespace(x).name
        if kind == "torch":
            import torch

            with torch.no_grad():
                return self.fn(x).reshape(-1)
        out = self._jax("value")(x) if kind == "jax" else self.fn(x)
        return namespace(x).module.reshape(namespace(x).asarray(out[0] if isinstance(out, tuple) else out), (-1,))

    def jac(self, x: Array) -> Array:
        """(m, n)"""
        kind = namespace(x).name
        if self.jacobian is not None:
            return self.jacobian(x)
        if kind == "torch":
            return _torch_jacobian(self.fn, x)
        if kind == "jax":
            return self._jax("jac")(x)
        out = self.fn(x)
        if isinstance(out, tuple):
            J = np.asarray(out[1])
            return J[None] if J.ndim == 1 else J
        return np.atleast_2d(_differences(lambda y: np.reshape(self.fn(y), -1), x, "constraint"))

    def hvp(self, x: Array, v: Array, weights: Array) -> Array:
        """sum_i weights_i (Hessian of constraint i) v, (n,)."""

        def weighted(y: Array) -> Array:
            return (weights * self.fn(y).reshape(-1)).sum()

        kind = namespace(x).name
        if kind == "torch":
            return _torch_hvp(weighted, x, v)
        if kind == "jax":
            return self._jax("hvp")(x, v, weights)
        length = float((v * v).sum()) ** 0.5
        if length == 0:
            return 0 * v
        h = 6e-6 * (1 + float((x * x).sum()) ** 0.5) / length
        return weights @ (self.jac(x + h * v) - self.jac(x - h * v)) / (2 * h)

    def _jax(self, what: str) -> Callable[..., Any]:
        if what not in self._compiled:
            import jax
            import jax.numpy as jnp

            def flat(x: Array) -> Array:
                return jnp.reshape(self.fn(x), (-1,))

            def hvp(x: Array, v: Array, weights: Array) -> Array:
                return jax.jvp(jax.grad(lambda y: weights @ flat(y)), (x,), (v,))[1]

            made = {"value": flat, "jac": jax.jacrev(flat), "hvp": hvp}[what]
            self._compiled[what] = jax.jit(made) if self.jit else made
        return self._compiled[what]


@dataclass(frozen=True)
class Linear:
    """rows @ x <= limits (kind "ineq") or = limits ("eq"). rows : (m, n) like x; limits : (m,)."""

    rows: Array
    limits: Array
    kind: Kind = "ineq"

    @property
    def m(self) -> int:
        return self.rows.shape[0]

    def value(self, x: Array) -> Array:
        return self.rows @ x - self.limits

    def jac(self, x: Array) -> Array:
        return self.rows

    def hvp(self, x: Array, v: Array, weights: Array) -> Array:
        return 0 * v


def smooth(
    fn: Callable[[Array], Any],
    grad: Callable[[Array], Array] | None = None,
    hvp: Callable[[Array, Array], Array] | None = None,
    space: Space | None = None,
    jit: bool = True,
) -> Function:
    """An objective with value, value_grad and hvp.

    Args:
        fn: x (n,) -> a scalar. Of torch or JAX it is differentiated; a NumPy function returns (value, gradient), or
            comes with `grad`, or has at most 100 variables and is differentiated by central differences.
        grad, hvp: derivatives that are known better.
        space: the inner product that `pde.functional` and the methods use.
        jit: compile a JAX function; False for functions that cannot be traced.
    """
    return Function(fn, grad, hvp, space or Euclidean(), jit)


def constraint(
    fn: Callable[[Array], Any],
    kind: Kind = "ineq",
    m: int | None = None,
    jac: Callable[[Array], Array] | None = None,
    jit: bool = True,
) -> FunctionConstraint:
    """Conditions fn(x) <= 0 (kind "ineq") or fn(x) = 0 ("eq"); fn as in `smooth`, values (m,), Jacobian (m, n)."""
    return FunctionConstraint(fn, kind, m, jac, jit)


def _scalar(value: Any) -> Any:
    shape = tuple(getattr(value, "shape", ()))
    if shape not in ((), (1,)):
        raise ShapeError(f"the objective returned an array of shape {shape}: return one number, for instance its sum")
    return value.reshape(()) if shape == (1,) else value


def _torch_value_grad(fn: Callable[[Array], Any], x: Array) -> tuple[float, Array]:
    import torch

    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        f = _scalar(fn(leaf))
        g = torch.autograd.grad(f, leaf, allow_unused=True)[0] if f.requires_grad else None
    return float(f.detach()), torch.zeros_like(x) if g is None else g


def _torch_hvp(fn: Callable[[Array], Any], x: Array, v: Array) -> Array:
    import torch

    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        f = _scalar(fn(leaf))
        g = torch.autograd.grad(f, leaf, create_graph=True, allow_unused=True)[0] if f.requires_grad else None
        if g is None or not g.requires_grad:
            return torch.zeros_like(x)
        h = torch.autograd.grad(g, leaf, v, allow_unused=True)[0]
    return torch.zeros_like(x) if h is None else h


def _torch_jacobian(fn: Callable[[Array], Any], x: Array) -> Array:
    import torch

    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        values = fn(leaf).reshape(-1)
        rows = [torch.autograd.grad(c, leaf, retain_graph=True, allow_unused=True)[0] for c in values]
    return torch.stack([torch.zeros_like(x) if row is None else row for row in rows])


def _differences(fn: Callable[[Array], Any], x: Array, name: str) -> Array:
    """Central differences of a small NumPy function; (..., n)."""
    if x.shape[0] > DIFFERENCES_UP_TO:
        raise ShapeError(
            f"the {name} is a NumPy function of {x.shape[0]} variables without derivatives: "
            "return (value, derivative), pass the derivative beside it, or write it with torch or jax.numpy"
        )
    columns = []
    for j in range(x.shape[0]):
        h = 6e-6 * max(1.0, abs(float(x[j])))
        ahead, behind = NUMPY.private(x), NUMPY.private(x)
        ahead[j], behind[j] = x[j] + h, x[j] - h
        columns.append((np.asarray(fn(ahead)) - np.asarray(fn(behind))) / (ahead[j] - behind[j]))
    return np.stack(columns, axis=-1)
