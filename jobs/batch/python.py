"""The command line's twin for Python: `jobs.submit`, `jobs.sweep`, `jobs.results`.

import jobs

jobs.sweep("bracket.yaml", {"optimize.volume_fraction": [0.2, 0.3, 0.4]})
jobs.results().plot.scatter("volume_fraction", "compliance")
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.job import Job

if TYPE_CHECKING:
    import pandas

Spec = Job | Mapping[str, Any] | str | Path


@dataclass(frozen=True)
class Runner:
    """How a queue is worked off; see `jobs.batch.queue.work_off`."""

    executor: str = "local"
    workers: int | None = None
    address: str | None = None
    order: str = "guess_edf"
    fail_fast: bool = False
    fair_share: float = 0.1
    preempt: bool = True


def submit(
    spec: Spec, *, root: str | Path = "runs", run: bool = True, runner: Runner | None = None, **resources: Any
) -> str:
    """Queue one job, and work the queue off unless `run` is False. -> id of the job

    Args:
        spec: a job, a mapping, or a job file. resources: cpus, gpus, memory, wall, attempts, priority.

    Raises:
        JobError: the job cannot be right. RunFolderError: the batch folder cannot be used.
    """
    from jobs.batch.queue import submit_job
    from jobs.batch.request import Request

    found = submit_job(Path(root), _job(spec), Request(**{"nice": 0, **resources}))
    _run(Path(root), found.ids, run, runner)
    return found.ids[0]


def sweep(
    spec: Spec,
    over: Mapping[str, Any] | None = None,
    *,
    root: str | Path = "runs",
    run: bool = True,
    runner: Runner | None = None,
    **options: Any,
) -> str:
    """Queue a job once for every combination of values, and work the queue off. -> id of the sweep

    Args:
        spec: a job as in `submit`, or a sweep file. over: dotted entries and their values, a list or a text such as
            "range(1, 3, 0.5)" each. options: name, sampling, samples, seed, resources, objectives.

    Raises:
        JobError: the sweep, or one of its jobs, cannot be right. RunFolderError: the batch folder cannot be used.
    """
    from jobs.batch.queue import submit_sweep
    from jobs.batch.sweep import make_sweep
    from jobs.spec import read_yaml

    base = None
    if isinstance(spec, str | Path):
        base, data = Path(spec).parent, read_yaml(Path(spec))
    else:
        data = spec.model_dump(mode="json") if isinstance(spec, Job) else dict(spec)
    data = data if "base" in data else {"base": data}
    data = {**data, "sweep": {**data.get("sweep", {}), **(over or {})}}
    found = submit_sweep(Path(root), make_sweep(data, (), base, **options))
    _run(Path(root), found.ids, run, runner)
    return found.sweep


def results(sweep: str | None = None, *, root: str | Path = "runs") -> "pandas.DataFrame":
    """One row per job: what varied, the state, and every number of the result.

    Args:
        sweep: name or id of one; None takes the newest, "all" every job.

    Raises:
        RunFolderError: there is no batch. JobError: there is no such sweep.
    """
    from jobs.batch.store import Store
    from jobs.batch.table import frame, result_rows

    with Store(Path(root)) as store:
        word = sweep or "last"
        return frame(result_rows(store, None if word == "all" else store.sweep(word)["id"]))


def _job(spec: Spec) -> Job:
    from jobs.spec import load_job, parse_job

    if isinstance(spec, Job):
        return spec
    return parse_job(spec, base=Path.cwd()) if isinstance(spec, Mapping) else load_job(Path(spec))


def _run(root: Path, ids: Sequence[str], run: bool, runner: Runner | None) -> None:
    from dataclasses import asdict

    from jobs.batch.lock import scheduler_alive
    from jobs.batch.queue import wait_for, work_off

    if not run:
        return
    if scheduler_alive(root):
        wait_for(root, ids)
    else:
        work_off(root, **asdict(runner or Runner()))
