"""The job kind `operator_train`: an operator trained on the runs that `operator_data` made."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jobs.families import FamilyName
from jobs.job import Job
from jobs.strict import JobName, Positive

Some = Annotated[int, Field(ge=1)]


class OperatorTrainJob(Job):
    """problem: a family, such as inversion. data: folders of runs, or run folders of `operator_data`; a * in the last
    part of a path stands for all that match. network, output: of the operator. keep: iterates of a run that are
    learnt from. sensitivity: weight of that loss, 0: none. evaluate: runs of each sort behind the table at the end.
    size: "full" takes the recipe for a GPU, with more runs, a larger network and more steps. Where null stands, the
    recipe of the family decides.
    """

    job: Literal["operator_train"] = "operator_train"
    name: JobName = "operator train"
    problem: FamilyName = "inversion"
    size: Literal["small", "full"] = "small"
    data: list[Path]
    network: Literal["fno", "tfno", "uno", "virtual_fourier", "physics_attention", "subspace_attention"] = "fno"
    output: Literal["increment", "state"] = "increment"
    keep: Annotated[int, Field(ge=2)] | None = None
    steps: Some | None = None
    batch: Some | None = None
    rate: Positive | None = None
    optimizer: str | None = None
    schedule: str | None = None
    sensitivity: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    validate_every: Some | None = None
    patience: Annotated[int, Field(ge=0)] | None = None
    seed: int = 0
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]+)?)$")] = "cpu"
    precision: Literal["fp32", "bf16"] = "fp32"
    evaluate: Some = 20

    @model_validator(mode="after")
    def _has_data(self) -> "OperatorTrainJob":
        if not self.data:
            raise ValueError(
                "data: give a folder of runs, as a job of kind operator_data or `formgrad operator data` makes"
            )
        return self

    @property
    def save_every(self) -> int:
        """Every validation is kept."""
        return 1

    def files(self) -> list[Path]:
        """Every folder that the job names."""
        return list(self.data)

    def with_files(self, moved: Mapping[Path, Path]) -> "OperatorTrainJob":
        """The same job with its folders elsewhere; a * there stands for all that match."""
        return self.model_copy(update={"data": [place for path in self.data for place in _matching(moved[path])]})


def _matching(path: Path) -> list[Path]:
    """What a * in the last part stands for; the path itself where nothing does, to be missed by its name."""
    return sorted(path.parent.glob(path.name)) or [path] if "*" in path.name else [path]
