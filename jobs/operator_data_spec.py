"""The job kind `operator_data`: runs of the classical optimizer on members of a family, for an operator to learn."""

from typing import Annotated, Literal

from pydantic import Field

from jobs.families import FamilyName
from jobs.job import Job
from jobs.strict import JobName


class OperatorDataJob(Job):
    """problem: a family, such as inversion. first, count: members first, first + 1, ...; a sweep over `first` shares
    the work out. max_iterations: of each run; null takes the recipe's.
    """

    job: Literal["operator_data"] = "operator_data"
    name: JobName = "operator data"
    problem: FamilyName = "inversion"
    first: Annotated[int, Field(ge=0)] = 0
    count: Annotated[int, Field(ge=1, le=100_000)] = 20
    max_iterations: Annotated[int, Field(ge=2)] | None = None

    @property
    def save_every(self) -> int:
        """Every run is kept as it is made."""
        return 1
