"""Job files: YAML in, a checked job out, every default written down.

Unknown keys are refused with the nearest known one. `key=value` overrides take dotted keys and YAML values:
`optimize.volume_fraction=0.25`, `voxels.size=2`, `loads.0.weight=2`.
"""

import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ValidationError

from jobs.errors import JobError
from jobs.job import Job
from jobs.kinds import KINDS

__all__ = ["Job", "dump_job", "load_job", "parse_job"]


def load_job(path: Path, overrides: Sequence[str] = ()) -> Job:
    """Read and check a job file.

    Raises:
        JobError: missing or unreadable file, YAML that does not parse, an unknown key, a value that cannot be.
    """
    data = read_yaml(path)
    for text in overrides:
        override(data, text)
    return parse_job(data, base=path.parent)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping.

    Raises:
        JobError: it is missing, does not parse, or holds something else.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if not path.is_file():
        raise JobError(f"job file {path} does not exist: check the path")
    try:
        data = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" near line {where.line + 1}" if where else ""
        raise JobError(f"{path} is not valid YAML{line}: check indentation, colons and brackets") from error
    if not isinstance(data, dict):
        raise JobError(f"{path} holds no job: it must be a mapping such as `job: structure`")
    return data


def parse_job(data: Mapping[str, Any], base: Path | None = None) -> Job:
    """Check a job given as plain data; file names in it are relative to `base`.

    Raises:
        JobError: as in `load_job`.
    """
    data = _plain(data)
    kind = data.get("job", "structure")
    if not isinstance(kind, str) or kind not in KINDS:
        raise JobError(
            f"job: there is no kind {kind!r}; choose one of {', '.join(k for k in KINDS if not KINDS[k].hidden)}"
        )
    model = KINDS[kind].model()
    refuse_unknown_keys(data, model, ())
    try:
        job = model.model_validate(data)
    except ValidationError as error:
        raise JobError(sentence(error)) from error
    if base is None:
        return job
    return job.with_files({file: (base / file).resolve() for file in job.files()})


def sentence(error: ValidationError) -> str:
    """The first thing that pydantic found, with its place."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or str(part)[:1].islower())
    return f"{where or 'job'}: {first['msg'].removeprefix('Value error, ')}"


def dump_job(job: Job, path: Path) -> None:
    """Write the resolved job, every default included."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    writer = YAML()
    writer.default_flow_style = None
    data = CommentedMap(job.model_dump(mode="json"))
    data.fa.set_block_style()  # also where no entry has entries of its own
    with path.open("w", encoding="utf-8") as file:
        writer.dump(data, file)


def override(data: dict[str, Any], text: str) -> None:
    """Set one entry of a job given as plain data, `key=value` with a dotted key and a YAML value.

    Raises:
        JobError: it is none, or there is no such place.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    key, sign, written = text.partition("=")
    if not sign or not key:
        raise JobError(f"{text!r} is not an override: write key=value, for instance optimize.volume_fraction=0.25")
    try:
        value = YAML(typ="safe", pure=True).load(written)
    except YAMLError as error:
        raise JobError(f"{text!r}: the value is not valid YAML") from error
    *parents, last = key.split(".")
    place: Any = data
    for part in parents:
        if isinstance(place, list):
            place = place[_index(part, place, key)]
        elif isinstance(place, dict):
            place = place.setdefault(part, {})
        else:
            raise JobError(f"override {key}: {part} has no entries of its own")
    if isinstance(place, list):
        place[_index(last, place, key)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise JobError(f"override {key}: {last} cannot be set there")


def _index(part: str, place: list[Any], key: str) -> int:
    if not part.isdigit() or int(part) >= len(place):
        raise JobError(f"override {key}: {part} is not an entry of a list of {len(place)}, counted from 0")
    return int(part)


def refuse_unknown_keys(data: Any, model: type[BaseModel], where: tuple[str, ...]) -> None:
    """Raises: JobError, naming the nearest known key."""
    if not isinstance(data, Mapping):
        return
    known = list(model.model_fields)
    for key, value in data.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)
            place = ".".join(where) or "the job"
            raise JobError(f"unknown key {key!r} in {place}: did you mean {near[0]!r}? It knows {', '.join(known)}")
        inner = _models(model.model_fields[key].annotation)
        for entry in value if isinstance(value, list) else [value]:
            if len(inner) == 1:
                refuse_unknown_keys(entry, inner[0], (*where, str(key)))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, list, Annotated):
        return [model for part in typing.get_args(annotation) for model in _models(part)]
    return []


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(k): _plain(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(v) for v in data]
    return data
