"""One product K(E) u for trilinear elasticity: generated mode-space kernels, numba, JAX, SciPy's sparse matrix.

`ours_s` and `peer_s` are seconds per product in double precision on one thread against SciPy's CSR matrix; the table
`ns_per_element` has the rest; `gpu` is in the same unit, "not run" where JAX sees none. JAX and SciPy choose their own
threads. `agree`: all products equal SciPy's to 1e-12 (double) and 1e-5 (single precision).
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, Literal

import numba
import numpy as np
import scipy.sparse as sp

from pde.grid import Elasticity, Grid, System
from pde.grid.jax_engine import JaxEngine
from pde.grid.native.engine import Native
from pde.grid.native.library import address, room


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks operator")
    parser.add_argument("--grid", default="64x32x32")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args(argv)
    shape = tuple(int(n) for n in options.grid.split("x"))
    rng = np.random.default_rng(0)
    grid, physics, modulus = Grid(shape), Elasticity(0.3, "standard"), 1e-3 + rng.random(shape)
    fixed = np.zeros((*grid.node_shape, 3), bool)
    fixed[0] = True
    u = np.where(fixed, 0.0, rng.normal(size=fixed.shape))
    table: dict[str, float] = {}

    matrix = assembled(grid, physics, modulus)
    flat = u.ravel()
    expected = np.where(fixed, 0, (matrix @ flat).reshape(u.shape))
    table["scipy csr fp64"], products = best(lambda: matrix @ flat, options.repeat), []
    for threads in (1, 2):
        system = System(grid, physics, fixed, "native", threads)
        system.update(modulus)
        engine = system.engine
        assert isinstance(engine, Native)
        operator, layout = engine.operator, engine.layout
        v, out = layout.vector(u), layout.vector()
        table[f"native fp64, {threads} threads"] = best(lambda o=operator, a=v, b=out: o.apply(a, b), options.repeat)
        products.append((layout.public(out), 1e-12))
        single = room(layout.nodal, np.float32)
        operator.hierarchy.levels[0].z[...] = v
        arguments = (operator.finest, operator.hierarchy.scratch, address(single))
        table[f"native fp32, {threads} threads"] = best(
            lambda o=operator, a=arguments: o.library.apply_f(*a), options.repeat
        )
        products.append((layout.public(single) * modulus.max(), 1e-5))
    for threads in (1, min(2, len(os.sched_getaffinity(0)))):
        numba.set_num_threads(threads)
        portable, value = portable_product(grid, physics, fixed, modulus, u)
        table[f"numba fp64, {threads} threads"] = best(portable, options.repeat)
        products.append((value, 1e-12))
    gpu: Any = "not run"
    if not options.no_jax:
        for name, product, value in (
            ("jax fp64", *jax_mode_product(grid, physics, fixed, modulus, u, "cpu")),
            ("jax einsum fp32", *jax_product(grid, physics, modulus, u)),
        ):
            table[name] = best(product, options.repeat)
            products.append((np.where(fixed, 0, value), 1e-12 if "64" in name else 1e-5))
        if has_gpu():
            product, value = jax_mode_product(grid, physics, fixed, modulus, u, "gpu")
            gpu = round(best(product, options.repeat) / grid.size * 1e9, 3)
            products.append((np.where(fixed, 0, value), 1e-12))
    agree = all(np.abs(p - expected).max() <= tol * np.abs(expected).max() for p, tol in products)
    ours, peer = table["native fp64, 1 threads"], table["scipy csr fp64"]
    return {
        "name": "operator",
        "peer": "scipy csr, one thread",
        "ours_s": ours,
        "peer_s": peer,
        "ratio": round(ours / peer, 4),
        "ours": round(ours / grid.size * 1e9, 2),
        "theirs": round(peer / grid.size * 1e9, 2),
        "agree": bool(agree),
        "grid": options.grid,
        "ns_per_element": {name: round(seconds / grid.size * 1e9, 2) for name, seconds in table.items()},
        "gpu": gpu,
        "load_average": os.getloadavg()[0],
    }


def best(call: Callable[[], Any], repeat: int) -> float:
    """Seconds of the fastest call: the machine may be busy with other things."""
    call()
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def assembled(grid: Grid, physics: Elasticity, modulus: np.ndarray) -> sp.csr_matrix:
    nodes = grid.element_nodes().reshape(grid.size, -1).astype(np.int32)
    dofs = (nodes[:, :, None] * 3 + np.arange(3, dtype=np.int32)).reshape(grid.size, -1)
    K = physics.element_matrix(grid.spacing)  # type: ignore[arg-type]
    n = dofs.shape[1]
    values = (modulus.ravel()[:, None] * K.ravel()).ravel()
    size = 3 * int(np.prod(grid.node_shape))
    pairs = (np.repeat(dofs, n, axis=1).ravel(), np.tile(dofs, n).ravel())
    return sp.csr_matrix(sp.coo_matrix((values, pairs), shape=(size, size)))


def portable_product(
    grid: Grid, physics: Elasticity, fixed: np.ndarray, modulus: np.ndarray, u: np.ndarray
) -> tuple[Callable, np.ndarray]:
    """The kernels for machines without a C compiler."""
    system = System(grid, physics, fixed, "numba")
    system.update(modulus)
    assert isinstance(system.engine, Native)
    operator, layout = system.engine.operator, system.engine.layout
    v, out = layout.vector(u), layout.vector()
    operator.apply(v, out)
    return lambda: operator.apply(v, out), layout.public(out).copy()


def jax_mode_product(
    grid: Grid,
    physics: Elasticity,
    fixed: np.ndarray,
    modulus: np.ndarray,
    u: np.ndarray,
    device: Literal["cpu", "gpu"],
) -> tuple[Callable, np.ndarray]:
    """The operator of the JAX back-end, in double precision; supports are left to the caller."""
    import jax

    engine = JaxEngine(grid.shape, physics.element_matrix(tuple(grid.steps.tolist())), fixed, device)
    with jax.enable_x64(True):
        E, v = (jax.device_put(values, engine.device) for values in (modulus, u))
        product = jax.jit(engine.apply_on_device)
        value = np.asarray(product(E, v))

    def call() -> None:
        with jax.enable_x64(True):
            product(E, v).block_until_ready()

    return call, value


def has_gpu() -> bool:
    import jax

    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:
        return False


def jax_product(grid: Grid, physics: Elasticity, modulus: np.ndarray, u: np.ndarray) -> tuple[Callable, np.ndarray]:
    """The usual way on accelerators: gather 24 values per element, one dense product, scatter."""
    import jax
    import jax.numpy as jnp

    K = jnp.asarray(physics.element_matrix(grid.spacing), jnp.float32)  # type: ignore[arg-type]
    E, v = jnp.asarray(modulus, jnp.float32), jnp.asarray(u, jnp.float32)
    windows = [
        tuple(slice(o, o + n) for o, n in zip(offset, grid.shape, strict=True)) for offset in grid.corner_offsets
    ]

    @jax.jit
    def product(E: Any, v: Any) -> Any:
        gathered = jnp.stack([v[w] for w in windows], axis=-2).reshape(*grid.shape, 24)
        forces = (E[..., None] * jnp.einsum("xyza,ab->xyzb", gathered, K)).reshape(*grid.shape, 8, 3)
        out = jnp.zeros_like(v)
        for corner, window in enumerate(windows):
            out = out.at[window].add(forces[..., corner, :])
        return out

    return lambda: product(E, v).block_until_ready(), np.asarray(product(E, v))
