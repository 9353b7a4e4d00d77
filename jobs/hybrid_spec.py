"""The job kind `hybrid`: a problem of a shipped family, solved with few solves and a trained operator between them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jobs.families import FAMILIES, FamilyName, Mode, trained
from jobs.job import Job
from jobs.strict import JobName, Positive

__all__ = ["FAMILIES", "HybridJob"]


class HybridJob(Job):
    """problem: a family, such as inversion (or darcy, which is the same). member: its number in the family. method:
    the solver alone, the surrogate alone, or a hybrid of the two. weights: of an operator of your own, as `formgrad
    operator train` writes them; null takes the one that comes with Formgrad. most_forward: forward solves at most.
    radius: of the first trust region; null takes the family's. tolerance: of the gradient, against the largest one
    seen.
    """

    job: Literal["hybrid"] = "hybrid"
    name: JobName = "hybrid"
    problem: FamilyName = "inversion"
    member: Annotated[int, Field(ge=0)] = 120
    method: Mode = "hybrid_corrected"
    weights: Path | None = None
    most_forward: Annotated[int, Field(ge=1)] = 200
    radius: Positive | None = None
    tolerance: Positive = 1e-3

    @model_validator(mode="after")
    def _has_an_operator(self) -> "HybridJob":
        if self.method != "solver_only" and self.weights is None and not trained(self.problem):
            raise ValueError(
                f"method: no trained operator comes with the family {self.problem}; take solver_only, or train one "
                "with `formgrad operator train` and name it under weights"
            )
        return self

    def files(self) -> list[Path]:
        """Every file that the job names."""
        return [self.weights] if self.weights else []

    def with_files(self, moved: Mapping[Path, Path]) -> "HybridJob":
        """The same job with its files elsewhere."""
        return self.model_copy(update={"weights": moved[self.weights]}) if self.weights else self
