"""Two ways to follow a surrogate without testing its steps: what the trust region is compared with."""

from operators.hybrid_log import Log
from operators.hybrid_settings import HybridSettings
from operators.inner_loop import InnerLoop
from operators.model import Model
from operators.solver import Solver, Verified, norm
from operators.surrogates import Surrogate

MOST_IDLE = 3


def follow(
    solver: Solver, surrogate: Surrogate, start: Verified, settings: HybridSettings, log: Log
) -> tuple[str, float]:
    """Anchor, minimise the model, solve where it led, and so on; mode "surrogate_only" does that once.

    Returns:
        why it ended, and what the last model said of its design.
    """
    once = settings.mode == "surrogate_only"
    at, idle, believed = start, 0, start.J
    steps = settings.inner_steps * (2 if once else 1)
    inner = InnerLoop(steps, first=steps)
    while settings.target < at.J and not solver.exhausted:
        model = Model(solver.problem, surrogate, at.x, at.u)
        x, believed = inner.lower(model, settings.radius)
        log.model_gradients += model.gradients
        step, gain = norm(solver.problem, x - at.x), at.J - believed
        if not gain > settings.resolution * abs(at.J):
            return "the model promises nothing more", believed
        before = solver.best
        new = solver.attempt(x)
        if new is None:
            log.note("failed", "A", float("inf"), radius=settings.radius, step=step)
            return "the surrogate led to a design that cannot be solved", believed
        log.note("accepted", "A", new.J, ratio=(at.J - new.J) / gain, radius=settings.radius, step=step)
        at, idle = new, idle + 1 if solver.best is before else 0
        if once:
            return "the surrogate is at its end", believed
        if idle >= MOST_IDLE:
            return f"{MOST_IDLE} anchors running were no better", believed
    return solver.exhausted or "the target is reached", believed
