"""`formgrad jobs ...` and its Python twin, on probes."""

import csv
import json
import time

import pytest
from batches import jobs_of, queue_probes, work_off
from rich.console import Console
from typer.testing import CliRunner

import jobs
from jobs.batch.history import predictor, trace
from jobs.batch.housekeeping import collect
from jobs.batch.pareto import Objective, front, objectives, plot_front
from jobs.batch.results_table import results_table
from jobs.batch.store import Store
from jobs.batch.table import shown_columns, write_table
from jobs.commands.batch import app
from jobs.commands.schema import job_schema
from jobs.errors import JobError, RunFolderError


def formgrad(root, *words):
    return CliRunner().invoke(app, [*map(str, words), "--root", str(root)], env={"COLUMNS": "200"})


@pytest.fixture
def done(root):
    """A sweep of six that has been worked off: four succeed, two fail."""
    ids = queue_probes(root, "seed=1,2", "fault=none,none,refuse", base={"steps": 2, "name": "p"})
    ids += queue_probes(root, "seed=3,4", base={"steps": 3, "name": "q"})
    assert work_off(root)
    return root, list(dict.fromkeys(ids))


def refused(answer, *words):
    assert answer.exit_code == 2, answer.output
    lines = [line for line in answer.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("formgrad: ") and all(w in lines[0] for w in words), lines


@pytest.mark.parametrize(
    "words",
    [
        "ls",
        "show 3",
        "logs 3",
        "top --once",
        "cancel 3",
        "retry 3",
        "resume",
        "table",
        "export x.csv",
        "gc",
        "simulate",
        "doctor",
    ],
)
def test_every_command_says_that_there_is_no_batch(tmp_path, words):
    refused(formgrad(tmp_path / "none", *words.split()), "holds no batch: submit a job first")


def test_listing_showing_logs_and_tables(done, tmp_path):
    root, ids = done
    listed = formgrad(root, "ls")
    assert listed.exit_code == 0
    assert all(id[:8] in listed.output for id in ids) and "4 succeeded, 2 failed" in listed.output
    assert formgrad(root, "ls", "--state", "failed").output.count("refused") == 2
    assert "2 succeeded, 2 failed" in formgrad(root, "ls", "--sweeps").output
    shown = formgrad(root, "show", ids[0][:6])
    assert ids[0] in shown.output and "succeeded" in shown.output
    assert "optimise: counting" in formgrad(root, "logs", ids[0][:6]).output
    assert formgrad(root, "logs", ids[0][:6], "-n", 1, "-f").output.count("\n") == 1
    table = formgrad(root, "table", "all", "--csv", tmp_path / "t.csv", "--sort", "value")
    assert table.exit_code == 0 and "value" in table.output
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(rows) == 6 and {row["state"] for row in rows} == {"succeeded", "failed"}
    values = [float(row["value"]) for row in rows if row["value"]]
    assert values == sorted(values)
    assert formgrad(root, "top", "--once").exit_code == 0
    assert formgrad(root, "doctor").exit_code == 0
    replayed = formgrad(root, "simulate", "--machines", 2)
    assert replayed.exit_code == 0 and "guess_edf" in replayed.output and "fifo" in replayed.output


def test_the_history_is_a_trace(done):
    root, _ = done
    with Store(root) as store:
        found = trace(store)
        guess = predictor(store)("probe", {"steps": 2.0})
    assert len(found) == 4 and [t.released_at for t in found] == sorted(t.released_at for t in found)
    assert all(0 < t.size < t.ended - t.released_at and t.cpus == 1 for t in found)
    assert guess.known and guess.low <= guess.median <= guess.high


def test_a_job_that_states_its_memory_and_threads_gets_them(root):
    from jobs.batch.queue import submit_job
    from jobs.spec import parse_job

    job = parse_job({"preset": {"name": "mbb_beam"}, "resources": {"memory_gb": 3, "threads": 2}})
    (id,) = submit_job(root, job).ids
    request = json.loads(jobs_of(root, [id])[0]["request_json"])
    assert (request["memory"], request["cpus"]) == (3.0, 2)


def test_refusals_are_one_sentence(done, tmp_path):
    root, _ = done
    refused(formgrad(tmp_path / "nothing", "ls"), "holds no batch")
    refused(formgrad(root, "show", "zzz"), "no job 'zzz'")
    refused(formgrad(root, "table", "nothing"), "no sweep 'nothing'")
    refused(formgrad(root, "table", "all", "--columns", "valve"), "did you mean 'value'")
    refused(formgrad(root, "export", tmp_path / "t.xls"), ".csv or a .parquet")
    refused(formgrad(root, "cancel"), "which jobs")
    refused(formgrad(root, "gc", "--older", "soon"), "30min")
    refused(formgrad(root, "resume", "--order", "lifo"), "fifo")
    refused(formgrad(root, "simulate", "--fair-share", 2), "fair_share")
    refused(formgrad(root, "resume", "--executor", "slurm"), "local or ray")
    refused(formgrad(root, "submit", tmp_path / "no.yaml"), "does not exist")
    refused(formgrad(root, "table", "all", "--pareto", "value"), "two different columns")


def test_a_beginning_that_two_jobs_share_is_refused(root):
    ids = queue_probes(root, "seed=range(1,17)")  # more jobs than hexadecimal digits
    first = [id[0] for id in ids]
    shared = next(letter for letter in first if first.count(letter) > 1)
    with Store(root) as store, pytest.raises(JobError, match="more than one"):
        store.job(shared)


def test_submitting_runs_caches_and_counts(root, tmp_path):
    (tmp_path / "job.yaml").write_text("job: probe\nname: one\nsteps: 2\n")
    first = formgrad(root, "submit", tmp_path / "job.yaml", "seed=5", "--memory", "300MB", "--workers", 1)
    assert first.exit_code == 0 and "1 new" in first.output and "1 succeeded" in first.output
    second = formgrad(root, "submit", tmp_path / "job.yaml", "seed=5", "name=other", "--workers", 1)
    assert second.exit_code == 0 and "1 done before (cached)" in second.output
    third = formgrad(root, "sweep", tmp_path / "job.yaml", "seed=5,6", "--queue")
    assert "1 new, 1 done before" in third.output
    cancelled = formgrad(root, "cancel", "--all")
    assert "1 jobs cancelled" in cancelled.output
    assert "1 succeeded, 1 cancelled" in formgrad(root, "ls").output


def test_the_python_twin(root):
    runner = jobs.Runner(workers=1)
    id = jobs.submit({"job": "probe", "seed": 1}, root=root, runner=runner, memory="300MB")
    assert jobs_of(root, [id])[0]["state"] == "succeeded"
    sweep = jobs.sweep({"job": "probe"}, {"seed": [1, 2], "steps": "1,2"}, root=root, run=False, name="four")
    found = jobs.results("four", root=root)
    assert list(found["state"]) == ["succeeded", "queued", "queued", "queued"]
    assert list(found["seed"]) == [1, 1, 2, 2] and list(found["steps"]) == [1, 2, 1, 2]
    assert work_off(root)
    found = jobs.results(sweep, root=root)
    assert found["value"].between(0, 1).all() and found["value"].nunique() == 4
    assert len(jobs.results("all", root=root)) == 4
    with pytest.raises(JobError, match="unknown key"):
        jobs.submit({"job": "probe", "sede": 1}, root=root)


def test_a_thousand_queued_jobs_are_listed_at_once(root):
    queue_probes(root, "seed=range(1,1000)")
    asked = []
    with Store(root) as store:
        store.connection.set_trace_callback(asked.append)
        started = time.perf_counter()
        rows = store.list_jobs()
        seconds = time.perf_counter() - started
        store.connection.set_trace_callback(None)
        plan = " ".join(row["detail"] for row in store.rows(f"EXPLAIN QUERY PLAN {asked[0]}"))
    assert len(rows) == 1000
    # One query; attempts are found by their key, not by looking through them all.
    assert len(asked) == 1 and plan.count("SEARCH a USING PRIMARY KEY") == 2
    assert seconds < 0.2
    assert rows[0]["name"].endswith("1000"), "the newest first"


def test_parquet_and_formulas_in_cells(tmp_path):
    rows = [{"index": 1, "name": "=1+1", "value": 0.5}, {"index": 2, "name": "b", "value": None}]
    write_table(rows, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines() == ["index,name,value", "1,'=1+1,0.5", "2,b,"]
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pandas

    write_table(rows, tmp_path / "t.parquet")
    assert pandas.read_parquet(tmp_path / "t.parquet")["value"].tolist()[0] == 0.5


def test_the_front_of_known_points(tmp_path):
    points = [(1, 9), (2, 5), (3, 6), (4, 4), (5, 4), (6, 1), (1, 9)]
    rows = [{"index": k, "name": f"n{k}", "a": a, "b": b} for k, (a, b) in enumerate(points)] + [{"index": 9, "a": 0}]
    goals = objectives("a,b:min")
    assert [(r["a"], r["b"]) for r in front(rows, goals)] == [(1, 9), (1, 9), (2, 5), (4, 4), (6, 1)]
    assert [(r["a"], r["b"]) for r in front(rows, [Objective("a", "max"), Objective("b", "max")])] == [
        (6, 1),
        (5, 4),
        (3, 6),
        (1, 9),
        (1, 9),
    ]
    for name in ("front.png", "front.html"):
        plot_front(rows, goals, tmp_path / name, "<title>")
        assert (tmp_path / name).stat().st_size > 5000
    page = (tmp_path / "front.html").read_text()
    assert "<script src=" not in page, "it must work offline"
    with pytest.raises(JobError, match="png"):
        plot_front(rows, goals, tmp_path / "front.gif", "")


def test_collecting_removes_only_what_is_old_and_unused(root, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    ids = queue_probes(root, "seed=1,2", base={"data": str(tmp_path / "a.txt")})
    assert work_off(root)
    assert collect(root, 3600).jobs == 0
    with Store(root, write=True) as store:
        store.set_job(ids[0], ended=time.time() - 7200)
    dry = collect(root, 3600, dry=True)
    assert dry.jobs == 1 and dry.bytes > 0 and (root / dry.folders[0]).is_dir()
    assert collect(root, 3600).folders == dry.folders
    assert not (root / dry.folders[0]).exists() and list((root / "inputs").iterdir()), "the other job uses the input"
    assert collect(root, 0).jobs == 1
    assert not list((root / "inputs").iterdir())
    with Store(root) as store:
        assert store.counts() == {} and not store.rows("SELECT * FROM sweeps")


def test_a_wide_sweep_fits_a_narrow_screen_and_names_what_it_leaves_out():
    rows = [
        {
            "index": k,
            "id": f"{k:020d}",
            "name": f"bearing bracket {k}",
            "state": "succeeded",
            "optimize.filter_radius": k,
        }
        | {"volume_fraction": 0.1 * k, "compliance": 1e5 / 3 + k, "mass_kg": 2.0 - k, "seconds": 1.0 * k}
        for k in (1, 2)
    ]
    names, keep = shown_columns(rows, ["optimize.filter_radius"], ["compliance"], [])
    assert names[:keep] == ["index", "optimize.filter_radius", "compliance"]
    shown = results_table(rows, names, rows[:1], 60, keep)
    console = Console(width=60)
    with console.capture() as capture:
        console.print(shown.table)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 60 and len(lines) == 8  # the longest head has three lines, each job one
    assert all(text in capture.get() for text in ("1 *", "33334", "33335", "filter_", "radius", "compliance"))
    assert "name" in shown.left_out and set(shown.left_out).isdisjoint(names[:keep])


def test_a_result_that_repeats_a_value_is_not_shown_twice():
    rows = [{"index": k, "state": "failed", "optimize.volume": k, "volume": k, "mass": k * k} for k in (1, 2)]
    names, keep = shown_columns(rows, ["optimize.volume"], [], [])
    assert names[:keep] == ["index", "state", "optimize.volume"] and "volume" not in names and "mass" in names
    assert "volume" in shown_columns(rows, ["optimize.volume"], [], ["volume"])[0]


def test_doctor_finds_what_is_wrong(done):
    root, ids = done
    (job,) = jobs_of(root, ids[:1])
    (root / job["folder"] / "result.json").write_text("{}")
    with Store(root, write=True) as store:
        store.insert("attempts", job_id=ids[0], n=7, worker="", lease_until=0, started=0)
    answer = formgrad(root, "doctor")
    assert answer.exit_code == 2
    assert "1 are gone or were changed" in answer.output and "1 open, 1 without a sign of life" in answer.output
    (root / "batch.sqlite").write_bytes(b"not a database at all" * 500)
    for name in ("batch.sqlite-wal", "batch.sqlite-shm"):
        (root / name).unlink(missing_ok=True)
    with pytest.raises(RunFolderError, match="damaged"):
        Store(root)


def test_schemas_hold_every_entry():
    from pydantic import TypeAdapter

    whole = job_schema()
    assert {"structure", "barycenter"} <= {
        whole["$defs"][ref["$ref"].rpartition("/")[2]]["properties"]["job"]["const"] for ref in whole["oneOf"]
    }
    one = job_schema("structure")
    assert one["required"] == ["job"] and one["additionalProperties"] is False and "voxels" in one["properties"]
    assert set(job_schema("sweep")["properties"]) >= {"base", "sweep", "class", "objectives"}
    assert json.loads(json.dumps(whole)) == whole
    with pytest.raises(JobError, match="choose one of"):
        job_schema("nothing")
    assert TypeAdapter(dict).validate_python(whole)
