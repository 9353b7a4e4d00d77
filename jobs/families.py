"""The families of problems with a recipe for an operator, as jobs name them; known without loading torch.

The recipes themselves are `operators.recipes`; a test holds the two against each other.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

FAMILIES = {
    "inversion": "log-permeability of a square from noisy pressures",
    "cantilever": "the stiffest cantilever with a given volume",
    "compliance": "the stiffest cantilever of pixels",
    "double_pipe": "channels for two inflows and two outflows",
    "reactor": "catalyst in a micro-reactor",
}
# Other names of families: Darcy's law is what the inversion inverts.
ALIASES = {"darcy": "inversion"}
WEIGHTS = Path(__file__).parents[1] / "assets" / "operators"

Mode = Literal["solver_only", "surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k"]


def family(name: object) -> object:
    """A family's own name for any of its names; anything else as it is."""
    return ALIASES.get(name, name) if isinstance(name, str) else name


def known(name: str) -> str:
    """The name, if there is such a family.

    Raises:
        ValueError: there is none.
    """
    if name not in FAMILIES:
        raise ValueError(f"there is no family {name!r}; choose one of {', '.join(FAMILIES)}")
    return name


def trained(name: str) -> bool:
    """Whether an operator for this family comes with Formgrad."""
    return (WEIGHTS / f"{name}.safetensors").is_file()


FamilyName = Annotated[str, BeforeValidator(family), AfterValidator(known)]
