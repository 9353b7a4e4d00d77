"""The job kind `pde`: a shipped problem of PDE-constrained optimisation, its parameters, and the method."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jobs.job import Job
from jobs.strict import Finite, JobName


class PdeJob(Job):
    """Which shipped problem is solved, and how.

    problem: a name of `formgrad pde list`. parameters: its own, e.g. {n: 64, alpha: 1e-4}. method: null takes the one
    that suits the problem. max_iterations: null takes the problem's own limit.
    """

    job: Literal["pde"] = "pde"
    name: JobName = "pde"
    problem: str
    parameters: dict[str, Finite] = Field(default_factory=dict)
    method: str | None = None
    max_iterations: Annotated[int, Field(ge=1)] | None = None
    checkpoint_every: Annotated[int, Field(ge=1)] = 5

    @model_validator(mode="after")
    def _known(self) -> "PdeJob":
        from pde.problems import ProblemError, check

        try:
            check(self.problem, self.method, self.parameters)
        except ProblemError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def save_every(self) -> int:
        return self.checkpoint_every
