"""Run folders as the page sees them: read-only, by id, and never a file outside them."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jobs.errors import RunFolderError
from jobs.store import Run
from ui.downloads import FILE_NAME, Download, artifact, downloads, listed

RUN_ID = FILE_NAME
LOOK = re.compile(r"(preview|input-[1-8]|fields)\.png|outlines\.svg")
JOB_LINE = re.compile(r"job: ([a-z]\w{0,40})")
ACTIVE = ("queued", "running")


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
        looks: small pictures in the folder while it runs, by name: fields, outlines; of a barycenter, what was put in
            and a preview. Their addresses change with them.
        stopping: a stop was asked for, and the step under way is still being finished.
        stamp: changes whenever something of the run has changed that the page shows.
        beside: the run that this one is compared with, itself without one. second: this one stands after it.
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
    beside: "RunView | None" = None
    second: bool = False

    @property
    def pair(self) -> "tuple[RunView, RunView] | None":
        """The two runs of a comparison, in the order in which they were asked for."""
        if self.beside is None:
            return None
        return (self.beside, self) if self.second else (self, self.beside)

    @property
    def state(self) -> str:
        return str(self.status.get("state", "queued"))

    @property
    def kind(self) -> str:
        """Of the job, a name of `jobs.kinds.KINDS`."""
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
    """Everything the page shows of one run, and of the run that it is compared with.

    Raises:
        RunFolderError: as `find_run`.
    """
    found = _alone(root, run_id)
    try:
        told = json.loads((root / run_id / "beside.json").read_text(encoding="utf-8"))
        other = _alone(root, str(told["run"]))
    except (OSError, ValueError, TypeError, KeyError, RunFolderError):  # none, or it is gone
        return found
    stamp = f"{found.stamp} {other.stamp}"
    return replace(found, beside=other, second=told.get("place") == "second", stamp=stamp)


def _alone(root: Path, run_id: str) -> RunView:
    run = find_run(root, run_id)
    status, rows, result = run.status(), run.progress(), run.result()
    preview, looks = _modified(run.preview), {path: _modified(path) for path in _looks(run)}
    stopping = status.get("state") in ACTIVE and (run.folder / "stop").exists()
    seen = f"{len(rows)} {preview} {max(looks.values(), default=0.0)} {result is not None}"
    stamp = f"{stopping} {status.get('state')} {status.get('updated')} {seen}"
    return RunView(
        id=run_id,
        status=status,
        job=_job(run.config),
        rows=rows,
        result=result,
        preview=f"/runs/{run_id}/preview.glb?at={preview:.3f}" if preview else None,
        downloads=downloads(run, run_id, result) if result else [],
        pictures=[f"/runs/{run_id}/files/{name}" for name in listed(result, "pictures") if artifact(run, name)],
        looks={path.stem: f"/runs/{run_id}/looks/{path.name}?at={time:.3f}" for path, time in looks.items()},
        log=_tail(run.log),
        stopping=stopping,
        stamp=stamp,
    )


def look_file(run: Run, name: str) -> Path | None:
    """A small picture in the folder of a run, left by its worker or by the page."""
    path = run.folder / "looks" / name
    return path if LOOK.fullmatch(name) and path.is_file() and not path.is_symlink() else None


def _looks(run: Run) -> list[Path]:
    names = sorted(path.name for path in (run.folder / "looks").glob("*.*"))
    return [path for name in names if (path := look_file(run, name))]


def _job(config: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe", pure=True).load(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        return {}
    return data if isinstance(data, dict) else {}


def _kind_of(config: Path) -> str:
    """The kind of a job by the first lines of its file, which is enough for a list of many runs."""
    try:
        with config.open(encoding="utf-8") as file:
            lines = [file.readline(200).strip() for _ in range(3)]
    except (OSError, UnicodeDecodeError):
        return "structure"
    return next((found[1] for line in lines if (found := JOB_LINE.fullmatch(line))), "structure")


def _tail(log: Path, lines: int = 60, most: int = 20_000) -> str:
    """The end of the log, without reading a long one whole."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - most))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _name_of(run_id: str) -> str:
    """`bracket-20261130-092011` -> `bracket`"""
    return re.sub(r"-\d{8}-\d{6}(-\d+)?$", "", run_id) or run_id
