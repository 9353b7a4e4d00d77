"""A PDE behind a network, or a network behind a PDE: m -> J and m -> u as torch and JAX functions.

    torch:  J = torch_function(reduced);   J(net(z)).sum().backward()
            u = torch_state(state_map);    loss(net(u(m))).backward()
    JAX:    J = jax_function(reduced);     jax.grad(lambda w: J(net(w, z)))(w)
            u = jax_state(state_map);      jax.grad(lambda m: loss(net(w, u(m))))(m)

The value comes from one solve of the state, the derivative from one of the adjoint; nothing of the solver is traced.
The second derivative of J is the Hessian action where the functional has one, so that gradients of gradients are exact,
too; the state can be differentiated once.
Leading dimensions are a batch, one solve after the other. The solver works in double precision on the host: other
types and devices are converted there and back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pde.fem.state_map import StateMap
from pde.functional import ReducedFunctional


def torch_function(functional: ReducedFunctional) -> Callable[[Any], Any]:
    """J as a function of tensors.

    Args:
        functional: of NumPy vectors (n,).

    Returns:
        A function of x : (..., n), a floating point tensor, that gives J : (...). Where `functional` has an `hvp`, it
        can be differentiated twice.
    """
    import torch

    def rows(x: Any) -> np.ndarray:
        return x.detach().to("cpu", torch.float64).numpy().reshape(-1, x.shape[-1])

    def like(values: list[Any], x: Any, shape: Any) -> Any:
        return torch.as_tensor(np.array(values), dtype=x.dtype, device=x.device).reshape(shape)

    class Slope(torch.autograd.Function):
        """x -> dJ/dx, whose own derivative is the Hessian."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return like([functional.value_grad(row)[1] for row in rows(x)], x, x.shape)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,), (v,) = ctx.saved_tensors, grads
            hvp: Any = getattr(functional, "hvp", None)
            if hvp is None:
                raise RuntimeError("this functional has no Hessian actions: give it an hvp, or differentiate once only")
            return like([hvp(a, b) for a, b in zip(rows(x), rows(v), strict=True)], x, x.shape)

    class Value(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return like([functional.value(row) for row in rows(x)], x, x.shape[:-1])

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grads[0][..., None] * Slope.apply(x)

    return Value.apply


def jax_function(functional: ReducedFunctional) -> Callable[[Any], Any]:
    """J as a function of JAX arrays.

    Args:
        functional: of NumPy vectors (n,).

    Returns:
        A function of x : (n,) that gives J : (), for `jax.grad`, `jax.jit` and `jax.vmap`. In single precision unless
        JAX has `jax_enable_x64`. Where `functional` has an `hvp`, it can be differentiated twice, backwards.
    """
    import jax
    import jax.numpy as jnp

    def call(host: Callable[..., Any], shape: tuple[int, ...], *args: Any) -> Any:
        dtype = args[0].dtype

        def on_host(*given: Any) -> np.ndarray:
            return np.asarray(host(*(np.asarray(a, np.float64) for a in given)), dtype)

        return jax.pure_callback(on_host, jax.ShapeDtypeStruct(shape, dtype), *args, vmap_method="sequential")

    @jax.custom_vjp
    def value(x: Any) -> Any:
        return call(functional.value, (), x)

    @jax.custom_vjp
    def slope(x: Any) -> Any:
        return call(lambda a: functional.value_grad(a)[1], x.shape, x)

    def slope_back(x: Any, v: Any) -> tuple[Any]:
        hvp: Any = getattr(functional, "hvp", None)
        if hvp is None:
            raise TypeError("this functional has no Hessian actions: give it an hvp, or differentiate once only")
        return (call(hvp, x.shape, x, v),)

    value.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))
    slope.defvjp(lambda x: (slope(x), x), slope_back)
    return lambda x: value(jnp.asarray(x))


def torch_state(state_map: StateMap) -> Callable[[Any], Any]:
    """u as a function of tensors.

    Returns:
        A function of m : (..., n), a floating point tensor, that gives u : (..., size).
    """
    import torch

    def rows(x: Any) -> np.ndarray:
        return x.detach().to("cpu", torch.float64).numpy().reshape(-1, x.shape[-1])

    def like(values: list[Any], x: Any) -> Any:
        array = np.array(values).reshape(*x.shape[:-1], -1) if values else np.zeros((*x.shape[:-1], state_map.size))
        return torch.as_tensor(array, dtype=x.dtype, device=x.device)

    class State(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return like([state_map(row) for row in rows(x)], x)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,), (w,) = ctx.saved_tensors, grads
            pulled = [state_map.pull_back(a, b) for a, b in zip(rows(x), rows(w), strict=True)]
            return like(pulled, x).reshape(x.shape)

    return State.apply


def jax_state(state_map: StateMap) -> Callable[[Any], Any]:
    """u as a function of JAX arrays.

    Returns:
        A function of m : (n,) that gives u : (size,), for `jax.grad`, `jax.jit` and `jax.vmap`. In single precision
        unless JAX has `jax_enable_x64`.
    """
    import jax
    import jax.numpy as jnp

    def call(host: Callable[..., Any], size: int, *args: Any) -> Any:
        dtype = args[0].dtype

        def on_host(*given: Any) -> np.ndarray:
            return np.asarray(host(*(np.asarray(a, np.float64) for a in given)), dtype)

        return jax.pure_callback(on_host, jax.ShapeDtypeStruct((size,), dtype), *args, vmap_method="sequential")

    @jax.custom_vjp
    def state(x: Any) -> Any:
        return call(state_map, state_map.size, x)

    state.defvjp(
        lambda x: (state(x), x),
        lambda x, w: (call(state_map.pull_back, state_map.n, x, w),),
    )
    return lambda x: state(jnp.asarray(x))
