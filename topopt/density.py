"""Density-based design: one number per element, filtered, projected, penalised, and improved by OC or MMA.

    x  --filter-->  x~  --projection-->  rho  --SIMP-->  E  --solve-->  u  -->  c = f.u

The volume of the projected field equals that of the filtered one (`projection.volume_preserving`), so the volume
constraint is linear in x and met at every iterate. Its threshold depends on x, which the chain rule must know:
with r = d rho/d x~ at fixed eta and q = d rho/d eta, holding sum(v rho) = sum(v x~) gives

    dc/dx~ = c_rho r + (sum c_rho q / sum v q) v (1 - r).

A design run is `setup / step / save / load / finish`: `DensityDesign.start`, `.step`, `State.save`, `State.load`,
`.finish`; `optimize` hands them to `optim.minimize`. What a step minimises is posed in `topopt.functional`.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import optim
from optim import prepared
from optim.design import MMA, OptimalityCriteria, mma, oc
from pde.grid import System
from pde.grid.system import Backend
from topopt.errors import DesignError
from topopt.filters import ConeFilter
from topopt.functional import ComplianceFunctional, posed
from topopt.interpolation import SIMP
from topopt.problem import Problem, check
from topopt.projection import Tanh, grey_measure, volume_preserving
from topopt.responses.compliance import Compliance, Evaluation

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Continuation:
    """How the projection is sharpened: `first` steps at the first beta, then `steps` at each of the others.

    A run may end as soon as the grey measure is below `grey` at the end of a stage.
    """

    betas: tuple[float, ...] = (1, 2, 4, 8, 16, 32, 64, 128)
    first: int = 16
    steps: int = 8
    grey: float = 0.005


@dataclass(frozen=True)
class Settings:
    """Everything the method may be told.

    Args:
        method: "oc", optimality criteria, or "mma", the method of moving asymptotes.
        filter: "density" filters the design, "sensitivity" its derivatives (the classical heuristic).
        radius: of the cone filter, mm.
        penalty, e_min: of SIMP.
        move: largest change of a variable in one step.
        change: the run ends when no variable changes more.
        max_iterations: and at the latest then.
        projection: sharpening; None leaves the filtered field as it is.
        symmetry: axes whose middle plane mirrors the design.
        tolerance: relative residual of the solves on the way; the last one is solved to 1e-8.
        volume_tolerance: relative width at which the bisection of "oc" for the multiplier stops.
        backend: of `pde.grid.System`.
    """

    method: Literal["oc", "mma"] = "oc"
    filter: Literal["density", "sensitivity"] = "density"
    radius: float = 1.5
    penalty: float = 3.0
    e_min: float = 1e-9
    move: float = 0.2
    change: float = 0.01
    max_iterations: int = 200
    projection: Continuation | None = None
    symmetry: tuple[int, ...] = ()
    tolerance: float = 1e-8
    volume_tolerance: float = 1e-3
    backend: Backend = "auto"


@dataclass(frozen=True)
class Info:
    """One line of the history: the design before the step, and what the step did.

    volume is a fraction of the body; grey is the mean of 4 rho (1 - rho) over the free elements; change is the largest
    change of a variable; seconds is the wall time of the step.
    """

    iteration: int
    compliance: float
    volume: float
    change: float
    grey: float
    beta: float
    cg_iterations: int
    seconds: float


@dataclass(frozen=True)
class State:
    """Where a run is; saved and loaded bit for bit.

    Attributes:
        x: (*shape,) design variables. u: (cases, *node_shape, dofs) last displacements, the next warm start.
        stage, stage_step: of the continuation. done: nothing is left to do.
        memory: what the method remembers, name -> (free elements,) or (1,).
    """

    x: Field
    u: Field | None
    iteration: int = 0
    stage: int = 0
    stage_step: int = 0
    done: bool = False
    history: tuple[Info, ...] = ()
    memory: dict[str, Field] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write as .npz; `path` is complete or unchanged when this returns."""
        numbers = {k: getattr(self, k) for k in ("iteration", "stage", "stage_step", "done")}
        numbers["history"] = [asdict(info) for info in self.history]
        arrays = {"x": self.x} if self.u is None else {"x": self.x, "u": self.u}
        arrays |= {f"memory.{name}": array for name, array in self.memory.items()}
        temporary = path.with_name(path.name + ".part")
        try:
            with temporary.open("wb") as file:
                np.savez(file, allow_pickle=False, numbers=np.array(json.dumps(numbers)), **arrays)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> "State":
        with np.load(path, allow_pickle=False) as data:
            numbers = json.loads(str(data["numbers"]))
            history = tuple(Info(**row) for row in numbers.pop("history"))
            memory = {name.removeprefix("memory."): data[name] for name in data if name.startswith("memory.")}
            return cls(data["x"], data.get("u"), history=history, memory=memory, **numbers)


