"""All steps of a time-dependent problem, forwards and back, on a tape; and the same for pairs of state and change.

The chain on the tape is s_n = (u_n, u_(n-1)), or u_n alone where a step needs no more. For Hessian actions it is the
pair (s_n, ds_n) forwards, and the pair of their cotangents back.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from pde.fem.controls_in_time import Backwards, ControlsInTime
from pde.fem.errors import FemSolverError
from pde.fem.numbering import total
from pde.fem.schemes import Scheme
from pde.fem.stepping import Equation, Step
from pde.fem.terminal import Terminal
from pde.tape import Budget, Schedule, Tape

Vector = NDArray[np.float64]


class Trajectory:
    """The compiled steps, the functions that they refer to, and for which x there are answers.

    Args:
        start: which control is the initial value, None where none is; and the initial values.
    """

    def __init__(
        self,
        equation: Equation,
        scheme: Scheme,
        controls: ControlsInTime,
        terminal: Terminal,
        duration: float,
        start: tuple[int | None, Vector],
        boundary_at: Callable[[float], None] | None,
        schedule: Schedule | Budget,
    ) -> None:
        self.equation, self.scheme, self.controls, self.terminal = equation, scheme, controls, terminal
        steps, per_step = controls.steps, controls.per_step
        self.steps, self.dt = steps, duration / steps
        self._starts, self._start = start
        self._boundary_at = boundary_at
        self._price = self.dt * scheme.weights(steps)
        first = Step(equation, scheme.first, per_step)
        self.formulas = [first] if scheme.other == scheme.first else [first, Step(equation, scheme.other, per_step)]
        gather = controls.comm.allgather if controls.comm.size > 1 else None
        self.tape, self._pairs = Tape(steps, schedule, gather=gather), Tape(steps, schedule, gather=gather)
        in_memory = isinstance(schedule, Schedule) and schedule.place == "memory" and schedule.complete(steps)
        self._keeps_states = in_memory
        self.forget()

    @property
    def times(self) -> Vector:
        return np.array([(n + self.scheme.formula(n).theta) * self.dt for n in range(self.steps)])

    def forget(self) -> None:
        self.at: Vector | None = None
        self.J_at = 0.0
        self.dJ_at: Vector | None = None
        self.tape.close()
        self._pairs.close()
        for step in self.formulas:
            step.state.forget()
            step.forget()

    def value(self, x: Vector) -> float:
        if self.at is None or not np.array_equal(self.at, x):
            self._run(x)
        self._restore(x)
        return self.J_at

    def derivative(self, x: Vector) -> Vector:
        self.value(x)
        if self.dJ_at is None:
            if not self._recorded:
                self._run(x)
            chain = _Gradient(self)
            by_u, at_end = self.terminal.derivative()
            self._recorded = False
            bar = self.tape.reverse(chain, self._cotangent(by_u))
            self._recorded = self._keeps_states
            self.dJ_at = self._collected(chain.by_m, at_end, bar[0])
            self._restore(x)
        return self.dJ_at

    def hessian(self, x: Vector, v: Vector) -> Vector:
        self.value(x)
        if not self._keeps_states:
            # What is kept for the pairs takes the place of what was kept for the states.
            self.tape.close()
            self._recorded = False
        elif not self._recorded:
            self._run(x)
        chain = _Hessian(self, v)
        change = np.zeros_like(self._first())
        lasting = self.controls.lasting(v)
        if self._starts is not None:
            change[0] = lasting[self._starts]
        last = self._pairs.record(chain, np.stack([self._first(), change]))
        self._place_last(last[0])
        self.terminal.du.x.array[:] = last[1, 0]
        for dm, values in zip(self.terminal.dms, lasting, strict=True):
            dm.x.array[:] = values
        by_u, (bent_u, bent_m) = self.terminal.derivative()[0], self.terminal.bend()
        bar = self._pairs.reverse(chain, np.stack([self._cotangent(by_u), self._cotangent(bent_u)]))
        self._pairs.close()
        H = self._collected(chain.by_m, bent_m, bar[1, 0])
        self._restore(x)
        return H

    def states(self, x: Vector) -> Iterator[tuple[float, Vector]]:
        self.value(x)
        s = self._first()
        yield 0.0, s[0].copy()
        for n in range(self.steps):
            self.value(x)  # the caller may have asked for something else meanwhile
            s = self.solve(n, s, x)
            yield (n + 1) * self.dt, s[0].copy()

    # -- one step ---------------------------------------------------------------------------------------------------

    def solve(self, n: int, s: Vector, x: Vector) -> Vector:
        """s_(n+1)

        Raises:
            FemSolverError: it was not found; names step and time.
        """
        step = self.stand(n, s, None, x)
        if self._boundary_at is not None:
            self._boundary_at((n + 1) * self.dt)
        try:
            u = step.solve(n)
        except FemSolverError as reason:
            end = (n + 1) * self.dt
            raise FemSolverError(f"step {n + 1} of {self.steps}, to t = {end:.6g}, failed: {reason}") from reason
        return np.stack([u, s[0]]) if self.scheme.depth == 2 else u[None]

    def stand(self, n: int, s: Vector, s_next: Vector | None, x: Vector) -> Step:
        """Make functions and Constants those of step n."""
        e = self.equation
        for old, values in zip(e.older, s, strict=False):
            old.x.array[:] = values
        if s_next is not None:
            e.u.x.array[:] = s_next[0]
        if e.t is not None:
            e.t.value = (n + self.scheme.formula(n).theta) * self.dt
        e.price.value = self._price[n]
        if any(self.controls.per_step):
            self.controls.set(x, n)
        return self.formulas[0] if n == 0 else self.formulas[-1]

    def fill(self, values: list[Vector], carried: Vector) -> Vector:
        """The cotangent of s_n, from those of u_n (and u_(n-1)) through the step, and that of the u_n in s_(n+1)."""
        bar = np.zeros_like(carried)
        bar[: len(values)] = values
        if self.scheme.depth == 2:
            bar[0] += carried[1]
        return bar

    # -- all steps --------------------------------------------------------------------------------------------------

    def _run(self, x: Vector) -> None:
        self.at, self.dJ_at, self._recorded = None, None, False
        self.controls.set(x, 0)
        for step in self.formulas:
            step.forget()
        sums = [0.0]

        def visit(n: int, s: Vector, s_next: Vector) -> None:
            # The functions still stand as the step has left them.
            sums[0] += self.formulas[0 if n == 0 else -1].running()

        last = self.tape.record(_Plain(self, x), self._first(), visit)
        self._place_last(last)
        self.J_at = total(self.controls.comm, sums[0] + self.terminal.value())
        self.at, self._recorded, self._last = x.copy(), True, last[0].copy()

    def _restore(self, x: Vector) -> None:
        """The functions are the caller's: whatever was written into them meanwhile, they stand for x again."""
        self.controls.set(x, self.steps - 1)
        self.equation.u.x.array[:] = self._last
        if self.equation.t is not None:
            self.equation.t.value = self.steps * self.dt

    def _first(self) -> Vector:
        s = np.zeros((self.scheme.depth, len(self._start)))
        s[0] = self._start if self._starts is None else self.controls.coefficients[self._starts].x.array
        return s

    def _place_last(self, s: Vector) -> None:
        self.equation.u.x.array[:] = s[0]
        if self.equation.t is not None:
            self.equation.t.value = self.steps * self.dt

    def _cotangent(self, by_u: Vector) -> Vector:
        bar = np.zeros_like(self._first())
        bar[0] = by_u
        return bar

    def _collected(self, by_m: Backwards, at_end: list[Vector], at_start: Vector) -> Vector:
        """The derivative by x, from those by the controls of each step, by phi and by the initial value."""
        lasting = list(at_end)
        if self._starts is not None:
            lasting[self._starts] = lasting[self._starts] + at_start
        return self.controls.gather(by_m, lasting)


