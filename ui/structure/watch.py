"""What the run view shows of a structure: its numbers, convergence and results."""

from typing import Any

from ui import plots
from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import duration, figure, percent


def unit(run: RunView) -> str:
    """Of the compliance: presets have unit loads and unit modulus."""
    return "–" if run.is_preset else "N mm"


def numbers(run: RunView) -> list[tuple[str, str]]:
    """Names and values for the line of numbers under the state."""
    last = run.rows[-1]
    at = figure(last.get("iteration", len(run.rows)))
    cells = [
        ("Iteration", f"{at} of {run.planned} at most" if run.active else at),
        ("Compliance", f"{figure(last.get('compliance'))}{'' if run.is_preset else ' N mm'}"),
        ("Volume", percent(last.get("volume"))),
        ("Grey", figure(last.get("grey"), 3)),
        ("Change", figure(last.get("change"), 2)),
    ]
    if run.active and run.status.get("phase") == "optimise":
        cells.append(("Time left", f"about {duration(last.get('seconds_left'))}"))
    return cells


def expected(run: RunView) -> int:
    """Iterations in all, by what the run itself expects."""
    last = run.rows[-1] if run.rows else {}
    left, pace = last.get("seconds_left"), last.get("seconds")
    if isinstance(left, int | float) and isinstance(pace, int | float) and pace > 0:
        recent = [row["seconds"] for row in run.rows[-8:] if isinstance(row.get("seconds"), int | float)]
        return max(len(run.rows), len(run.rows) + round(left / (sum(recent) / len(recent))))
    return max(len(run.rows), run.planned)


def plot(run: RunView) -> str:
    """Compliance, volume and grey."""
    return f'<div class="panel plot-panel">{plots.convergence(run.rows, unit(run))}</div>'


def picture(run: RunView) -> str:
    """Nothing: a structure is shown in 3-D."""
    return ""


def result_rows(run: RunView) -> list[tuple[str, str, str]]:
    """Quantity with unit, value, and the difference to the optimiser's claim where there is one."""
    r = run.result or {}
    second, look = r.get("referee") or {}, r.get("reanalysis") or {}
    of = "" if run.is_preset else f" [{unit(run)}]"
    rows = [(f"Compliance, optimiser's claim{of}", figure(r.get("compliance")), "")]
    if second:
        rows.append((f"Compliance, referee{of}", figure(second.get("compliance")), _difference(second)))
    if look:
        rows.append((f"Compliance, re-analysis{of}", figure(look.get("compliance")), _difference(look)))
    rows.append(("Volume fraction of the body", percent(r.get("volume_fraction")), ""))
    optional = [
        ("Mass [kg]", r.get("mass_kg")),
        ("Largest displacement [mm]", look.get("max_displacement_mm")),
        ("Von Mises stress, 99.9 % quantile [MPa]", look.get("von_mises_p999_mpa")),
        ("Von Mises stress, largest [MPa]", look.get("von_mises_max_mpa")),
        ("Safety factor against yield", look.get("safety_factor")),
    ]
    rows += [(name, figure(value, 3), "") for name, value in optional if value is not None]
    closed = [e.get("watertight") for e in r.get("exports") or [] if isinstance(e, dict) and e.get("kind") == "stl"]
    if closed:
        rows.append(("Exported surface", "watertight" if all(closed) else "not watertight", ""))
    rows.append(("Iterations", figure(r.get("iterations"), 9), ""))
    return rows


def _difference(opinion: dict[str, Any]) -> str:
    return percent(opinion.get("relative_difference"), signed=True)


SHOW = Show(numbers, expected, plot, picture, result_rows, third="Difference")
