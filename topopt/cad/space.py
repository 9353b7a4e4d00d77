"""Where material may be and where it must be, as exact solids: the body, the keep-in and the keep-out bodies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pde.grid.grid import Grid
from topopt.cad import solid as exact
from topopt.cad.body import Surface
from topopt.cad.isosurface import Field
from topopt.errors import ExportError

if TYPE_CHECKING:
    from manifold3d import Manifold


@dataclass(frozen=True)
class DesignSpace:
    """Where material may be, and where it must be, as exact solids."""

    allowed: "Manifold"
    keep: "Manifold | None"

    @classmethod
    def of(
        cls, grid: Grid, body: Surface | None, fraction: Field, keep: Sequence[Surface], keep_out: Sequence[Surface]
    ) -> "DesignSpace":
        if body is None:
            allowed = exact.voxel_body(fraction > 0, grid.node_axes())
        else:
            _check_place(body, grid)
            allowed = exact.to_manifold(body, "the body")
        kept = None
        for number, surface in enumerate(keep, start=1):
            name = f"keep-in body {number}"
            piece = exact.intersect(exact.to_manifold(surface, name), allowed, f"{name} within the design space")
            kept = piece if kept is None else exact.union(kept, piece, "the keep-in bodies together")
        for number, surface in enumerate(keep_out, start=1):
            name = f"keep-out body {number}"
            allowed = exact.subtract(allowed, exact.to_manifold(surface, name), f"the design space without {name}")
        return cls(allowed, kept)

    def cut(self, raw: "Manifold") -> "Manifold":
        # (raw + keep) within (body - keep-out) is (raw within body) + (keep within body) - keep-out, in two Booleans.
        if self.keep is not None:
            raw = exact.union(raw, self.keep, "the design with the keep-in bodies")
        return exact.intersect(raw, self.allowed, "the design within the body")


def _check_place(body: Surface, grid: Grid) -> None:
    lower, upper = body.bounds
    reach = max(float((np.asarray(grid.origin) - lower).max()), float((upper - grid.upper).max()))
    if reach > 0.5 * grid.steps.max():
        raise ExportError(
            f"the body reaches {reach:.3g} mm beyond the grid: the grid must cover the body it was made for"
        )
