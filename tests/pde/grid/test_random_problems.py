"""Whatever the grid, the element, the supports and the moduli: the native answer is that of the factorisation."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pde.grid import Conduction, Elasticity, Grid, Physics, System

SHAPES = st.one_of(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
)
ELASTIC = st.builds(
    Elasticity,
    st.sampled_from([-0.3, 0.0, 0.2, 0.3, 0.45]),
    st.sampled_from(["standard", "incompatible"]),
    st.sampled_from(["stress", "strain"]),
)


@settings(max_examples=60)
@given(
    shape=SHAPES,
    physics=st.one_of(ELASTIC, st.just(Conduction())),
    spacing=st.sampled_from([1.0, 0.3]),
    field=st.sampled_from(["uniform", "random", "porous"]),
    support=st.sampled_from(["face", "scattered"]),
    seed=st.integers(0, 2**16),
)
def test_native_is_direct(
    shape: tuple[int, ...], physics: Physics, spacing: float, field: str, support: str, seed: int
) -> None:
    grid, rng = Grid(shape, spacing), np.random.default_rng(seed)
    dofs = physics.dofs_per_node(grid.dim)
    fixed = np.zeros((*grid.node_shape, dofs), bool)
    fixed[0] = True
    if support == "scattered":
        fixed[tuple(rng.integers(0, n + 1, size=6) for n in shape)] = True
    force = rng.normal(size=fixed.shape) * (rng.random(fixed.shape) < 0.2)
    modulus = {
        "uniform": lambda: np.ones(shape),
        "random": lambda: 1e-9 + rng.random(shape) ** 3,
        "porous": lambda: np.where(rng.random(shape) < 0.7, 1.0, 1e-4),
    }[field]()
    expected = System(grid, physics, fixed, "direct").solve(modulus, force).u
    solution = System(grid, physics, fixed, "native", threads=1).solve(modulus, force, tol=1e-10, max_iterations=1000)
    work, reference = (solution.u * force).sum(), (expected * force).sum()
    assert abs(work - reference) <= 1e-8 * abs(reference)
    assert not solution.u[fixed].any()
