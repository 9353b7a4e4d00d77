"""The tape: a long chain of steps is run forwards once, then gone back over, whatever is kept of it on the way.

    s_(n+1) = step(n, s_n),    n = 0, ..., l - 1

`step` must give the same bits for the same state; then derivatives have the same bits for every schedule.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from optim.arrays import Array, namespace
from pde.tape.errors import TapeError
from pde.tape.planner import Budget, Plan, Timing, plan
from pde.tape.schedule import Action, Advance, Drop, Load, Place, Reverse, Schedule, Store, Turn, actions
from pde.tape.stores import Snapshots, make, room_on_disk


class Chain(Protocol):
    """What is done in each step. States and cotangents are arrays of NumPy, torch or JAX."""

    def step(self, n: int, s: Array) -> Array:
        """s_(n+1), a new array; s stays as it is."""
        ...

    def pull(self, n: int, s: Array, s_next: Array, bar: Array) -> Array:
        """The cotangent of s_n from that of s_(n+1): (ds_(n+1)/ds_n)^T bar.

        What else hangs on the step (a term of the objective, the derivative by parameters) is added here by the chain.
        """
        ...


class Tape:
    """Runs chains of `steps` steps, and goes back over them.

        tape = Tape(steps=1000, schedule=revolve(20))
        last = tape.record(chain, first)
        bar_first = tape.reverse(chain, bar_last)

    Args:
        steps: l, at least 1.
        schedule: what is kept, or a `Budget` from which the planner finds it when the first chain is recorded.
        folder: where snapshots on disk go: a temporary folder is made in it, and removed. None: the system's.
        gather: where several processes hold a part of each state and run their tapes together: what one of them knows
            -> what all know, in the same order on each (`allgather` of MPI). They then decide alike. None: one process.

    Attributes:
        plan: what the planner decided; None before, and where a schedule was given.
        replayed: steps computed again since this was made.

    Raises:
        TapeError: there are no steps.
    """

    def __init__(
        self,
        steps: int,
        schedule: Schedule | Budget | None = None,
        folder: Path | None = None,
        gather: Callable[[Any], list[Any]] | None = None,
    ) -> None:
        if steps < 1:
            raise TapeError(f"a tape of {steps} steps holds nothing: take at least one step")
        self.steps, self.folder, self._gather = steps, folder, gather or (lambda known: [known])
        self.plan: Plan | None = None
        self._asked = Schedule() if schedule is None else schedule
        self.schedule = self._asked if isinstance(self._asked, Schedule) else None
        self.replayed = 0
        self._stores: dict[Place, Snapshots] = {}
        self._rest: list[Action] = []
        self._pair: tuple[Array, Array] | None = None

    def record(self, chain: Chain, first: Array, visit: Callable[[int, Array, Array], None] | None = None) -> Array:
        """Run forwards.

        Args:
            first: s_0. visit: called once per step with n, s_n and s_(n+1), in order; not when steps are repeated.

        Returns:
            s_l.

        Raises:
            TapeError: no room for the snapshots; the tape is then empty. Whatever `step` raises, likewise.
        """
        self.close()
        s = namespace(first).private(first)
        schedule = self._settle(chain, s)
        script = actions(self.steps, schedule.slots(self.steps))
        try:
            for action in script:
                match action:
                    case Store(_, slot):
                        self._store(slot).put(slot, s)
                    case Advance(start, stop):
                        for n in range(start, stop):
                            s_next = chain.step(n, s)
                            if visit is not None:
                                visit(n, s, s_next)
                            if n == self.steps - 1:
                                self._pair = (s, s_next)
                            s = s_next
                    case _:
                        break
        except BaseException:
            self.close()
            raise
        self._rest = list(script)
        assert self._pair is not None
        return self._pair[1]

    def reverse(self, chain: Chain, bar: Array) -> Array:
        """Go back over the chain that was recorded last. bar : the cotangent of s_l -> that of s_0.

        Where every state is kept this can be done again; otherwise the tape is then empty.

        Raises:
            TapeError: nothing is recorded. Whatever `step` and `pull` raise; the tape is then empty.
        """
        if self._pair is None or self.schedule is None:
            raise TapeError("the tape is empty: record the run before going back over it")
        again = self.schedule.complete(self.steps)
        (s, s_next), reached = self._pair, self.steps
        if not again:
            self._pair = None
        try:
            for action in self._rest:
                match action:
                    case Store(_, slot):
                        self._store(slot).put(slot, s)
                    case Advance(start, stop):
                        for n in range(start, stop):
                            s = chain.step(n, s)
                        self.replayed += stop - start
                    case Load(n, slot):
                        s = self._store(slot).get(slot)
                        if n == reached - 1 and slot:  # s_n is used at once, and the one below it next
                            self._store(slot - 1).expect(slot - 1)
                    case Reverse(n):
                        bar = chain.pull(n, s, s_next, bar)
                        s_next, reached = s, n
                    case Drop(_, slot):
                        if not again:
                            self._store(slot).drop(slot)
                    case Turn():
                        pass
        except BaseException:
            self.close()
            raise
        if not again:
            self.close()
        return bar

    def state(self, n: int) -> Array | None:
        """s_n of the chain that was recorded last, if every state is kept; else None."""
        if self._pair is None or self.schedule is None or not self.schedule.complete(self.steps):
            return None
        return self._pair[n - self.steps + 1] if n >= self.steps - 1 else self._store(n).get(n)

    def close(self) -> None:
        """Forget all states, and remove their files."""
        self._pair, self._rest = None, []
        stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()

    def _settle(self, chain: Chain, first: Array) -> Schedule:
        """The schedule; with the first state at hand its size is known."""
        sizes, rooms = zip(*self._gather((first.nbytes, room_on_disk(self.folder))), strict=True)
        size, room = max(sizes), min(rooms)
        if self.schedule is None:
            budget = self._asked
            assert isinstance(budget, Budget)
            timing = budget.timing or Timing.measured(chain, first, budget.offload, self.folder)
            self.plan = plan(self.steps, size, budget, Timing.slowest(self._gather(timing)), room)
            self.schedule = self.plan.schedule
        on_disk = sum(self.schedule.place_of(slot) == "disk" for slot in range(self.schedule.slots(self.steps)))
        if on_disk and on_disk * size > room:
            raise TapeError(
                f"{on_disk} snapshots of {size / 2**20:.1f} MiB do not fit on the disk, which has "
                f"{room / 2**20:.0f} MiB free: keep fewer, or name another folder"
            )
        return self.schedule

    def _store(self, slot: int) -> Snapshots:
        assert self.schedule is not None
        place = self.schedule.place_of(slot)
        if place not in self._stores:
            self._stores[place] = make(place, self.folder)
        return self._stores[place]
