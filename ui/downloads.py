"""Files of a run that are handed over: listed in its result, plain, and inside its artifacts."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.store import Run

FILE_NAME = re.compile(r"[\w+-][\w.+-]{0,199}", re.ASCII)
# What a download is for, in the order in which the buttons stand.
KINDS = {
    "stl": "mesh for printing",
    "3mf": "mesh with units",
    "glb": "for viewers",
    "step": "for CAD",
    "dxf": "drawing with layers, mm",
    "svg": "drawing, mm",
    "vtu": "density field, ParaView",
    "png": "picture, 16 bit grey",
    "npy": "density field, NumPy",
    "vti": "density field, ParaView",
    "gif": "film along the path of weights",
    "mp4": "film along the path of weights",
    "zip": "pictures of the path, one per frame",
}
# Files whose name says more than their ending.
NAMED = {
    "reanalysis.vtu": "stress on tetrahedra, ParaView",
    "control.npz": "the control, NumPy",
    "fields.vtu": "control and state, ParaView",
    "fields.png": "picture of control and state",
    "part.json": "features as numbers, to edit",
    "picture.png": "picture of the part",
    "design.npz": "design and state, NumPy",
    "log.json": "every solve: why, ratio, radius, cosine",
    "weights.safetensors": "the trained operator",
    "evaluation.csv": "errors beside the solver",
    "loss.png": "picture of the losses",
    "runs.csv": "the runs, as a table",
    "runs.png": "picture of the runs",
}


LABELS = {"safetensors": "Weights"}  # of buttons, where the ending is too long for one


@dataclass(frozen=True)
class Download:
    """One file that is handed over. label: of the button; about: what it is; url: on this server."""

    name: str
    label: str
    about: str
    url: str
    size: int


def artifact(run: Run, name: str) -> Path | None:
    """A file of the run that may be handed over: listed in its result, a plain file, inside its artifacts."""
    result = run.result()
    if result is None or name not in _offered(result):
        return None
    path = run.artifacts / name
    inside = path.resolve().parent == run.artifacts.resolve()
    return path if inside and path.is_file() and not path.is_symlink() else None


def _offered(result: dict[str, Any]) -> list[str]:
    exports = [_base(row.get("path")) for row in result.get("exports") or [] if isinstance(row, dict)]
    named = (*listed(result, "artifacts"), *listed(result, "pictures"))
    return [name for name in (*exports, *named, _base(result.get("report"))) if name]


def listed(result: dict[str, Any] | None, key: str) -> list[str]:
    """The names under `key` of a result that are names."""
    return [name for name in map(_base, (result or {}).get(key) or []) if name]


def _base(path: Any) -> str:
    """`artifacts/part.stl` -> `part.stl`; anything else that is not one plain name -> ''."""
    if not isinstance(path, str):
        return ""
    name = path.removeprefix("artifacts/")
    return name if FILE_NAME.fullmatch(name) else ""


def downloads(run: Run, run_id: str, result: dict[str, Any]) -> list[Download]:
    """What a run that succeeded hands over, in the order in which the buttons stand."""
    found = []
    order = list(KINDS)
    for name in sorted(_offered(result), key=lambda n: order.index(_kind(n)) if _kind(n) in order else len(order)):
        path = artifact(run, name)
        if path is None or name in listed(result, "pictures"):
            continue
        label, about = LABELS.get(_kind(name), _kind(name).upper()), NAMED.get(name) or KINDS.get(_kind(name), "")
        if name.startswith("design.") and name not in NAMED:
            label, about = f"{label}, b/w", "black and white, of the volume asked for"
        if name.endswith(".html"):
            label, about = "Report", "what was asked, found and checked"
        found.append(Download(name, label, about, f"/runs/{run_id}/files/{name}", path.stat().st_size))
    if (size := _size(run.folder / "progress.jsonl")) > 0:
        about = "every iteration, as a table"
        found.append(Download("progress.csv", "CSV", about, f"/runs/{run_id}/progress.csv", size))
    if run.config.is_file():
        about = "repeat it on the command line"
        found.append(Download("job.yaml", "Job file", about, f"/runs/{run_id}/job.yaml", run.config.stat().st_size))
    return found


def _kind(name: str) -> str:
    return name.rpartition(".")[2].lower()


def progress_csv(run: Run) -> str:
    """The iterations as comma-separated values, one line each."""
    rows = run.progress()
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(str(row.get(name, "")) for name in names) for row in rows]
    return "\n".join([",".join(names), *lines]) + "\n"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
