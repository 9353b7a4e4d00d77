"""`formgrad jobs ...`: submit and sweep, watch, cancel, try again, collect, clean up."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from jobs.batch.store import Store

app = typer.Typer(
    name="jobs",
    help="Many jobs: queue, sweeps, workers, tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Root = Annotated[Path, typer.Option(help="Batch folder: the queue and the run folders.", envvar="FORMGRAD_ROOT")]
Entries = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Change entries, e.g. voxels.size=2.")
]
Queue = Annotated[bool, typer.Option("--queue", help="Only queue; `formgrad jobs resume` works it off.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Jobs, by the beginning of their id.")]
SweepName = Annotated[str | None, typer.Option(help="Name or id of a sweep; `last` is the newest.")]
ExecutorName = Annotated[str, typer.Option(help="local or ray.")]
Workers = Annotated[int | None, typer.Option(help="Jobs at the same time. Default: from cores and free memory.")]
Address = Annotated[str | None, typer.Option(help="Of a running Ray, e.g. 127.0.0.1:6379. Default: one of our own.")]
OrderName = Annotated[str, typer.Option(help="Which job goes next: guess_edf, rg, rg_x, shortest or fifo.")]
FairShare = Annotated[float, typer.Option(help="Part of all turns that goes by age, whatever the order says.")]
Preempt = Annotated[bool, typer.Option("--preempt/--no-preempt", help="Long jobs save themselves for urgent ones.")]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Cancel the rest as soon as one job has failed.")]
Cpus = Annotated[int | None, typer.Option(help="Cores of a job.")]
Gpus = Annotated[float | None, typer.Option(help="GPUs of a job, or a fraction of one.")]
Memory = Annotated[str | None, typer.Option(help="Of a job, e.g. 8GB.")]
Wall = Annotated[str | None, typer.Option(help="Time of one attempt, e.g. 2h.")]
Attempts = Annotated[int | None, typer.Option(help="How often a job that fails may be tried.")]
Priority = Annotated[int | None, typer.Option(help="Higher goes first.")]

DEFAULT = Path("runs")


@app.command()
def submit(
    file: Annotated[Path, typer.Argument(help="Job file (YAML).")],
    entries: Entries = None,
    root: Root = DEFAULT,
    queue: Queue = False,
    cpus: Cpus = None,
    gpus: Gpus = None,
    memory: Memory = None,
    wall: Wall = None,
    attempts: Attempts = None,
    priority: Priority = None,
    executor: ExecutorName = "local",
    workers: Workers = None,
    address: Address = None,
    order: OrderName = "guess_edf",
) -> None:
    """Queue one job and work the queue off. The same job as one that is done is not run again."""
    asked = _given(cpus=cpus, gpus=gpus, memory=memory, wall=wall, attempts=attempts, priority=priority)

    def work() -> int:
        from jobs.batch.queue import submit_job
        from jobs.batch.screen import print_submitted
        from jobs.spec import load_job

        found = submit_job(root, load_job(file, entries or []), _request(asked))
        print_submitted(found)
        return 0 if queue else _work_off(root, found.ids, None, executor, workers, address, order)

    end(work)


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="Sweep file, or a job file with axes on the command line (YAML).")],
    entries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUES]...", help="key=1,2,3, key=range(1,3,0.5), key=log(1e-3,1,4); or one value."
        ),
    ] = None,
    root: Root = DEFAULT,
    queue: Queue = False,
    name: Annotated[str | None, typer.Option(help="Of the sweep.")] = None,
    sampling: Annotated[str | None, typer.Option(help="grid, zip, latin_hypercube or random.")] = None,
    samples: Annotated[int | None, typer.Option(help="How many points are sampled.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the sampling.")] = None,
    cpus: Cpus = None,
    gpus: Gpus = None,
    memory: Memory = None,
    wall: Wall = None,
    attempts: Attempts = None,
    priority: Priority = None,
    executor: ExecutorName = "local",
    workers: Workers = None,
    address: Address = None,
    order: OrderName = "guess_edf",
    fair_share: FairShare = 0.1,
    preempt: Preempt = True,
    fail_fast: FailFast = False,
) -> None:
    """Queue a job once for every combination of values, and work the queue off."""
    asked = _given(cpus=cpus, gpus=gpus, memory=memory, wall=wall, attempts=attempts, priority=priority)
    options = _given(name=name, sampling=sampling, samples=samples, seed=seed)

    def work() -> int:
        from jobs.batch.queue import submit_sweep
        from jobs.batch.screen import print_submitted
        from jobs.batch.sweep import load_sweep

        made = load_sweep(file, entries or [], resources=asked or None, **options)
        found = submit_sweep(root, made)
        print_submitted(found, made.name)
        rules = {"fail_fast": fail_fast, "fair_share": fair_share, "preempt": preempt}
        return 0 if queue else _work_off(root, found.ids, found.sweep, executor, workers, address, order, **rules)

    end(work)


@app.command()
def resume(
    root: Root = DEFAULT,
    executor: ExecutorName = "local",
    workers: Workers = None,
    address: Address = None,
    order: OrderName = "guess_edf",
    fair_share: FairShare = 0.1,
    preempt: Preempt = True,
    fail_fast: FailFast = False,
    serve: Annotated[bool, typer.Option("--serve", help="Stay, and wait for more jobs.")] = False,
) -> None:
    """Work the queue off: what waits, what was stopped, and what a killed scheduler left behind."""

    def work() -> int:
        from jobs.batch.store import Store

        Store(root).close()  # refuses where there is no batch
        rules = {"fail_fast": fail_fast, "fair_share": fair_share, "preempt": preempt, "serve": serve}
        return _work_off(root, None, None, executor, workers, address, order, **rules)

    end(work)


@app.command("ls")
def list_jobs(
    root: Root = DEFAULT,
    sweep: SweepName = None,
    state: Annotated[str | None, typer.Option(help="Only these states, e.g. failed,lost.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many, the newest first.")] = 100,
    sweeps: Annotated[bool, typer.Option("--sweeps", help="List sweeps.")] = False,
) -> None:
    """List jobs, or sweeps."""

    def work() -> int:
        import time

        from jobs.batch.screen import count_words, jobs_table, sweeps_table
        from jobs.batch.store import Store
        from jobs.screen import console

        with Store(root) as store:
            if sweeps:
                console.print(sweeps_table(store))
                return 0
            chosen = store.sweep(sweep)["id"] if sweep else None
            rows = store.list_jobs(chosen, state.split(",") if state else (), limit)
            console.print(jobs_table(rows, time.time()))
            more = f"; the first {limit} are shown, --limit shows more" if len(rows) == limit else ""
            console.print(count_words(store.counts(chosen)) + more)
        return 0

    end(work)


@app.command()
def show(id: Annotated[str, typer.Argument(help="Job, by the beginning of its id.")], root: Root = DEFAULT) -> None:
    """Show one job: attempts, progress, result, files."""

    def work() -> int:
        from jobs.batch.screen import print_job
        from jobs.batch.store import Store

        with Store(root) as store:
            print_job(store, store.job(id))
        return 0

    end(work)


@app.command()
def logs(
    id: Annotated[str, typer.Argument(help="Job, by the beginning of its id.")],
    root: Root = DEFAULT,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", help="Only the last ones; 0 means all.")] = 0,
) -> None:
    """Show what a job said."""

    def work() -> int:
        from jobs.batch.logs import follow_log, last_lines
        from jobs.batch.store import Store

        with Store(root) as store:
            job = store.job(id)
            path = root / job["folder"] / "log.txt"
            for text in follow_log(store, job["id"], path, lines) if follow else [last_lines(path, lines)]:
                typer.echo(text, nl=False)
        return 0

    end(work)


@app.command()
def top(root: Root = DEFAULT, once: Annotated[bool, typer.Option("--once", help="Draw once.")] = False) -> None:
    """Watch what runs, until Ctrl-C."""

    def work() -> int:
        import time

        from jobs.batch.screen import LiveView
        from jobs.batch.store import Store
        from jobs.screen import console

        with Store(root) as store, LiveView(root) as view:
            if once or not console.is_terminal:
                console.print(view.draw(store))
                return 0
            while True:
                view.look(store)
                time.sleep(0.5)

    end(work)


@app.command()
def cancel(
    ids: Ids = None,
    root: Root = DEFAULT,
    sweep: SweepName = None,
    everything: Annotated[bool, typer.Option("--all", help="All that waits or runs.")] = False,
) -> None:
    """Take jobs out of the queue; running ones finish their step, save and stop."""

    def work() -> int:
        from jobs.batch.queue import cancel as cancel_jobs
        from jobs.batch.store import ACTIVE, WAITING, Store

        with Store(root) as store:
            chosen = _chosen(store, ids, sweep, everything, (*WAITING, *ACTIVE))
        cancel_jobs(root, chosen)
        typer.echo(f"{len(chosen)} jobs cancelled")
        return 0

    end(work)


@app.command()
def retry(
    ids: Ids = None,
    root: Root = DEFAULT,
    sweep: SweepName = None,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed, were lost or ran out of time.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also jobs that succeeded, from the beginning.")] = False,
    queue: Queue = False,
    executor: ExecutorName = "local",
    workers: Workers = None,
    address: Address = None,
    order: OrderName = "guess_edf",
) -> None:
    """Queue jobs that ended badly once more, and work the queue off."""

    def work() -> int:
        from jobs.batch.queue import retry as retry_jobs
        from jobs.batch.store import Store

        bad = ("failed", "lost", "timed_out")
        states = (*bad, "cancelled", *(("succeeded",) if again else ())) if not failed else bad
        with Store(root) as store:
            chosen = _chosen(store, ids, sweep, failed, states)
        retry_jobs(root, chosen, again=again)
        typer.echo(f"{len(chosen)} jobs queued again")
        return 0 if queue or not chosen else _work_off(root, chosen, None, executor, workers, address, order)

    end(work)


@app.command()
def table(
    sweep: Annotated[str, typer.Argument(help="Name or id of a sweep, `last`, or `all` jobs.")] = "last",
    root: Root = DEFAULT,
    columns: Annotated[str | None, typer.Option(help="Results to show, e.g. compliance,mass_kg.")] = None,
    sort: Annotated[str | None, typer.Option(help="By this column.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write everything here, .csv or .parquet.")] = None,
    pareto: Annotated[str | None, typer.Option(help="Mark the best compromises, e.g. compliance,mass_kg:min.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them, .png or .html.")] = None,
) -> None:
    """Show the results of a sweep side by side."""

    def work() -> int:
        from jobs.batch.report import Wanted, report
        from jobs.batch.store import Store

        with Store(root) as store:
            report(store, sweep, Wanted(columns.split(",") if columns else [], sort, csv, pareto, plot))
        return 0

    end(work)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="File to write: .csv or .parquet.")],
    sweep: Annotated[str, typer.Argument(help="Name or id of a sweep, `last`, or `all` jobs.")] = "all",
    root: Root = DEFAULT,
) -> None:
    """Write every column of every job to one file."""

    def work() -> int:
        from jobs.batch.store import Store
        from jobs.batch.table import result_rows, write_table

        with Store(root) as store:
            rows = result_rows(store, None if sweep == "all" else store.sweep(sweep)["id"])
        write_table(rows, out)
        typer.echo(f"{out}: {len(rows)} jobs")
        return 0

    end(work)


@app.command()
def gc(
    root: Root = DEFAULT,
    older: Annotated[str, typer.Option(help="Only what ended longer ago than this, e.g. 30d.")] = "30d",
    state: Annotated[str | None, typer.Option(help="Only these states, e.g. failed,cancelled.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Forget old jobs, and remove their run folders and unused inputs."""

    def work() -> int:
        from jobs.batch.housekeeping import collect
        from jobs.batch.request import read_duration
        from jobs.batch.store import FINAL
        from jobs.errors import JobError

        states = tuple(state.split(",")) if state else FINAL
        if unknown := set(states) - set(FINAL):
            raise JobError(f"state: {', '.join(sorted(unknown))} is none of {', '.join(FINAL)}")
        freed = collect(root, read_duration(older), states=states, dry=dry_run)
        verb = "would be removed" if dry_run else "removed"
        typer.echo(f"{freed.jobs} jobs and {len(freed.folders)} folders {verb}, {freed.bytes / 1e6:.1f} MB")
        return 0

    end(work)


