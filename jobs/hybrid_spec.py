"""The job kind `hybrid`: a problem of a shipped family, solved with few solves and a trained operator between them."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jobs.job import Job
from jobs.strict import JobName, Positive

# Those of `operators.recipes`, named here so that a job file is checked without loading torch.
FAMILIES = ("inversion",)


class HybridJob(Job):
    """problem: a family of `operators.recipes`, such as inversion. member: its number in the family; those below 120
    were seen in training. most_forward: forward solves at most. radius: of the first trust region.
    """

    job: Literal["hybrid"] = "hybrid"
    name: JobName = "hybrid"
    problem: str = "inversion"
    member: Annotated[int, Field(ge=0)] = 120
    method: Literal["solver_only", "surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k"] = (
        "hybrid_corrected"
    )
    most_forward: Annotated[int, Field(ge=1)] = 200
    radius: Positive = 30.0
    tolerance: Positive = 1e-3

    @model_validator(mode="after")
    def _known(self) -> "HybridJob":
        if self.problem not in FAMILIES:
            raise ValueError(f"problem: there is no family {self.problem!r}; choose one of {', '.join(FAMILIES)}")
        return self