class _Plain:
    """The chain of states."""

    def __init__(self, trajectory: Trajectory, x: Vector) -> None:
        self.trajectory, self.x = trajectory, x
        self.by_m = Backwards(trajectory.controls.per_step)

    def step(self, n: int, s: Vector) -> Vector:
        return self.trajectory.solve(n, s, self.x)

    def pull(self, n: int, s: Vector, s_next: Vector, bar: Vector) -> Vector:
        raise AssertionError("a run forwards is not gone back over")


class _Gradient(_Plain):
    """The chain of states, and back."""

    def __init__(self, trajectory: Trajectory) -> None:
        assert trajectory.at is not None
        super().__init__(trajectory, trajectory.at)

    def pull(self, n: int, s: Vector, s_next: Vector, bar: Vector) -> Vector:
        step = self.trajectory.stand(n, s, s_next, self.x)
        values, by_m = step.pull(n, bar[0])
        self.by_m.add(by_m)
        return self.trajectory.fill(values, bar)


class _Hessian(_Gradient):
    """The chain of pairs, and back. v : (n,), the direction."""

    def __init__(self, trajectory: Trajectory, v: Vector) -> None:
        super().__init__(trajectory)
        self.v = v

    def step(self, n: int, s: Vector) -> Vector:
        now, change = s
        after = self.trajectory.tape.state(n + 1)
        if after is None:
            after = self.trajectory.solve(n, now, self.x)
        step = self._stand(n, s, after)
        du = step.tangent(n)
        return np.stack([after, np.stack([du, change[0]]) if len(change) == 2 else du[None]])

    def pull(self, n: int, s: Vector, s_next: Vector, bar: Vector) -> Vector:
        step = self._stand(n, s, s_next[0])
        step.du.x.array[:] = s_next[1, 0]
        values, _ = step.pull(n, bar[0, 0])
        changes, by_m = step.pull_tangent(bar[1, 0])
        self.by_m.add(by_m)
        fill = self.trajectory.fill
        return np.stack([fill(values, bar[0]), fill(changes, bar[1])])

    def _stand(self, n: int, s: Vector, after: Vector) -> Step:
        step = self.trajectory.stand(n, s[0], after, self.x)
        for old, values in zip(step.d_older, s[1], strict=False):
            old.x.array[:] = values
        for dm, values in zip(step.dms, self.trajectory.controls.directions(self.v, n), strict=True):
            dm.x.array[:] = values
        return step
