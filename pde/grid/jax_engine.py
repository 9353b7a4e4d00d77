"""The JAX back-end of `pde.grid.System`: on a CPU as a reference, on a GPU as the fast solver.

Conjugate gradients in double precision run as one `lax.while_loop`, preconditioned by a multigrid cycle in single
precision; several right-hand sides run side by side. Everything is a pure function of moduli and forces, so that
`pde.bridges.jax_solve` differentiates it without leaving the device. Memory: about 450 bytes per voxel in 3-D.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import GridError, SolverError
from pde.grid.jax_levels import Levels
from pde.grid.native.modes import Modes, find_structure

Field = NDArray[np.float64]
Device = Literal["cpu", "gpu"]


class JaxEngine:
    """A `pde.grid.system.Engine`.

    Args:
        shape: elements along each axis.
        K: element matrix of a unit modulus.
        fixed: (*node_shape, dofs) bool.
        device: None: the GPU if JAX sees one.

    Raises:
        GridError: the element matrix is not that of a box, or the device is not there.
    """

    def __init__(
        self, shape: tuple[int, ...], K: Field, fixed: NDArray[np.bool_], device: Device | None = None
    ) -> None:
        import jax

        modes = Modes(len(shape), fixed.shape[-1])
        if find_structure(modes, modes.to_modes(K)) is None:
            raise GridError("the element matrix lacks the symmetry of a box: use backend='direct'")
        try:
            self.device = jax.devices(device)[0]
        except RuntimeError as error:
            raise GridError(f"JAX sees no device {device!r} here: leave `device` out or say 'cpu'") from error
        self.levels, self.shape, self.fixed = Levels(shape, K, fixed), shape, fixed
        self._set_up, self._solve = jax.jit(self.set_up), jax.jit(self.solve_cases_on_device)
        self._apply, self._energies = jax.jit(self.apply_on_device), jax.jit(self.mixed_on_device)

    # -- pure functions of JAX arrays; call them with double precision enabled --------------------------------------

    def set_up(self, modulus: Any) -> dict[str, Any]:
        """modulus : (*shape,) float64 -> everything that a solve needs."""
        import jax.numpy as jnp

        padded = jnp.pad(modulus, [(0, n - m) for n, m in zip(self.levels.sizes[0], self.shape, strict=True)])
        data = self.levels.set_up((padded / padded.max()).astype(jnp.float32))
        return {"exact": padded, **data}

    def solve_cases_on_device(
        self, data: dict[str, Any], forces: Any, guesses: Any, tol: Any, max_iterations: Any
    ) -> tuple[Any, Any, Any]:
        """forces, guesses : (cases, *node_shape, dofs) -> solutions, iterations and relative residuals per case.

        A case whose residual is above `tol` has failed: its iterations ran out or the matrix is not definite.
        """
        import jax

        solved = jax.vmap(
            lambda f, x: self._conjugate_gradients(data, self._inner(f), self._inner(x), tol, max_iterations)
        )
        x, iterations, residuals = solved(forces, guesses)
        return jax.vmap(self._public)(x), iterations, residuals

    def apply_on_device(self, modulus: Any, u: Any) -> Any:
        """K(w) u for any weights. modulus : (*shape,), u : (*node_shape, dofs)."""
        import jax.numpy as jnp

        return jnp.moveaxis(self.levels.apply(modulus, jnp.moveaxis(u, -1, 0)), 0, -1)

    def mixed_on_device(self, v: Any, u: Any) -> Any:
        """v_e . K_e u_e with unit modulus, (*shape,)."""
        import jax.numpy as jnp

        return self.levels.mixed(jnp.moveaxis(v, -1, 0), jnp.moveaxis(u, -1, 0))

    # -- the interface of a back-end ------------------------------------------------------------------------------

    def update(self, modulus: Field) -> None:
        if modulus.max() <= 0:
            raise SolverError("there is no material anywhere: every modulus is zero")
        with self._double():
            self._modulus = self._put(modulus)
            self._data = self._set_up(self._modulus)

    def solve(self, force: Field, guess: Field | None, tol: float, max_iterations: int) -> tuple[Field, int, float]:
        u, iterations, residual = self.solve_cases(
            force[None], None if guess is None else guess[None], tol, max_iterations
        )
        return u[0], iterations, residual

    def solve_cases(
        self, forces: Field, guesses: Field | None, tol: float, max_iterations: int
    ) -> tuple[Field, int, float]:
        """All right-hand sides at once, (cases, *node_shape, dofs). -> solutions, iterations in all, largest residual.

        Raises:
            SolverError: a load acts on nothing, or no convergence.
        """
        empty = np.asarray(self._data["inverses"][0][0] == 0)[tuple(slice(n + 1) for n in self.shape)]
        on_nothing = (np.where(self.fixed, 0, forces)[:, empty] != 0).reshape(len(forces), -1).any(axis=1)
        if on_nothing.any():
            error = SolverError("a load acts on a node without material: move the load or keep material under it")
            raise error.of_case(int(np.argmax(on_nothing)), len(forces))
        with self._double():
            starts = self._put(np.zeros(forces.shape) if guesses is None else guesses)
            answer = self._solve(self._data, self._put(forces), starts, tol, max_iterations)
            u, iterations, residuals = (np.asarray(a) for a in answer)
        failed = ~(residuals <= tol)
        if failed.any():
            first = int(np.argmax(failed))
            raise SolverError(
                f"no convergence: relative residual {residuals[first]:.1e} after {iterations[first]} iterations, "
                f"{tol:.1e} was asked; raise max_iterations, ask for a larger tol, or look for parts that hang "
                "together through void only",
                [float(residuals[first])],
            ).of_case(first, len(forces))
        return u, int(iterations.sum()), float(residuals.max())

    def apply(self, u: Field) -> Field:
        with self._double():
            return np.asarray(self._apply(self._modulus, self._put(u)))

    def energies(self, u: Field) -> Field:
        with self._double():
            v = self._put(u)
            return np.asarray(self._energies(v, v))

    def _conjugate_gradients(self, data: dict[str, Any], f: Any, x: Any, tol: Any, max_iterations: Any) -> Any:
        import jax.numpy as jnp
        from jax import lax

        free = jnp.asarray(~self.levels.held[0])
        some = data["inverses"][0] > 0
        f, x = f * free, x * free * some
        norm = jnp.sqrt(jnp.vdot(f, f))
        # Nothing acts: zero is the answer, and the loop below is not entered.
        norm, x = jnp.where(norm > 0, norm, 1.0), jnp.where(norm > 0, x, 0.0)

        def product(u: Any) -> Any:
            return self.levels.apply(data["exact"], u) * free

        def unfinished(state: Any) -> Any:
            _, _, _, _, size, iteration, sound = state
            return (size > tol * norm) & (iteration < max_iterations) & sound

        def step(state: Any) -> Any:
            x, r, p, rz_old, _, iteration, _ = state
            z = self.levels.cycle(data, (r / norm).astype(jnp.float32)).astype(jnp.float64)
            rz = jnp.vdot(r, z)
            p = z + jnp.where(rz_old > 0, rz / jnp.where(rz_old > 0, rz_old, 1), 0) * p
            q = product(p)
            pq = jnp.vdot(p, q)
            sound = (rz > 0) & (pq > 0)
            alpha = jnp.where(sound, rz / jnp.where(pq > 0, pq, 1), 0)
            x, r = x + alpha * p, r - alpha * q
            return x, r, p, rz, jnp.sqrt(jnp.vdot(r, r)), iteration + 1, sound

        r = f - product(x)
        state = (x, r, jnp.zeros_like(f), jnp.zeros(()), jnp.sqrt(jnp.vdot(r, r)), 0, jnp.asarray(True))
        x, _, _, _, size, iterations, _ = lax.while_loop(unfinished, step, state)
        return x * some, iterations, size / norm

    def _inner(self, u: Any) -> Any:
        import jax.numpy as jnp

        missing = [(0, n - m) for n, m in zip(self.levels.sizes[0], self.shape, strict=True)]
        return jnp.pad(jnp.moveaxis(u, -1, 0), [(0, 0), *missing])

    def _public(self, u: Any) -> Any:
        import jax.numpy as jnp

        return jnp.moveaxis(u[(slice(None), *(slice(n + 1) for n in self.shape))], 0, -1)

    def _put(self, values: Any) -> Any:
        import jax

        return jax.device_put(np.ascontiguousarray(values, float), self.device)

    def _double(self) -> Any:
        import jax

        return jax.enable_x64(True)
