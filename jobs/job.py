"""What every kind of job has in common: a name, the files it names, and how often it saves itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from jobs.strict import JobName, Strict


class Job(Strict):
    """A checked job. Each kind is a subclass with a field `job: Literal["its kind"]` and a default for its name."""

    name: JobName = "run"

    @classmethod
    def kind(cls) -> str:
        """The word after `job:` in a file."""
        return str(cls.model_fields["job"].default)

    @property
    def save_every(self) -> int:
        """Iterations between two checkpoints."""
        return 20

    def files(self) -> list[Path]:
        """Every file (or run folder) that the job names."""
        return []

    def with_files(self, moved: Mapping[Path, Path]) -> Self:
        """The same job with its files elsewhere."""
        return self
