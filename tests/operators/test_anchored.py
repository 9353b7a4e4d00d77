"""What all queries from one anchor share is worked out once, and no bit of an answer depends on that."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from operators.models import Operator, build
from operators.surrogates import Vector
from operators.surrogates.neural import Neural, Viewed
from operators.view import Anchor, predict
from tests.operators.small import CELLS, data, member, operator, view

KINDS = ("fno", "virtual_fourier", "physics_attention", "subspace_attention")
SIDE = CELLS // 2 + 1


def made(kind: str, output: str = "increment", homogeneous: bool = False) -> Operator:
    settings = replace(
        operator(output).settings,
        kind=kind,  # pyright: ignore[reportArgumentType]
        grid=(SIDE, SIDE) if kind == "fno" else None,
        frequencies=0 if kind == "fno" else 2,
        homogeneous=homogeneous,
    )
    model, (learnt, _) = build(settings, (0, 1, 2), seed=1), data()
    with torch.no_grad():
        model.fit(view().features(learnt.design), view().down(learnt.state))
    return model.eval()


def solved() -> tuple[Vector, Vector, list[Vector]]:
    """An anchor with its state, and designs about it."""
    problem, start = member(9).problem, member(9).start
    rng = np.random.default_rng(0)
    return start, problem.solve(start), [start + 0.3 * rng.standard_normal(problem.n) for _ in range(3)]


def repeated(model: Operator, x: Vector, u: Vector, query: Vector, w: Vector) -> tuple[Vector, Vector]:
    """State and pull-back with both passes made anew."""
    x_r, u_r, design = (torch.as_tensor(values, dtype=torch.float32)[None] for values in (x, u, query))
    design.requires_grad_()
    state = predict(model, view(), design, Anchor(x_r, u_r))
    cotangent = torch.as_tensor(w, dtype=torch.float32)[None]
    (slope,) = torch.autograd.grad(state, design, cotangent)
    return state[0].detach().double().numpy(), slope[0].double().numpy()


@contextmanager
def passes(model: Operator) -> Iterator[list[int]]:
    """The passes of the network while this is open, one entry each."""
    psi: Any = model.inner.psi
    last: nn.Module = psi.net if model.settings.kind == "fno" else psi.blocks[-1]
    counted: list[int] = []
    hook = last.register_forward_hook(lambda *_: counted.append(1))
    try:
        yield counted
    finally:
        hook.remove()


@pytest.mark.parametrize("homogeneous", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_have_the_bits_of_two_passes(kind: str, homogeneous: bool) -> None:
    model, (x, u, queries) = made(kind, homogeneous=homogeneous), solved()
    surrogate = Viewed(model, view())
    surrogate.anchor(x, u)
    w = np.random.default_rng(1).standard_normal(len(u))
    for query in (x, *queries):
        state, pull = surrogate.state(query)
        expected, slope = repeated(model, x, u, query, w)
        np.testing.assert_array_equal(state, expected)
        np.testing.assert_array_equal(pull(w), slope)


@pytest.mark.parametrize("kind", KINDS)
def test_an_increment_takes_one_pass_per_query_and_one_per_anchor(kind: str) -> None:
    model, (x, u, queries) = made(kind), solved()
    surrogate = Viewed(model, view())
    with passes(model) as counted:
        surrogate.anchor(x, u)
        assert len(counted) == 1
        for query in queries:
            surrogate.state(query)
        assert len(counted) == 1 + len(queries)
        repeated(model, x, u, x, u)
        assert len(counted) == 1 + len(queries) + 2


@pytest.mark.parametrize("referred", [False, True])
def test_a_state_shares_nothing(referred: bool) -> None:
    model, (x, u, queries) = made("virtual_fourier", "state"), solved()
    surrogate = Viewed(model, view(), referred=referred)
    with passes(model) as counted:
        surrogate.anchor(x, u)
        surrogate.state(queries[0])
    assert len(counted) == 1


def test_a_new_anchor_is_worked_out_anew() -> None:
    model, (x, u, queries) = made("fno"), solved()
    problem, surrogate, w = member(9).problem, Viewed(model, view()), np.ones(len(u))
    surrogate.anchor(x, u)
    surrogate.state(queries[0])
    other = problem.solve(queries[1])
    surrogate.anchor(queries[1], other)
    np.testing.assert_array_equal(surrogate.state(queries[0])[0], repeated(model, queries[1], other, queries[0], w)[0])


def test_the_surrogate_without_a_view_does_the_same() -> None:
    model, (x, u, queries) = made("physics_attention"), solved()
    there = view()
    seen = there.down(torch.as_tensor(u, dtype=torch.float32)[None])[0].numpy()
    surrogate = Neural(model, lambda design: there.features(design[None]), seen.shape)
    with passes(model) as counted:
        surrogate.anchor(x, seen)
        found = [surrogate.state(query)[0] for query in queries]
        assert len(counted) == 1 + len(queries)
    for query, state in zip(queries, found, strict=True):
        features = there.features(torch.as_tensor(query, dtype=torch.float32)[None])
        with torch.no_grad():
            expected = model(features, surrogate.reference)
        np.testing.assert_array_equal(state, expected.double().numpy().ravel())