@app.command()
def simulate(
    sweep: Annotated[str, typer.Argument(help="Name or id of a sweep, `last`, or `all` jobs.")] = "all",
    root: Root = DEFAULT,
    machines: Annotated[int, typer.Option(help="Jobs at the same time.")] = 1,
    fair_share: Annotated[float, typer.Option(help="Part of the machines that all waiting jobs share equally.")] = 0.0,
) -> None:
    """Replay finished jobs under every order, interruptions allowed: how long would each have waited?"""

    def work() -> int:
        from jobs.batch.screen import stretch_table
        from jobs.batch.simulation import replay
        from jobs.batch.store import Store
        from jobs.screen import console

        with Store(root) as store:
            console.print(stretch_table(replay(store, sweep, machines, fair_share)))
        return 0

    end(work)


@app.command()
def doctor(root: Root = DEFAULT) -> None:
    """Look for what is wrong: locks, orphans, disk, results. Exit code 2 if something is."""

    def work() -> int:
        from jobs.batch.housekeeping import examine
        from jobs.batch.screen import print_findings

        findings = list(examine(root))
        print_findings(findings)
        return 2 if any(finding.remedy for finding in findings) else 0

    end(work)


def end(work: Callable[[], int]) -> None:
    """As `jobs.commands.ending.end`, without the errors of the workshops: a queue never meets them, and they are slow
    to load."""
    from jobs.errors import JobError, RunFolderError

    try:
        code = work()
    except (JobError, RunFolderError) as error:
        typer.echo(f"formgrad: {error}", err=True)
        code = 2
    except KeyboardInterrupt:
        code = 130
    raise typer.Exit(code)