@dataclass(frozen=True)
class Result:
    """A finished design.

    Attributes:
        rho: (*shape,) physical densities in [0, 1]; zero outside the body.
        u: (cases, *node_shape, dofs) displacements under the loads.
        energy: (*shape,) weighted strain energy density times two, for pictures.
        compliance: of `rho`, solved to 1e-8. per_case: without the weights.
        volume_fraction: of the body. converged: by change or by grey, not by running out of iterations.
    """

    problem: Problem
    settings: Settings
    rho: Field
    u: Field
    energy: Field
    compliance: float
    per_case: tuple[float, ...]
    volume_fraction: float
    grey: float
    converged: bool
    history: tuple[Info, ...] = field(repr=False)

    @property
    def iterations(self) -> int:
        return len(self.history)

    @property
    def volume(self) -> float:
        """Of the material, mm3."""
        return self.volume_fraction * self.problem.body_volume

    def export(self, path: str | Path) -> Path:
        """Write the design as a closed body; the suffix (.stl, .3mf, .glb, .step, .vtu) decides the format."""
        from topopt.cad.export import export_result

        return export_result(self, Path(path))


class DensityDesign:
    """The method, bound to one problem.

    Raises:
        DesignError: the problem or the settings cannot be right; see `problem.check`.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        check(problem)
        self.problem, self.settings = problem, settings
        spacing = tuple(problem.grid.steps)
        system = System(problem.grid, problem.physics, problem.fixed, settings.backend)
        self.response = Compliance(problem, SIMP(settings.penalty, settings.e_min), system)
        self.filter = ConeFilter(settings.radius, spacing, problem.filled > 0)
        self.volumes = problem.filled * problem.free
        self.target = problem.volume_fraction * problem.filled.sum() - (problem.filled * problem.kept).sum()
        pulled = self.filter.vjp(self.volumes) if settings.filter == "density" else self.volumes
        self.dv = symmetric(pulled, settings.symmetry)[problem.free]
        self._check_symmetry()

    def start(self) -> State:
        """The uniform design that meets the volume."""
        p = self.problem
        # The filter sees the kept elements as solid, so the free ones start a little below the plain mean.
        uniform = min(1.0, max(0.0, self.target / self.volumes.sum()))
        return State(np.where(p.kept, 1.0, np.where(p.free, uniform, 0.0)), None)

    def step(self, state: State) -> tuple[State, Info]:
        """Evaluate the design and improve it once."""
        began = time.perf_counter()
        functional = ComplianceFunctional(self, state, self.settings.tolerance)
        x, memory = self._improve(state, functional)
        seen = functional.last
        assert seen is not None
        change = float(np.abs(x - state.x).max())
        info = Info(
            state.iteration + 1,
            seen.look.compliance,
            self.volume_fraction(seen.rho),
            change,
            grey_measure(seen.rho[self.problem.free]),
            seen.projection.beta if seen.projection else 0.0,
            seen.look.iterations,
            time.perf_counter() - began,
        )
        moved = replace(
            state, x=x, u=seen.look.u, iteration=info.iteration, history=(*state.history, info), memory=memory
        )
        return self._advance(moved, info), info

    def density(self, state: State) -> tuple[Field, Field, Tanh | None]:
        """Filtered field, physical density (both (*shape,)), and the projection between them."""
        p, s = self.problem, self.settings
        filtered = self.filter(state.x) if s.filter == "density" else state.x
        if s.projection is None:
            return filtered, self._with_kept(filtered), None
        beta = s.projection.betas[state.stage]
        projection = volume_preserving(filtered[p.free], self.volumes[p.free], beta)
        return filtered, self._with_kept(projection(filtered)), projection

    def steps_left(self, state: State) -> int:
        """How many steps a run like this still takes at most, or until the projection is usually sharp enough."""
        plan, most = self.settings.projection, self.settings.max_iterations - state.iteration
        if state.done:
            return 0
        if plan is None:
            return most
        usual = max(state.stage + 1, sum(beta <= 32 for beta in plan.betas))
        length = plan.first if state.stage == 0 else plan.steps
        return min(most, length - state.stage_step + (usual - state.stage - 1) * plan.steps)

    def volume_fraction(self, rho: Field) -> float:
        return float((rho * self.problem.filled).sum() / self.problem.filled.sum())

    def finish(self, state: State) -> Result:
        """Solve the last design accurately and hand it over."""
        _, rho, _ = self.density(state)
        look: Evaluation = self.response(rho, state.u, 1e-8)
        grey = grey_measure(rho[self.problem.free])
        system = self.response.system
        energy = sum(w * system.energies(u) for w, u in zip(self.problem.weights, look.u, strict=True))
        energy = energy * self.response.modulus(rho) / self.problem.grid.element_volume
        return Result(
            self.problem,
            self.settings,
            rho,
            look.u,
            energy,
            look.compliance,
            look.per_case,
            self.volume_fraction(rho),
            grey,
            state.done and state.iteration < self.settings.max_iterations,
            state.history,
        )

    def gradient(self, x: Field, filtered: Field, projection: Tanh | None, dc_drho: Field) -> Field:
        """Pull dc/drho back to the design variables, through projection and filter. All (*shape,)."""
        if self.settings.filter == "sensitivity":
            return self.filter.sensitivity(x, dc_drho)
        dc_drho = np.where(self.problem.free, dc_drho, 0.0)
        if projection is not None:
            r, q = projection.derivative(filtered), projection.eta_derivative(filtered)
            shift = float(np.vdot(dc_drho, q) / np.vdot(self.volumes, q))
            dc_drho = dc_drho * r + shift * self.volumes * (1 - r)
        return self.filter.vjp(dc_drho)

    def free_target(self, x: Field) -> float:
        """Volume left for the free variables, once the filter has spread the kept ones."""
        if self.settings.filter == "sensitivity":
            return self.target
        spread = float(np.vdot(self.volumes, self.filter(np.where(self.problem.kept, 1.0, 0.0))))
        return self.target - spread

    def _improve(self, state: State, functional: ComplianceFunctional) -> tuple[Field, dict[str, Field]]:
        """One step of the method from the design as it is evaluated now; -> new x (*shape,) and what to remember."""
        s, free = self.settings, self.problem.free
        at = state.x[free]
        problem = prepared.prepare(posed(functional), at, np.ones(2))
        now = problem.look(at)
        # Once the topology is there, smaller steps keep a sharp projection from overshooting.
        beta = s.projection.betas[state.stage] if s.projection else 0.0
        move = s.move / 2 if beta >= 4 else s.move
        if s.method == "oc":
            method = OptimalityCriteria(move=move, tolerance=s.volume_tolerance)
            proposed, memory = method.propose(problem, oc.State(at, now, np.zeros(1))), {}
        else:
            first = state.history[0].compliance if state.history else now.f
            now = problem.rescale(now, np.array([10 / first, 1 / self.free_target(state.x)]))
            # A steep projection bends the compliance; closer asymptotes keep the first steps of a stage from bouncing.
            method = MMA(move=move, asymptote=0.5 / (1 + beta) ** 0.5)
            proposed = method.propose(problem, _remembered(state, at, now))
            names = ("lam", "before", "before_that", "low", "upp")
            memory = {name: getattr(proposed, name) for name in names} | {"steps": np.array([float(proposed.steps)])}
        x = state.x.copy()
        x[free] = proposed.x
        return x, memory

    def _advance(self, state: State, info: Info) -> State:
        s, plan = self.settings, self.settings.projection
        if state.iteration >= s.max_iterations:
            return replace(state, done=True)
        if plan is None:
            return replace(state, done=info.change <= s.change)
        length = plan.first if state.stage == 0 else plan.steps
        if state.stage_step + 1 < length and info.change > s.change:
            return replace(state, stage_step=state.stage_step + 1)
        last = state.stage + 1 == len(plan.betas)
        if last or (info.grey <= plan.grey and plan.betas[state.stage] >= 8):
            return replace(state, done=True)
        # What the method remembers belongs to the projection that it was learnt with.
        return replace(state, stage=state.stage + 1, stage_step=0, memory={})

    def _with_kept(self, rho: Field) -> Field:
        p = self.problem
        return np.where(p.kept, 1.0, np.where(p.free, rho, 0.0))

    def _check_symmetry(self) -> None:
        filled = self.problem.filled
        for axis in self.settings.symmetry:
            if not 0 <= axis < filled.ndim:
                raise DesignError(f"symmetry axis {axis} does not exist in {filled.ndim} dimensions")
            lopsided = float(np.abs(filled - np.flip(filled, axis)).sum() / filled.sum())
            if lopsided > 0.02:
                raise DesignError(
                    f"symmetry: {lopsided:.0%} of the body has no mirror image across the middle of axis "
                    f"{'xyz'[axis]}; leave that axis out, or make the body and its keep regions symmetric"
                )


def optimize(
    problem: Problem,
    settings: Settings | None = None,
    callback: Callable[[State, Info], Any] | None = None,
    **changes: Any,
) -> Result:
    """Find the stiffest design for the material allowed.

    Args:
        problem: from `topopt.presets`, `topopt.part`, or made by hand.
        settings: the method; keyword arguments change single entries (`radius=2.4`).
        callback: called after every step; raising StopIteration ends the run cleanly.

    Raises:
        DesignError: before the first solve, if the problem cannot be right.
        SolverError: if a solve does not reach its tolerance.
    """
    design = DensityDesign(problem, replace(settings or Settings(), **changes))

    def tell(k: int, snapshot: optim.Snapshot, info: optim.Info) -> None:
        if callback is not None:
            callback(snapshot.state, snapshot.state.history[-1])

    start = design.start()
    stop = optim.Stop(max_iter=design.settings.max_iterations, tol_kkt=None, tol_x=None)
    run = optim.minimize(problem, start.x, _Stages(design, start), stop=stop, callbacks=[tell])
    return design.finish(run.state.state)


@dataclass(frozen=True)
class _Stages:
    """The whole continuation as one method of `optim.minimize`; it knows by itself when it has converged."""

    design: DensityDesign
    start: State

    def init(self, problem: Problem, x0: Field) -> State:
        return self.start

    def step(self, problem: Problem, state: State) -> tuple[State, optim.Info]:
        after, info = self.design.step(state)
        excess = max(0.0, info.volume - problem.volume_fraction)
        extra = {"volume": info.volume, "grey": info.grey, "beta": info.beta, "cg": float(info.cg_iterations)}
        verdict = "converged" if after.done else ""
        return after, optim.Info(info.compliance, float("nan"), excess, info.change, verdict=verdict, extra=extra)


def _remembered(state: State, at: Field, now: prepared.Evaluation) -> mma.State:
    """Of MMA, or its start. at : (free elements,)"""
    m = state.memory
    if not m:
        return mma.State(at, now, np.ones(1), at, at, at, at)
    return mma.State(at, now, m["lam"], m["before"], m["before_that"], m["low"], m["upp"], int(m["steps"][0]))


def symmetric(field: Field, axes: tuple[int, ...]) -> Field:
    """Mean of a field (*shape,) and its mirror images."""
    for axis in axes:
        field = (field + np.flip(field, axis)) / 2
    return field
