"""One run, from its folder: state, progress, picture, convergence, results and downloads, as HTML."""

from ui.run_view.kinds import show_of
from ui.run_view.show import EXPLAINED
from ui.runs import RunView
from ui.words import bytes_text, escape, moment

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
EMPTY = "No run yet. Choose a problem on the left and press Run: the design appears here while it forms."


def state(run: RunView | None, error: str = "") -> str:
    """State line, progress bar and numbers; moves the address and the picture along, and speaks of changes."""
    if run is None:
        source = f'<view-source for="watch-view" empty="{escape(EMPTY)}"></view-source>'
        told = f'<p class="message failed">{escape(error)}</p>' if error else '<p class="quiet">No run is shown.</p>'
        return f'<div class="panel state">{told}</div>{source}'
    pair = run.pair or (run,)
    lines = "".join(_state_line(each) for each in pair)
    spoken = ". ".join(f"{each.name}: {each.state}. {_message(each)}" for each in pair)
    return (
        f'<div class="panel state">{lines}</div><say-aloud text="{escape(spoken)}"></say-aloud>'
        f'<run-address run="{run.id}"></run-address>{_picture_source(run)}'
    )


def _state_line(run: RunView) -> str:
    failed = " failed" if run.state == "failed" else ""
    return (
        f'<div class="state-line"><h2>{escape(run.name)}</h2>'
        f'<span class="badge {escape(run.state)}">{escape(run.state)}</span>'
        f'<span class="message{failed}">{escape(_message(run))}</span></div>{_bar(run)}{_numbers(run)}'
    )


def _message(run: RunView) -> str:
    if run.stopping:
        return "stopping: the step under way is finished and saved first"
    return str(run.status.get("message") or PHASES.get(str(run.status.get("phase")), ""))


def _bar(run: RunView) -> str:
    if not run.active:
        return ""
    done, whole = len(run.rows), show_of(run).expected(run)
    if run.status.get("phase") == "optimise" and done and whole:
        share = min(100, round(100 * done / whole))
        return (
            f'<div class="bar" role="progressbar" aria-label="Iterations" aria-valuemin="0" aria-valuemax="{whole}" '
            f'aria-valuenow="{done}"><i style="width:{share}%"></i></div>'
        )
    return '<div class="bar moving" role="progressbar" aria-label="At work"><i></i></div>'


def _numbers(run: RunView) -> str:
    if not run.rows:
        return ""
    cells = "".join(f"<span>{name} <b>{value}</b></span>" for name, value in show_of(run).numbers(run))
    return f'<div class="numbers">{cells}</div>'


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
    return show_of(run).plot(run)


def picture(run: RunView | None) -> str:
    """What is shown in place of the 3-D view; "" keeps the view."""
    return show_of(run).picture(run) if run is not None else ""


def results(run: RunView | None) -> str:
    """Figures with their second opinions, downloads, notes and pictures; empty until the run has succeeded."""
    if run is None:
        return ""
    compared = show_of(run).compared
    if run.pair and compared and any(each.result for each in run.pair):
        return _comparison(run, compared(run))
    if run.result is None:
        return ""
    told = "".join(f'<p class="panel notes">{escape(note)}</p>' for note in remarks(run))
    shots = "".join(f'<img src="{url}" alt="View of the part" loading="lazy">' for url in run.pictures)
    gallery = f'<div class="panel portraits">{shots}</div>' if shots else ""
    show = show_of(run)
    table = _table(show.result_rows(run), show.third)
    left = f'<div class="panel">{table}</div>{told}'
    right = f'<div class="panel downloads">{_downloads(run)}</div>'
    return f'<div class="results"><div class="problem">{left}</div>{right}{gallery}</div>'


def _comparison(run: RunView, table: str) -> str:
    done = [each for each in run.pair or () if each.result]
    notes = [f"{each.name}: {note}" for each in done for note in remarks(each)]
    told = "".join(f'<p class="panel notes">{escape(note)}</p>' for note in notes)
    files = "".join(_downloads(each, each.name) for each in done)
    left = f'<div class="panel">{table}</div>{told}'
    return f'<div class="results"><div class="problem">{left}</div><div class="panel downloads">{files}</div></div>'


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


def _downloads(run: RunView, title: str = "Downloads") -> str:
    links = "".join(
        f'<a href="{d.url}" download="{escape(_file_name(run, d.name))}"><b>{escape(d.label)}</b>'
        f'<span class="quiet">{escape(d.about)}</span><span class="quiet">{bytes_text(d.size)}</span></a>'
        for d in run.downloads
    )
    return f"<h3>{escape(title)}</h3>{links}"


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
