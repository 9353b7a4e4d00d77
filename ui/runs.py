"""Run folders as the page sees them: read-only, by id, and never a file outside them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.errors import RunFolderError
from jobs.store import Run

RUN_ID = re.compile(r"[\w+-][\w.+-]{0,199}", re.ASCII)
LOOK = re.compile(r"(preview|input-[1-8])\.png")
ACTIVE = ("queued", "running")
# What a download is for, in the order in which the buttons stand.
KINDS = {
    "stl": "mesh for printing",
    "3mf": "mesh with units",
    "glb": "for viewers",
    "step": "for CAD",
    "vtu": "density field, ParaView",
    "png": "picture, 16 bit grey",
    "npy": "density field, NumPy",
    "vti": "density field, ParaView",
}


@dataclass(frozen=True)
class Download:
    """One file that is handed over. label: of the button; about: what it is; url: on this server."""

    name: str
    label: str
    about: str
    url: str
    size: int


@dataclass(frozen=True)
class Entry:
    """One line of the history."""

    id: str
    name: str
    state: str
    started: float
    kind: str = "structure"


@dataclass(frozen=True)
class RunView:
    """One run, read once.

    Attributes:
        job: config.yaml as plain data, {} while it is not there.
        looks: small pictures that the page left in the folder of a barycenter: what was put in, a preview.
        stopping: a stop was asked for, and the step under way is still being finished.
        stamp: changes whenever something of the run has changed that the page shows.
    """

    id: str
    status: dict[str, Any]
    job: dict[str, Any]
    rows: list[dict[str, Any]]
    result: dict[str, Any] | None
    preview: str | None
    downloads: list[Download]
    pictures: list[str]
    looks: dict[str, str]
    log: str
    stopping: bool
    stamp: str

    @property
    def state(self) -> str:
        return str(self.status.get("state", "queued"))

    @property
    def kind(self) -> str:
        """Of the job: structure or barycenter."""
        return str(self.job.get("job") or "structure")

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    @property
    def name(self) -> str:
        return str(self.job.get("name") or self.id)

    @property
    def is_preset(self) -> bool:
        return bool(self.job.get("preset"))

    @property
    def planned(self) -> int:
        """Iterations that the job allows."""
        return int((self.job.get("optimize") or {}).get("max_iterations") or 200)


def find_run(root: Path, run_id: str) -> Run:
    """The run with this id.

    Raises:
        RunFolderError: not an id, or no run of that name under `root`.
    """
    if not RUN_ID.fullmatch(run_id or ""):
        raise RunFolderError("that is not the name of a run: choose one from the list of runs")
    folder = (root / run_id).resolve()
    if folder.parent != root.resolve() or not Run(folder).is_run:
        raise RunFolderError(f"there is no run {run_id}: choose one from the list of runs")
    return Run(folder)


def history(root: Path, most: int = 200) -> list[Entry]:
    """The runs under `root`, newest first."""
    if not root.is_dir():
        return []
    entries = []
    for folder in root.iterdir():
        run = Run(folder)
        if RUN_ID.fullmatch(folder.name) and not folder.is_symlink() and folder.is_dir() and run.is_run:
            started = _modified(run.config) or _modified(folder)
            state = str(run.status().get("state"))
            entries.append(Entry(folder.name, _name_of(folder.name), state, started, _kind_of(run.config)))
    return sorted(entries, key=lambda e: (e.started, e.id), reverse=True)[:most]


def view(root: Path, run_id: str) -> RunView:
    """Everything the page shows of one run.

    Raises:
        RunFolderError: as `find_run`.
    """
    run = find_run(root, run_id)
    status, rows, result = run.status(), run.progress(), run.result()
    preview = _modified(run.preview)
    stopping = status.get("state") in ACTIVE and (run.folder / "stop").exists()
    stamp = f"{stopping} {status.get('state')} {status.get('updated')} {len(rows)} {preview} {result is not None}"
    return RunView(
        id=run_id,
        status=status,
        job=_job(run.config),
        rows=rows,
        result=result,
        preview=f"/runs/{run_id}/preview.glb?at={preview:.3f}" if preview else None,
        downloads=_downloads(run, run_id, result) if result else [],
        pictures=[f"/runs/{run_id}/files/{name}" for name in _listed(result, "pictures") if artifact(run, name)],
        looks={path.stem: f"/runs/{run_id}/looks/{path.name}" for path in _looks(run)},
        log=_tail(run.log),
        stopping=stopping,
        stamp=stamp,
    )


def artifact(run: Run, name: str) -> Path | None:
    """A file of the run that may be handed over: listed in its result, a plain file, inside its artifacts."""
    result = run.result()
    if result is None or name not in _offered(result):
        return None
    path = run.artifacts / name
    inside = path.resolve().parent == run.artifacts.resolve()
    return path if inside and path.is_file() and not path.is_symlink() else None


def look_file(run: Run, name: str) -> Path | None:
    """A small picture that the page left in the folder of a run, see `ui.barycenter.looks`."""
    path = run.folder / "looks" / name
    return path if LOOK.fullmatch(name) and path.is_file() and not path.is_symlink() else None


def _looks(run: Run) -> list[Path]:
    names = sorted(path.name for path in (run.folder / "looks").glob("*.png"))
    return [path for name in names if (path := look_file(run, name))]


def _offered(result: dict[str, Any]) -> list[str]:
    exports = [_base(row.get("path")) for row in result.get("exports") or [] if isinstance(row, dict)]
    listed = (*_listed(result, "artifacts"), *_listed(result, "pictures"))
    return [name for name in (*exports, *listed, _base(result.get("report"))) if name]


def _listed(result: dict[str, Any] | None, key: str) -> list[str]:
    return [name for name in map(_base, (result or {}).get(key) or []) if name]


def _base(path: Any) -> str:
    """`artifacts/part.stl` -> `part.stl`; anything else that is not one plain name -> ''."""
    if not isinstance(path, str):
        return ""
    name = path.removeprefix("artifacts/")
    return name if RUN_ID.fullmatch(name) else ""


def _downloads(run: Run, run_id: str, result: dict[str, Any]) -> list[Download]:
    found = []
    order = list(KINDS)
    for name in sorted(_offered(result), key=lambda n: order.index(_kind(n)) if _kind(n) in order else len(order)):
        path = artifact(run, name)
        if path is None or name in _listed(result, "pictures"):
            continue
        label, about = _kind(name).upper(), KINDS.get(_kind(name), "")
        if name == "reanalysis.vtu":
            about = "stress on tetrahedra, ParaView"
        if name.startswith("design."):
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


def _job(config: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe", pure=True).load(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        return {}
    return data if isinstance(data, dict) else {}


def _kind_of(config: Path) -> str:
    """The kind of a job by the first line of its file, which is enough for a list of many runs."""
    try:
        with config.open(encoding="utf-8") as file:
            first = file.readline(200)
    except (OSError, UnicodeDecodeError):
        return "structure"
    return "barycenter" if first.strip() == "job: barycenter" else "structure"


def _tail(log: Path, lines: int = 60, most: int = 20_000) -> str:
    """The end of the log, without reading a long one whole."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - most))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


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


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _name_of(run_id: str) -> str:
    """`bracket-20261130-092011` -> `bracket`"""
    return re.sub(r"-\d{8}-\d{6}(-\d+)?$", "", run_id) or run_id
