"""`formgrad schema`: what a job file may say, as JSON schema, for editors that complete and check YAML."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.commands.ending import end


def schema(
    kind: Annotated[str | None, typer.Argument(help="One kind of job, or `sweep`. Default: all kinds.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it here.")] = None,
) -> None:
    """Print the JSON schema of job files."""

    def work() -> int:
        text = json.dumps(job_schema(kind), indent=1)
        if out is None:
            typer.echo(text)
            return 0
        from jobs.store import readable_errors

        with readable_errors(out.parent):
            out.write_text(text + "\n", encoding="utf-8")
        return 0

    end(work)


def job_schema(kind: str | None = None) -> dict[str, Any]:
    """JSON schema (2020-12) of one kind of job file, of sweep files, or of any job file.

    Raises:
        JobError: there is no such kind.
    """
    from pydantic.json_schema import models_json_schema

    from jobs.batch.sweep import SweepSpec
    from jobs.errors import JobError
    from jobs.kinds import KINDS

    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    if kind == "sweep":
        return {**head, **SweepSpec.model_json_schema()}
    if kind is not None and kind not in KINDS:
        raise JobError(f"schema: there is no kind {kind!r}; choose one of {', '.join(KINDS)}, sweep")
    if kind is not None:
        return {**head, **_required(KINDS[kind].model().model_json_schema())}
    models = [row.model() for row in KINDS.values() if not row.hidden]
    places, whole = models_json_schema([(model, "validation") for model in models])
    for model in models:
        _required(whole["$defs"][places[model, "validation"]["$ref"].rpartition("/")[2]])
    return {**head, "title": "Formgrad job", "oneOf": [places[model, "validation"] for model in models], **whole}


def _required(schema: dict[str, Any]) -> dict[str, Any]:
    """`job` tells the kinds apart, so a schema asks for it where a default would do for the program."""
    schema["required"] = sorted({*schema.get("required", []), "job"})
    return schema
