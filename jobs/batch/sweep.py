"""Sweeps: one job, many values. A file, or a job file and axes on the command line.

name: bracket weight             # of the sweep
base: bracket.yaml               # the job, relative to this file; or the job itself
set: {voxels.size: 4}            # for all jobs
sweep:                           # dotted entries and their values, see jobs.batch.axes
  optimize.volume_fraction: [0.2, 0.3, 0.4]
  optimize.filter_radius: range(8, 12, 2)
sampling: grid                   # or zip, latin_hypercube, random; with samples and seed
resources: {cpus: 1, memory: 4GB, wall: 1h, attempts: 3}
class: [body.file, voxels.size]  # jobs that agree in these share what is expensive to load
objectives: {compliance: min, volume_fraction: min}
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from jobs.batch.axes import axis, is_swept
from jobs.batch.classes import default_class, entry
from jobs.batch.request import Request
from jobs.batch.sampling import Point, Sampling, points
from jobs.errors import JobError
from jobs.job import Job
from jobs.spec import parse_job, read_yaml, refuse_unknown_keys, sentence
from jobs.strict import JobName, Strict


class SweepSpec(Strict):
    """A sweep as it may be stated."""

    name: JobName | None = None
    base: Path | dict[str, Any]
    set: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies defaults)
    sweep: dict[str, Any] = {}  # noqa: RUF012
    sampling: Sampling = "grid"
    samples: Annotated[int, Field(ge=1)] | None = None
    seed: int = 0
    resources: Request = Request()
    class_keys: list[str] = Field(default=[], alias="class")
    objectives: dict[str, Literal["min", "max"]] = {}  # noqa: RUF012


@dataclass(frozen=True)
class Member:
    """One job of a sweep and the values that make it different."""

    job: Job
    values: Point


@dataclass(frozen=True)
class Sweep:
    """A sweep whose every job has been checked."""

    name: str
    spec: SweepSpec
    members: tuple[Member, ...]


def load_sweep(path: Path, overrides: Sequence[str] = (), **options: Any) -> Sweep:
    """From a sweep file, or from a job file whose overrides hold axes.

    Args:
        overrides: `key=value` for all jobs; `key=1,2,3`, `key=range(...)` and the like vary it.
        options: entries of the sweep itself (name, sampling, samples, seed); None leaves what the file says.

    Raises:
        JobError: the file, an axis or one of the jobs cannot be; the message names which.
    """
    data = read_yaml(path)
    if "base" not in data:
        data = {"base": data, "name": data.get("name", path.stem)}
    return make_sweep(data, overrides, path.parent, **options)


def make_sweep(
    data: Mapping[str, Any], overrides: Sequence[str] = (), base: Path | None = None, **options: Any
) -> Sweep:
    """The same from plain data; file names in it are relative to `base`."""
    given = {key: value for key, value in options.items() if value is not None}
    if isinstance(data.get("resources"), Mapping) and "resources" in given:
        given["resources"] = {**data["resources"], **given["resources"]}
    spec = parse_sweep({**data, **given})
    folder = base or Path.cwd()
    varied, fixed = dict(spec.sweep), dict(spec.set)
    for override in overrides:
        key, sign, text = override.partition("=")
        if not sign or not key:
            raise JobError(f"{override!r} is not an override: write key=value, or key=1,2,3 to vary it")
        varied.pop(key, None)
        if is_swept(text):
            varied[key] = text
        else:
            fixed[key] = axis(key, text).at(0)
    if isinstance(spec.base, Path):
        folder = (folder / spec.base).parent
        start = read_yaml(folder / spec.base.name)
    else:
        start = copy.deepcopy(spec.base)
    for key, value in fixed.items():
        set_entry(start, key, value)
    axes = [axis(key, value) for key, value in varied.items()]
    rows = points(axes, spec.sampling, spec.samples, spec.seed)
    name = spec.name or str(start.get("name", "sweep"))
    spec = spec.model_copy(update={"base": start, "sweep": varied, "set": {}, "name": name})
    return Sweep(name, spec, tuple(_member(start, row, k, len(rows), folder) for k, row in enumerate(rows)))


def parse_sweep(data: Mapping[str, Any]) -> SweepSpec:
    """Raises: JobError, naming the entry and the nearest known one."""
    known = {("class_keys" if key == "class" else key): value for key, value in data.items()}
    refuse_unknown_keys({key: value for key, value in known.items() if key != "base"}, SweepSpec, ())
    try:
        return SweepSpec.model_validate(data)
    except ValidationError as error:
        raise JobError(f"sweep: {sentence(error)}") from error


def set_entry(data: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted entry, through mappings and lists.

    Raises:
        JobError: there is no such place.
    """
    *parents, last = key.split(".")
    place: Any = data
    for depth, part in enumerate([*parents, last]):
        final = depth == len(parents)
        if isinstance(place, list):
            if not part.isdigit() or int(part) >= len(place):
                raise JobError(f"sweep: {key}: {part} is not an entry of a list of {len(place)}, counted from 0")
            index: Any = int(part)
        elif isinstance(place, dict):
            index = part
        else:
            raise JobError(f"sweep: {key}: {part} cannot be set there")
        if final:
            place[index] = copy.deepcopy(value)
        else:
            if isinstance(place, dict) and place.get(index) is None:
                place[index] = {}
            place = place[index]


def class_key(job: Mapping[str, Any], keys: Sequence[str]) -> str:
    """What jobs of one class have in common, in one word; without keys, what their kind says."""
    return " ".join(f"{key}={entry(job, key)}" for key in keys) if keys else default_class(job)


def _member(start: dict[str, Any], row: Point, index: int, count: int, folder: Path) -> Member:
    data = copy.deepcopy(start)
    for key, value in row.items():
        set_entry(data, key, value)
    name = str(data.get("name", data.get("job", "structure")))
    number = f"{index + 1:0{len(str(count))}d}"
    data["name"] = name.replace("${sweep.index}", number) if "${sweep.index}" in name else f"{name[:70]} {number}"
    try:
        return Member(parse_job(data, base=folder), row)
    except JobError as error:
        values = ", ".join(f"{key}={value}" for key, value in row.items())
        raise JobError(f"job {index + 1} of the sweep ({values}): {error}") from error