def _given(**options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _request(asked: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    from jobs.batch.request import Request
    from jobs.errors import JobError
    from jobs.spec import sentence

    try:
        return Request(**{"nice": 0, **asked})
    except ValidationError as error:
        raise JobError(sentence(error)) from error


def _chosen(
    store: "Store", ids: list[str] | None, sweep: str | None, all_of_them: bool, states: tuple[str, ...]
) -> list[str]:
    from jobs.errors import JobError

    if ids:
        return [store.job(id)["id"] for id in ids]
    if sweep is None and not all_of_them:
        raise JobError("which jobs? Give ids, or a --sweep, or see --help")
    return [row["id"] for row in store.list_jobs(store.sweep(sweep)["id"] if sweep else None, states)]


def _work_off(
    root: Path,
    ids: Sequence[str] | None,
    sweep: str | None,
    executor: str,
    workers: int | None,
    address: str | None,
    order: str,
    **rules: Any,
) -> int:
    """Be the scheduler, or watch the one that is there. -> exit code

    Args:
        rules: more for `jobs.batch.queue.work_off`.
    """
    from jobs.batch.lock import scheduler_alive
    from jobs.batch.queue import wait_for, work_off
    from jobs.batch.screen import LiveView, print_ending
    from jobs.batch.store import Store

    whole = True
    with LiveView(root, sweep) as view:
        if ids is not None and scheduler_alive(root):
            typer.echo("handed to the scheduler that is at work; Ctrl-C only stops watching")
            wait_for(root, ids, view.look)
        else:
            whole = work_off(
                root,
                executor=executor,
                workers=workers,
                address=address,
                order=order,
                **rules,
                on_turn=lambda scheduler: view.look(scheduler.store),
            )
    with Store(root) as store:
        code = print_ending(store, ids)
    if not whole:
        typer.echo("Stopped and saved. Continue with: formgrad jobs resume")
        return 75
    return code
