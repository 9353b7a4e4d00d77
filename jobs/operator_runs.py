"""Stored runs for operators: which are there, in one folder or in many, and which of them are learnt from."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.errors import JobError

if TYPE_CHECKING:
    from operators.trajectories import Run


def runs_in(folders: Iterable[Path]) -> dict[int, Path]:
    """Number -> file of every run, in folders of runs and in run folders of jobs that made some.

    Raises:
        JobError: a folder holds no runs.
    """
    found: dict[int, Path] = {}
    for folder in folders:
        place = folder / "artifacts" if (folder / "config.yaml").is_file() else folder
        files = {int(path.stem.removeprefix("run-")): path for path in place.glob("run-[0-9]*.h5")}
        if not files:
            raise JobError(f"{folder} holds no runs: make them with `formgrad operator data`, or the job operator_data")
        found = {**files, **found}
    return dict(sorted(found.items()))


def some_of(found: Mapping[int, Path], numbers: range, place: str = "data") -> list[int]:
    """The runs that are there among `numbers`.

    Raises:
        JobError: fewer than two.
    """
    there = [number for number in found if number in numbers]
    if len(there) < 2:
        raise JobError(
            f"{place} holds {len(there)} of the runs {numbers.start} to {numbers.stop - 1}, two are needed: "
            "make them with `formgrad operator data`"
        )
    return there


def learnt_and_judged(numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    """The last tenth of the runs chooses the best weights, whole runs; the others are learnt from."""
    count = max(1, len(numbers) // 10)
    return list(numbers[:-count]), list(numbers[-count:])


def read_runs(found: Mapping[int, Path], numbers: Iterable[int]) -> "list[Run]":
    """Raises: OperatorError, a file is damaged."""
    from operators.trajectories import read

    return [run for number in numbers for run in read(found[number].parent, [number])]
