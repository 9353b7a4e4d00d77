"""A finished design as a closed body and as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pde.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.surface import FormedBody, form_surface
from topopt.errors import DesignError

if TYPE_CHECKING:
    from topopt.density import Result
    from topopt.problem import Problem

SUFFIXES = ("stl", "3mf", "glb", "step", "vtu")


def form_result(
    result: "Result",
    body: Surface | None = None,
    *,
    keep: Sequence[Surface] = (),
    keep_out: Sequence[Surface] = (),
    smoothing: int = 10,
    tolerance: float = 0.05,
) -> FormedBody:
    """The body of a design, through every gate of the export. A design in the plane becomes a plate of its thickness.

    Raises:
        ExportError: a gate did not pass.
    """
    density, fraction, grid = spatial(result)
    return form_surface(
        density,
        fraction,
        grid,
        body,
        keep=keep,
        keep_out=keep_out,
        volume=result.volume,
        smoothing=smoothing,
        tolerance=tolerance,
    )


def spatial(result: "Result") -> tuple[np.ndarray, np.ndarray, Grid]:
    """Densities, volume fractions and grid with three axes; a plane design is one layer as thick as it is."""
    return spatial_field(result.rho, result.problem)


def spatial_field(rho: np.ndarray, p: "Problem") -> tuple[np.ndarray, np.ndarray, Grid]:
    """The same for a density that is not finished yet."""
    if p.grid.dim == 3:
        return rho, p.filled, p.grid
    grid = Grid((*p.grid.shape, 1), (*p.grid.steps, p.thickness), (*p.grid.origin, 0.0))
    return rho[:, :, None], p.filled[:, :, None], grid


def fields(result: "Result") -> dict[str, np.ndarray]:
    """Element fields worth looking at, three axes each: density, volume fraction of the body, and strain energy density
    (MPa for structures)."""
    density, fraction, grid = spatial(result)
    energy = 0.5 * result.energy.reshape(grid.shape)
    return {"density": density, "fraction": fraction, "strain_energy_density": energy}


def write_body(result: "Result", formed: FormedBody, path: Path) -> Path:
    """Write one file; its suffix says which kind.

    Raises:
        DesignError: an unknown suffix. ExportError: the file cannot be written.
    """
    from topopt.cad import write

    kind = path.suffix.lower().lstrip(".")
    if kind == "stl":
        write.write_stl(formed.surface, path)
    elif kind == "3mf":
        write.write_3mf(formed.surface, path, result.problem.name)
    elif kind == "glb":
        write.write_glb(formed.surface, path)
    elif kind in ("step", "stp"):
        write.write_step(formed.surface, path)
    elif kind == "vtu":
        write.write_vtu(path, spatial(result)[2], fields(result))
    else:
        raise DesignError(f"cannot write {path.name}: choose one of {', '.join('.' + s for s in SUFFIXES)}")
    return path


def export_result(result: "Result", path: Path) -> Path:
    """Form the body of a design and write it."""
    return write_body(result, form_result(result), path)
