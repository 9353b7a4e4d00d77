"""What all job models have in common: nothing is guessed, and every number is a number."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]
FiniteVector = tuple[Finite, Finite, Finite]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
JobName = Annotated[str, Field(pattern=r"^[\w .+-]{1,80}$")]


class Strict(BaseModel):
    """Nothing is guessed: an unknown key is an error, and a checked job does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
