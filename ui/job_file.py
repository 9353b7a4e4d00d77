"""The job file that does the same on the command line."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

IN_PYTHON = (
    "In Python:  from pathlib import Path; from jobs.launch import start; from jobs.spec import load_job",
    '            start(load_job(Path("job.yaml")), Path("runs"))',
)


def job_file(data: Mapping[str, Any], how: Sequence[str]) -> str:
    """YAML under comments that say how to run it, one line each."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    writer, text = YAML(), StringIO()
    writer.default_flow_style = None
    lines = CommentedMap(data)
    lines.fa.set_block_style()
    writer.dump(lines, text)
    return "".join(f"# {line}\n" for line in how) + text.getvalue()
