"""A family's recipe at full size, for a GPU: networks as wide as published, a thousand runs, 40,000 steps.

Point networks have the published sizes, networks on grids are about four times as wide as the small ones. The runs to
learn from are others than those of the small recipe; the unseen ones are the same.
"""

from dataclasses import fields, replace
from typing import Any

from operators.recipes import Recipe
from operators.settings import Settings

RUNS = range(120, 1120)
SIZES = ("width", "blocks", "modes", "heads", "sensors", "hidden")
POINTS: dict[str, Any] = {f.name: f.default for f in fields(Settings) if f.name in SIZES}  # the published ones
GRID: dict[str, Any] = {"width": 64, "blocks": 4}
STEPS: dict[str, Any] = {"steps": 40_000, "batch": 32, "rate": 1e-3, "validate_every": 1000}


def full(recipe: Recipe) -> Recipe:
    """The same family, view and judgement; more data, a larger network and a longer training."""

    def settings(kind: str, output: str) -> Settings:
        small = recipe.settings(kind, output)
        return replace(small, **(POINTS if small.grid is None else GRID))

    return replace(recipe, settings=settings, training=replace(recipe.training, **STEPS), runs=RUNS)
