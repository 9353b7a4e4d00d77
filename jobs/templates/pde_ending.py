"""Why a search ended, in plain words: small steps are no proof of an optimum."""

from optim.result import Result, Stop


def ending(result: Result, stop: Stop) -> str:
    """Such as "converged: optimal to 1.2e-07", or "stopped: steps became small; KKT residual 0.9"."""
    last = result.state.history[-1] if result.state.history else None
    if result.status != "converged":
        return f"{WORDS.get(result.status, result.status)}: {result.message}"
    # The method's own verdict, or the tolerance of the optimality: both are about the optimum itself.
    if last is None or last.verdict or (stop.tol_kkt is not None and last.kkt <= stop.tol_kkt):
        return f"converged: {result.message}"
    small = stop.tol_x is not None and last.step_norm <= stop.tol_x
    why = "steps became small" if small else "the objective hardly changed any more"
    return f"stopped: {why}; KKT residual {last.kkt:.2g}"


WORDS = {
    "max_iter": "stopped",
    "max_evals": "stopped",
    "wall_time": "stopped",
    "user_stop": "stopped",
    "stalled": "stopped, not at an optimum",
    "infeasible": "no feasible design",
}
