"""Trust-region model management in two phases.

    A. anchor by a solve; the model's value is right there, its gradient is the surrogate's; a large first radius
    B. after a rejection, or when the model promises little: the gradient is made right too, by one adjoint per anchor

With the gradient right at every anchor phase B is a first-order consistent trust-region method, which converges
whatever the surrogate is (Alexandrov, Dennis, Lewis and Torczon 1998). Phase A is what makes it cheap: at long steps
the correction is larger than the signal. There is no way back from B to A.
"""

import numpy as np
from numpy.typing import NDArray

from operators.hybrid_log import Log
from operators.hybrid_settings import HybridSettings
from operators.inner_loop import GOOD, POOR, InnerLoop
from operators.model import Model
from operators.solver import FAILURES, FEASIBLE, Solver, Verified, norm, violation
from operators.solver_steps import one_step, solve_alone
from operators.stationarity import stationarity
from operators.surrogates import Surrogate

Vector = NDArray[np.float64]
ACCEPT = 1e-3
NEARLY_NOTHING, CERTAIN = 1e-6, 1e-8
BACK = 0.2
MOST_REJECTIONS, MOST_FALLBACKS = 3, 3


class TrustRegion:
    """One run.

    Attributes:
        at: the anchor. radius: of the region around it. corrected: in phase B.
        trials: of phase B. rejections: in a row. fallbacks: steps of the solver alone. steepest: largest true gradient.
    """

    def __init__(self, solver: Solver, surrogate: Surrogate, settings: HybridSettings, log: Log) -> None:
        self.solver, self.surrogate, self.settings, self.log = solver, surrogate, settings, log
        self.radius, self.step, self.corrected = settings.radius, settings.radius, False
        self.trials, self.rejections, self.fallbacks = 0, 0, 0
        self.steepest, self._slope, self._drawn = 0.0, 0.0, False
        self.inner = InnerLoop.of(solver.problem, settings.inner_steps)
        self._learn = getattr(surrogate, "learn", None) if getattr(surrogate, "learns", False) else None
        self.believed = np.inf

    def run(self, start: Verified) -> str:
        """From a solved design; -> why it ended."""
        self.start, self.at, self.believed = start, start, start.J
        while not (message := self._round()):
            pass
        return message

    def _round(self) -> str:
        """One model and one trial; -> why the run is over, or nothing."""
        if over := self._over():
            return over
        model = self._model()
        if model is None or self._points_wrong(model):
            return self._fall_back("the model's gradient points the wrong way" if model else "the surrogate failed")
        candidate, promised = self.inner.lower(model, self.radius)
        self.log.model_gradients += model.gradients
        self.believed, gain = promised, self.at.J - promised
        length = norm(self.solver.problem, candidate - self.at.x)
        if self.corrected and gain < NEARLY_NOTHING * abs(self.at.J) and (over := self._optimal()):
            return "" if self._drawn_back() else over
        if not gain > self.settings.resolution * abs(self.at.J) or length == 0:
            return self._without_promise()
        if self._may_switch and gain < self.settings.promise * abs(self.at.J):
            return "" if self.inner.longer() else self._switch("the model promises little")
        return self._test(model, candidate, gain, length)

    def _over(self) -> str:
        if self.settings.target >= self.at.J:
            return "the target is reached"
        if why := self.solver.exhausted:
            return why
        if self.settings.mode == "hybrid_reference" and self.radius < self.settings.least_radius:
            return "the radius has vanished; without the true gradient the surrogate leads no further"
        over = self._stationary() if self.corrected else ""
        return "" if over and self._drawn_back() else over

    def _stationary(self) -> str:
        """By the true gradient: that of the surrogate is never a reason to stop."""
        problem = self.solver.problem
        self._slope = stationarity(problem, self.at.x, self._gradient(self.at))
        self.steepest = max(self.steepest, self._slope)
        if self._slope > self.settings.tolerance * self.steepest:
            return ""
        return f"optimal to {self.settings.tolerance:.2g} of the largest gradient"

    def _optimal(self) -> str:
        """Where phase B began near the optimum no large gradient was seen yet: one adjoint at the start tells."""
        if self.start.g is None:
            first = stationarity(self.solver.problem, self.start.x, self._gradient(self.start))
            self.steepest = max(self.steepest, first)
        return self._stationary()

    def _model(self) -> Model | None:
        """None where the surrogate fails; at the first anchor that is an error, which the caller should see."""
        g = self._gradient(self.at) if self.corrected else None
        try:
            return Model(self.solver.problem, self.surrogate, self.at.x, self.at.u, g, self.settings.correction)
        except FAILURES:
            if len(self.log.lines) == 1:
                raise
            return None

    def _gradient(self, at: Verified) -> Vector:
        """The true one: from the surrogate where that can show that it has the adjoint state, else by a solve."""
        doubt = getattr(self.surrogate, "doubt", None)
        if at.g is None and doubt is not None:
            Ju, Jx = self.solver.problem.partials(at.u, at.x)
            try:
                self.surrogate.anchor(at.x, at.u)
                if doubt(at.x, at.u, Ju) <= CERTAIN:
                    at.g = Jx + self.surrogate.state(at.x)[1](Ju)
            except FAILURES:
                pass
        return self.solver.gradient(at)

    def _points_wrong(self, model: Model) -> bool:
        """Near the optimum the cosine means nothing: there the residual is noise."""
        return model.cosine is not None and model.cosine < 0.2 and self._slope > 0.1 * self.steepest

    # -- the trial ----------------------------------------------------------------------------------------------------

    def _test(self, model: Model, candidate: Vector, gain: float, length: float) -> str:
        """Solve at the candidate and decide. A design that cannot be solved is a bad one."""
        new = self.solver.attempt(candidate)
        if new is not None and self._learn is not None:
            self._learn(new.x, new.u)
        ratio = -np.inf if new is None else (self.at.J - new.J) / gain
        accepted = new is not None and new.J < self.at.J and ratio >= ACCEPT
        at_edge, self.step = length > 0.9 * self.radius, length
        if ratio < POOR:
            self.radius = min(self.radius, length) * self._shrink(ratio)
        elif ratio > GOOD and at_edge:
            self.radius *= 2.5
        self.inner.judged(ratio)
        event = "accepted" if accepted else "failed" if new is None else "rejected"
        self._note(event, np.inf if new is None else new.J, ratio=ratio, cosine=model.cosine)
        self.trials += self.corrected
        self.rejections = 0 if accepted else self.rejections + 1
        if new is not None and accepted:
            self.at = new
        return self._after(accepted)

    def _shrink(self, ratio: float) -> float:
        """By how much; less where the surrogate has just learnt what was wrong with it."""
        return 0.7 if self._learn is not None else 0.25 if ratio < -1 else 0.5

    def _after(self, accepted: bool) -> str:
        """What a trial means for the method."""
        # A surrogate that has just learnt from its mistake is another one now: it may try once more.
        if self._may_switch and self.rejections >= (1 if self._learn is None else 2):
            return self._switch("a trial was rejected")
        if self.settings.mode == "hybrid_reference" or not self.corrected:
            return ""
        if self.trials >= self.settings.patience:
            return self._hand_over(f"{self.trials} corrected trials were not enough")
        if self.rejections >= MOST_REJECTIONS:
            return self._fall_back("three rejections")
        return self._fall_back("the radius has vanished") if self.radius < self.settings.least_radius else ""

    # -- changes of the method ----------------------------------------------------------------------------------------

    @property
    def _may_switch(self) -> bool:
        return self.settings.mode == "hybrid_corrected" and not self.corrected

    def _switch(self, why: str) -> str:
        self.corrected = True
        self.radius = max(min(self.radius, 2 * self.step), self.settings.radius / 30)
        self._note("phase B", self.at.J, why=why)
        return ""

    def _without_promise(self) -> str:
        if self.inner.longer():
            return ""
        if self._may_switch:
            return self._switch("the model promises nothing")
        if not self.corrected:
            return "the model promises nothing more"
        return self._fall_back("the model promises nothing")

    def _fall_back(self, why: str) -> str:
        """One step of the solver alone; after a few of them, or where there is none, it goes on alone."""
        if not self.corrected:
            return why if self.settings.mode == "hybrid_reference" else self._switch(why)
        if self.fallbacks >= MOST_FALLBACKS:
            return self._hand_over(f"after {MOST_FALLBACKS} steps without the surrogate, again: {why}")
        self.fallbacks += 1
        new = one_step(self.solver, self.at, max(self.radius, self.settings.least_radius), self.log, why)
        if new is None:
            return self.solver.exhausted or self._hand_over("no short step along the gradient is better")
        self.step = norm(self.solver.problem, new.x - self.at.x)
        self.at, self.rejections, self.radius = new, 0, max(2 * self.step, 10 * self.settings.least_radius)
        return ""

    def _drawn_back(self) -> bool:
        """Once, from an optimum under constraints: a part of the way back to the start, and down again from there.

        Where material is gone its gradient is as well, so that an optimum there says little; the best design is kept.
        """
        problem, x = self.solver.problem, self.at.x + BACK * (self.start.x - self.at.x)
        if self._drawn or not problem.constraints or self.solver.exhausted or violation(problem, x) > FEASIBLE:
            return False
        self._drawn, new = True, self.solver.attempt(x)
        self.step = norm(problem, x - self.at.x)
        self.radius, self.rejections = max(self.radius, 2 * self.step), 0
        self._note("drawn back" if new is not None else "failed", np.inf if new is None else new.J)
        if new is not None:
            self.at, self.inner = new, InnerLoop.of(problem, self.settings.inner_steps)
        return new is not None

    def _hand_over(self, why: str) -> str:
        self._note("the solver goes on alone", self.at.J, why=why)
        s = self.settings
        return solve_alone(self.solver, self.at, self.log, target=s.target, tolerance=s.tolerance)

    def _note(
        self, event: str, J: float, *, why: str = "", ratio: float | None = None, cosine: float | None = None
    ) -> None:
        phase = "B" if self.corrected else "A"
        self.log.note(event, phase, J, why=why, ratio=ratio, radius=self.radius, step=self.step, cosine=cosine)
