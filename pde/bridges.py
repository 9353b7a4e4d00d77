"""The solve on a grid inside torch and inside JAX, with exact derivatives of first and second order.

u(E, f, g) solves K(E) u = f with the prescribed values g. With the adjoint K lambda = dJ/du, lambda = 0 where held:

    dJ/dE_e = -lambda_e . K_e u_e,     dJ/df = lambda,     dJ/dg = dJ/du - K lambda  (at held values)

The adjoint is another solve of the same kind, and the other two terms are products that are bilinear in their
arguments; all three are differentiable again in the same way, so that second derivatives cost a further adjoint and
nothing is differentiated through the iterations of the solver. Values pass as NumPy arrays on the CPU, shared and not
copied where their layout allows it; the solver works in double precision and answers in the precision it was asked in.
`pde.fem.bridges` does it for reduced functionals, where only J and its derivatives are wanted and not u.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pde.grid.elementwise import mixed_energies, product
from pde.grid.errors import GridError
from pde.grid.system import System

if TYPE_CHECKING:
    import jax
    import torch

Field = NDArray[np.float64]


class Products:
    """The three operations of the adjoint calculus, on NumPy arrays.

    Args:
        system: grid, physics, supports and springs. Its modulus changes with every solve.
        tol, max_iterations: of every solve, adjoints included. Derivatives are as exact as the solves.
    """

    def __init__(self, system: System, tol: float = 1e-10, max_iterations: int = 1000) -> None:
        self.system, self.tol, self.max_iterations = system, tol, max_iterations
        self._modulus: Field | None = None

    def solve(self, modulus: Any, force: Any, prescribed: Any) -> Field:
        """u(E, f, g); force and prescribed : (..., *node_shape, dofs)."""
        modulus, force, prescribed = (np.asarray(a, float) for a in (modulus, force, prescribed))
        shape, nodal = force.shape, self.system.vector_shape
        if (
            self._modulus is None
            or self.system.modulus is not self._modulus
            or not np.array_equal(modulus, self._modulus)
        ):
            # A copy: the caller's optimizer may change its array in place.
            self._modulus = None
            own = modulus.copy()
            self.system.update(own)
            self._modulus = own
        cases = force.reshape(-1, *nodal)
        values = np.broadcast_to(prescribed, shape).reshape(-1, *nodal)
        u = self.system.solve(None, cases, None, self.tol, self.max_iterations, values if values.any() else None).u
        return u.reshape(shape)

    def mixed(self, v: Any, u: Any) -> Field:
        """v_e . K_e u_e with unit modulus, summed over the cases: (..., *node_shape, dofs) twice -> (*shape,)."""
        nodal = self.system.vector_shape
        pairs = zip(np.reshape(v, (-1, *nodal)), np.reshape(u, (-1, *nodal)), strict=True)
        fields = [mixed_energies(self.system, a.astype(float), b.astype(float)) for a, b in pairs]
        return np.sum(fields, axis=0)

    def product(self, weights: Any, u: Any) -> Field:
        """K(w) u for any weights, also negative ones, springs not included."""
        u = np.asarray(u, float)
        cases = u.reshape(-1, *self.system.vector_shape)
        return np.stack([product(self.system, np.asarray(weights, float), case) for case in cases]).reshape(u.shape)


def torch_solve(system: System, tol: float = 1e-10, max_iterations: int = 1000) -> "Callable[..., torch.Tensor]":
    """The solve as a function of tensors, differentiable as often as you like.

    Returns:
        solve(modulus, force, prescribed=None) -> u: (*shape,), (..., *node_shape, dofs), (*node_shape, dofs) or one per
        case -> shape of `force`. The answer has the dtype of `modulus` and lies on its device.

    Raises:
        GridError, SolverError: when called; see `System.solve`.
    """
    import torch

    products = Products(system, tol, max_iterations)
    fixed = torch.from_numpy(system.fixed)

    def call(operation: Callable[..., Field], *tensors: torch.Tensor) -> torch.Tensor:
        like = tensors[0]
        value = operation(*[t.detach().cpu().numpy() for t in tensors])
        return torch.from_numpy(value).to(device=like.device, dtype=like.dtype)

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, modulus: Any, force: Any, prescribed: Any) -> Any:  # type: ignore[override]
            u = call(products.solve, modulus, force, prescribed)
            ctx.save_for_backward(modulus, u)
            return u

        @staticmethod
        def backward(ctx: Any, dJ_du: Any) -> Any:  # type: ignore[override]
            modulus, u = ctx.saved_tensors
            adjoint = Solve.apply(modulus, dJ_du, torch.zeros_like(dJ_du))
            dJ_dE = -Mixed.apply(adjoint, u) if ctx.needs_input_grad[0] else None  # type: ignore[operator]
            dJ_dg = None
            if ctx.needs_input_grad[2]:
                dJ_dg = torch.where(fixed.to(dJ_du.device), dJ_du - Product.apply(modulus, adjoint), 0.0)
            return dJ_dE, adjoint, dJ_dg

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any, u: Any) -> Any:  # type: ignore[override]
            ctx.save_for_backward(v, u)
            return call(products.mixed, v, u)

        @staticmethod
        def backward(ctx: Any, weights: Any) -> Any:  # type: ignore[override]
            v, u = ctx.saved_tensors
            return Product.apply(weights, u), Product.apply(weights, v)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, weights: Any, u: Any) -> Any:  # type: ignore[override]
            ctx.save_for_backward(weights, u)
            return call(products.product, weights, u)

        @staticmethod
        def backward(ctx: Any, w: Any) -> Any:  # type: ignore[override]
            weights, u = ctx.saved_tensors
            return Mixed.apply(w, u), Product.apply(weights, w)

    def solve(modulus: torch.Tensor, force: torch.Tensor, prescribed: torch.Tensor | None = None) -> torch.Tensor:
        if prescribed is None:
            prescribed = torch.zeros((), dtype=force.dtype, device=force.device)
        return Solve.apply(modulus, force, prescribed.expand(force.shape))  # type: ignore[return-value]

    return solve


def jax_solve(system: System, tol: float = 1e-10, max_iterations: int = 1000) -> "Callable[..., jax.Array]":
    """The solve as a function of JAX arrays: under `jit`, reverse-mode differentiable as often as you like.

    Returns:
        solve(modulus, force, prescribed=None) -> u, shapes as in `torch_solve`. Answers are in single precision unless
        `jax_enable_x64` is set. With `backend="jax"` the whole computation stays on the device and under `jit`; an
        answer that was not reached is then NaN, because nothing can be raised there.

    Raises:
        GridError: `backend="jax"` without double precision.
    """
    import jax
    import jax.numpy as jnp

    held = jnp.asarray(system.fixed)
    operations = _on_device(system, tol, max_iterations) or _on_host(system, tol, max_iterations)
    solved, mixed_product, weighted_product = operations

    @jax.custom_vjp
    def solve(modulus: Any, force: Any, prescribed: Any) -> Any:
        return solved(modulus, force, prescribed)

    def solve_forward(modulus: Any, force: Any, prescribed: Any) -> Any:
        u = solve(modulus, force, prescribed)
        return u, (modulus, u)

    def solve_backward(saved: Any, dJ_du: Any) -> Any:
        modulus, u = saved
        adjoint = solve(modulus, dJ_du, jnp.zeros_like(dJ_du))
        return -mixed(adjoint, u), adjoint, jnp.where(held, dJ_du - multiply(modulus, adjoint), 0)

    @jax.custom_vjp
    def mixed(v: Any, u: Any) -> Any:
        return mixed_product(v, u)

    @jax.custom_vjp
    def multiply(weights: Any, u: Any) -> Any:
        return weighted_product(weights, u)

    solve.defvjp(solve_forward, solve_backward)
    mixed.defvjp(lambda v, u: (mixed(v, u), (v, u)), lambda s, w: (multiply(w, s[1]), multiply(w, s[0])))
    multiply.defvjp(lambda w, u: (multiply(w, u), (w, u)), lambda s, v: (mixed(v, s[1]), multiply(s[0], v)))

    def public(modulus: Any, force: Any, prescribed: Any = None) -> jax.Array:
        modulus, force = jnp.asarray(modulus), jnp.asarray(force)
        values = jnp.zeros((), force.dtype) if prescribed is None else jnp.asarray(prescribed)
        return solve(modulus, force, jnp.broadcast_to(values, force.shape))

    return public


def _on_host(system: System, tol: float, max_iterations: int) -> tuple[Callable, Callable, Callable]:
    """The three operations by callbacks into the back-end of the system."""
    import jax
    import jax.numpy as jnp

    products = Products(system, tol, max_iterations)

    def call(operation: Callable[..., Field], shape: tuple[int, ...], *arrays: jax.Array) -> jax.Array:
        dtype = jnp.result_type(*arrays)

        def on_host(*values: Any) -> NDArray:
            return np.ascontiguousarray(operation(*values), dtype)

        return jax.pure_callback(on_host, jax.ShapeDtypeStruct(shape, dtype), *arrays, vmap_method="sequential")

    return (
        lambda modulus, force, prescribed: call(products.solve, force.shape, modulus, force, prescribed),
        lambda v, u: call(products.mixed, system.grid.shape, v, u),
        lambda weights, u: call(products.product, u.shape, weights, u),
    )


def _on_device(system: System, tol: float, max_iterations: int) -> tuple[Callable, Callable, Callable] | None:
    """The same as JAX programs, if the system has the JAX back-end; needs double precision."""
    from pde.grid.jax_engine import JaxEngine

    engine, nodal = system.engine, system.vector_shape
    if not isinstance(engine, JaxEngine):
        return None
    import jax
    import jax.numpy as jnp

    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise GridError("the JAX back-end needs double precision inside `jit`: set jax_enable_x64")
    held = jnp.asarray(system.fixed)
    apply = jax.vmap(engine.apply_on_device, in_axes=(None, 0))

    def solved(modulus: Any, force: Any, prescribed: Any) -> Any:
        data = engine.set_up(modulus)
        values = jnp.where(held, prescribed, 0.0).reshape(-1, *nodal)
        forces = force.reshape(-1, *nodal) - apply(modulus, values)
        u, _, residuals = engine.solve_cases_on_device(data, forces, jnp.zeros_like(forces), tol, max_iterations)
        u = jnp.where(held, values, u)
        # Inside a program nothing can be raised; what has not converged must not pass for an answer.
        return jnp.where((residuals <= tol).all(), u, jnp.nan).reshape(force.shape)

    def mixed(v: Any, u: Any) -> Any:
        return jax.vmap(engine.mixed_on_device)(v.reshape(-1, *nodal), u.reshape(-1, *nodal)).sum(axis=0)

    def weighted(weights: Any, u: Any) -> Any:
        return apply(weights, u.reshape(-1, *nodal)).reshape(u.shape)

    return solved, mixed, weighted


def torch_from_jax(array: "jax.Array") -> "torch.Tensor":
    """The same memory as a tensor (DLPack). JAX arrays are immutable: write to the tensor only if nobody reads them."""
    import torch

    return torch.from_dlpack(array)


def jax_from_torch(tensor: "torch.Tensor") -> "jax.Array":
    """The same memory as a JAX array (DLPack); a copy if it is not contiguous. Leave the tensor as it is then."""
    import jax

    return jax.dlpack.from_dlpack(tensor.detach().contiguous())
