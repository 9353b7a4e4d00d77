"""The job kind `hybrid`: few solves on the command line, the log in the run folder, and what is refused."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jobs.cli import app
from jobs.errors import JobError
from jobs.hybrid_spec import FAMILIES
from jobs.spec import parse_job


def test_families_are_those_of_the_recipes() -> None:
    from operators.recipes import PLACES

    assert list(PLACES) == list(FAMILIES)


def test_a_member_of_a_family_is_solved_with_few_solves(tmp_path: Path) -> None:
    runner, found = CliRunner(), {}
    for method in ("hybrid_corrected", "solver_only"):
        out = tmp_path / method
        ran = runner.invoke(app, ["pde", "run", "inversion", "member=105", f"method={method}", "--out", str(out)])
        assert ran.exit_code == 0, ran.output
        found[method] = json.loads((out / "result.json").read_text())
    ours, alone = found["hybrid_corrected"], found["solver_only"]
    assert ours["objective"] <= 1.01 * alone["objective"]
    log = json.loads((tmp_path / "hybrid_corrected" / "artifacts" / "log.json").read_text())
    # To within 0.5 % of what the solver reaches alone: a fifth of its solves.
    near = next(line for line in log if line["best"] <= 1.005 * alone["objective"])
    assert near["forward"] + near["adjoint"] <= 0.2 * (alone["counts"]["forward"] + alone["counts"]["adjoint"])
    assert log[-1]["forward"] == ours["counts"]["forward"]
    assert min(line["best"] for line in log) == ours["objective"]


@pytest.mark.parametrize(
    ("changed", "words"), [({"problem": "darcy"}, "no family 'darcy'"), ({"method": "magic"}, "method")]
)
def test_what_does_not_exist_is_refused(changed: dict[str, str], words: str) -> None:
    with pytest.raises(JobError, match=words):
        parse_job({"job": "hybrid", **changed})
