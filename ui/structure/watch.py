"""The right side: one run, from its folder. State, progress, picture, convergence, results and downloads."""

from typing import Any

from ui import plots
from ui.barycenter import watch as barycenter
from ui.runs import RunView
from ui.words import bytes_text, duration, escape, figure, moment, percent

PHASES = {
    "start": "Waiting",
    "read": "Reading",
    "pose": "Setting up",
    "optimise": "Finding the form",
    "solve": "Final solve",
    "form": "Making the body",
    "export": "Writing files",
    "referee": "Referee",
    "reanalysis": "Re-analysis",
    "report": "Report",
    "done": "Ready",
}
EXPLAINED = "What it is"
EMPTY = "No run yet. Choose a problem on the left and press Run: the design appears here while it forms."


def unit(run: RunView) -> str:
    """Of the compliance: presets have unit loads and unit modulus."""
    return "–" if run.is_preset else "N mm"


def state(run: RunView | None, error: str = "") -> str:
    """State line, progress bar and numbers; moves the address and the picture along, and speaks of changes."""
    if run is None:
        source = f'<view-source for="watch-view" empty="{escape(EMPTY)}"></view-source>'
        told = f'<p class="message failed">{escape(error)}</p>' if error else '<p class="quiet">No run is shown.</p>'
        return f'<div class="panel state">{told}</div>{source}'
    message = str(run.status.get("message") or PHASES.get(str(run.status.get("phase")), ""))
    if run.stopping:
        message = "stopping: the step under way is finished and saved first"
    failed = " failed" if run.state == "failed" else ""
    return (
        f'<div class="panel state"><div class="state-line"><h2>{escape(run.name)}</h2>'
        f'<span class="badge {escape(run.state)}">{escape(run.state)}</span>'
        f'<span class="message{failed}">{escape(message)}</span></div>{_bar(run)}{_numbers(run)}</div>'
        f'<say-aloud text="{escape(run.name)}: {escape(run.state)}. {escape(message)}"></say-aloud>'
        f'<run-address run="{run.id}"></run-address>{_picture_source(run)}'
    )


def _bar(run: RunView) -> str:
    if not run.active:
        return ""
    done, whole = len(run.rows), _expected(run)
    if run.status.get("phase") == "optimise" and done:
        share = min(100, round(100 * done / whole))
        return (
            f'<div class="bar" role="progressbar" aria-label="Iterations" aria-valuemin="0" aria-valuemax="{whole}" '
            f'aria-valuenow="{done}"><i style="width:{share}%"></i></div>'
        )
    return '<div class="bar moving" role="progressbar" aria-label="At work"><i></i></div>'


def _expected(run: RunView) -> int:
    """Iterations in all, by what the run itself expects."""
    if run.kind == "barycenter":
        return barycenter.expected(run)
    last = run.rows[-1] if run.rows else {}
    left, pace = last.get("seconds_left"), last.get("seconds")
    if isinstance(left, int | float) and isinstance(pace, int | float) and pace > 0:
        recent = [row["seconds"] for row in run.rows[-8:] if isinstance(row.get("seconds"), int | float)]
        return max(len(run.rows), len(run.rows) + round(left / (sum(recent) / len(recent))))
    return max(len(run.rows), run.planned)


def _numbers(run: RunView) -> str:
    if not run.rows:
        return ""
    if run.kind == "barycenter":
        return _cells(barycenter.numbers(run))
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
    return _cells(cells)


def _cells(cells: list[tuple[str, str]]) -> str:
    return '<div class="numbers">' + "".join(f"<span>{name} <b>{value}</b></span>" for name, value in cells) + "</div>"


def _picture_source(run: RunView) -> str:
    """The exported part once it is there, else the shape so far."""
    glb = next((d for d in run.downloads if d.name.endswith(".glb")), None)
    src = glb.url if glb else run.preview
    up = "y" if run.is_preset else "z"
    label = f"{'Exported part' if glb else 'Design so far'} of {escape(run.name)}"
    if src:
        shown = f'src="{src}" label="{label}"'
    else:
        shown = f'empty="{"The first picture comes after a few iterations." if run.active else "There is no picture."}"'
    return f'<view-source for="watch-view" subject="{run.id}" up="{up}" {shown}></view-source>'


def plot(run: RunView | None) -> str:
    """The convergence panel."""
    if run is None:
        return '<div class="panel plot-panel"><p class="quiet plot-empty">The convergence plot appears here.</p></div>'
    if run.kind == "barycenter":
        return barycenter.plot(run)
    return f'<div class="panel plot-panel">{plots.convergence(run.rows, unit(run))}</div>'


def picture(run: RunView | None) -> str:
    """What is shown in place of the 3-D view: the picture of a barycenter; nothing for a structure."""
    return barycenter.picture(run) if run is not None and run.kind == "barycenter" else ""


def results(run: RunView | None) -> str:
    """Figures with their second opinions, downloads, notes and pictures; empty until the run has succeeded."""
    if run is None or run.result is None:
        return ""
    told = "".join(f'<p class="panel notes">{escape(note)}</p>' for note in remarks(run))
    shots = "".join(f'<img src="{url}" alt="View of the part" loading="lazy">' for url in run.pictures)
    gallery = f'<div class="panel portraits">{shots}</div>' if shots else ""
    if run.kind == "barycenter":
        table = _table(barycenter.result_rows(run), EXPLAINED)
    else:
        table = _table(result_rows(run), "Difference")
    left = f'<div class="panel">{table}</div>{told}'
    right = f'<div class="panel downloads">{_downloads(run)}</div>'
    return f'<div class="results"><div class="problem">{left}</div>{right}{gallery}</div>'


def remarks(run: RunView) -> list[str]:
    """What whoever takes the part home should know: warnings of the export's and the re-analysis's gates among it."""
    notes = [str(note) for note in (run.result or {}).get("notes") or []]
    return [text[:1].upper() + text[1:] for text in notes]


def _table(found: list[tuple[str, str, str]], third: str) -> str:
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{value}</td><td class="quiet">{about}</td></tr>'
        for name, value, about in found
    )
    return (
        f'<table class="result{" explained" if third == EXPLAINED else ""}" id="results"><caption>Results</caption>'
        '<thead><tr><th scope="col">Quantity</th>'
        f'<th scope="col">Value</th><th scope="col">{third}</th></tr></thead><tbody>{rows}</tbody></table>'
    )


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


def _downloads(run: RunView) -> str:
    links = "".join(
        f'<a href="{d.url}" download="{escape(_file_name(run, d.name))}"><b>{escape(d.label)}</b>'
        f'<span class="quiet">{escape(d.about)}</span><span class="quiet">{bytes_text(d.size)}</span></a>'
        for d in run.downloads
    )
    return f"<h3>Downloads</h3>{links}"


def _file_name(run: RunView, name: str) -> str:
    return f"{run.id}-{name}"


def log(run: RunView | None) -> str:
    """The end of the run's own log."""
    text = run.log if run else ""
    return f'<pre class="log" tabindex="0">{escape(text) or "Nothing has been said yet."}</pre>'


def history_label(name: str, state: str, started: float, kind: str = "") -> str:
    """A line of the list of runs. kind: only where it is not in the name already."""
    kind = f"  ·  {kind}" if kind and kind not in name else ""
    return f"{name}{kind}  ·  {moment(started)}  ·  {state}"
