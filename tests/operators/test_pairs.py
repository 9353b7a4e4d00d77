"""References: same run, within reach, never itself in evaluation; and the symmetries of the square."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.errors import OperatorError
from operators.pairs import Pairs, square_turns
from pde.problems.inversion import Inversion, Square

RUN, PLACE = np.repeat([4, 7, 9], 6), np.tile(np.arange(6), 3)


@settings(max_examples=30, deadline=None)
@given(reach=st.integers(1, 4), itself=st.booleans(), seed=st.integers(0, 99), epoch=st.integers(0, 5))
def test_references_are_near_and_of_the_same_run(reach: int, itself: bool, seed: int, epoch: int) -> None:
    pairs = Pairs(RUN, PLACE, reach, itself, seed)
    query, reference = pairs.epoch(epoch)
    assert sorted(query) == list(range(len(RUN)))
    assert (RUN[query] == RUN[reference]).all()
    assert (np.abs(PLACE[query] - PLACE[reference]) <= reach).all()
    assert itself or (query != reference).all()
    np.testing.assert_array_equal(pairs.epoch(epoch), (query, reference))


def test_epochs_differ_and_every_neighbour_is_drawn() -> None:
    pairs = Pairs(RUN, PLACE, 3)
    assert (pairs.epoch(0)[0] != pairs.epoch(1)[0]).any()
    drawn = set()
    for epoch in range(200):
        query, reference = pairs.epoch(epoch)
        drawn.add(int(PLACE[reference[query == 9]][0]))
    assert drawn == {0, 1, 2, 3, 4, 5}  # sample 9 is at place 3


def test_evaluation_is_fixed_and_needs_two_iterates() -> None:
    pairs = Pairs(RUN, PLACE, 3, itself=False)
    np.testing.assert_array_equal(pairs.fixed(), pairs.fixed())
    with pytest.raises(OperatorError, match="one iterate only"):
        Pairs(np.array([0, 1, 1]), np.array([0, 0, 1]), itself=False)
    with pytest.raises(OperatorError, match="at least 1"):
        Pairs(RUN, PLACE, 0)


def test_turns_are_the_group_of_the_square_and_map_the_family_onto_itself() -> None:
    square = Square.of(6)
    turns = square_turns(6)
    assert len({tuple(turn) for turn in turns}) == 8
    np.testing.assert_array_equal(turns[0], np.arange(49))
    group = {tuple(turn) for turn in turns}
    assert all(tuple(a[b]) in group for a in turns for b in turns)
    problem, start = Inversion.member(square, 0)
    u = problem.solve(start)
    for turn in turns:
        np.testing.assert_allclose(problem.solve(start[turn]), u[turn], rtol=1e-10, atol=1e-14)
