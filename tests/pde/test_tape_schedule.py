"""Binomial checkpointing: every step gone back over once, never more snapshots than allowed, never a step too many."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pde.tape import Schedule, TapeError, actions, least_steps, repeated_steps, revolve
from pde.tape.schedule import Advance, Drop, Load, Reverse, Store, Turn


@cache
def fewest(steps: int, snapshots: int) -> int:
    """The recursion that the closed form solves (Griewank and Walther 2000), by trying every place of a snapshot."""
    if steps == 1:
        return 0
    if snapshots == 1:
        return steps * (steps - 1) // 2
    return min(h + fewest(steps - h, snapshots - 1) + fewest(h, snapshots) for h in range(1, steps))


def play(steps: int, snapshots: int) -> tuple[int, int, list[int]]:
    """Act out a schedule on numbers; how many steps it took, most snapshots at once, steps gone back over."""
    slots: dict[int, int] = {}
    here, after, taken, most, reversed_ = 0, -1, 0, 0, []
    turned = False
    for action in actions(steps, snapshots):
        match action:
            case Store(n, slot):
                assert n == here and slot == len(slots)
                slots[slot] = n
            case Advance(start, stop):
                assert start == here < stop
                taken += stop - start
                if stop == steps:
                    assert start == steps - 1 and not turned
                    after = steps
                else:
                    here = stop
            case Turn():
                turned = True
            case Load(n, slot):
                assert slots[slot] == n
                here = n
            case Reverse(n):
                assert turned and here == n and after == n + 1
                reversed_.append(n)
                after = n
            case Drop(n, slot):
                assert slot == len(slots) - 1
                assert slots.pop(slot) == n
        most = max(most, len(slots))
    assert not slots
    return taken, most, reversed_


@given(st.integers(1, 300), st.integers(1, 40))
def test_every_step_is_reversed_once_within_the_snapshots_and_no_step_is_wasted(steps, snapshots):
    taken, most, reversed_ = play(steps, snapshots)
    assert reversed_ == list(range(steps))[::-1]
    assert most <= snapshots
    assert taken == least_steps(steps, snapshots) + 1  # the last step too is taken once
    assert taken - steps == repeated_steps(steps, snapshots)


@given(st.integers(1, 60), st.integers(1, 12))
def test_closed_form_is_the_minimum_over_all_schedules(steps, snapshots):
    assert least_steps(steps, snapshots) == fewest(steps, snapshots)


def test_known_numbers():
    # binomial(c + r, c) steps with c snapshots repeat no step more than r times: 3 + 3 over 3 = 20, r = 3.
    assert least_steps(20, 3) == 3 * 20 - 15
    assert least_steps(10, 3) == 2 * 10 - 5
    assert [repeated_steps(steps, 1) for steps in (1, 2, 5)] == [0, 0, 6]
    assert repeated_steps(1000, 999) == 0
    assert repeated_steps(1000, 998) == 1
    assert repeated_steps(1000, 10) == 4 * 1000 - 364 - 999


@pytest.mark.parametrize("steps", [1, 2, 3, 50])
def test_all_kept_means_nothing_computed_again(steps):
    schedule = Schedule()
    taken, most, _ = play(steps, schedule.slots(steps))
    assert schedule.complete(steps)
    assert taken == steps
    assert most == max(1, steps - 1)
    assert not revolve(7).complete(50)


def test_schedules_that_cannot_be():
    with pytest.raises(TapeError, match="at least 1"):
        revolve(0)
    with pytest.raises(TapeError, match="no place 'tape'"):
        Schedule(place="tape")  # pyright: ignore[reportArgumentType]
