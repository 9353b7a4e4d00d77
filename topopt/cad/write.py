"""The files that a design leaves the house in. Every one is written whole or not at all, in the part's own coordinates.

write_stl   binary, single precision             write_3mf   millimetres, title
write_glb   for viewers, in colour                write_vtu   fields on voxels, for ParaView
write_step  AP214 in mm, exact or faceted         exports     every file measured by reading it back
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.glb import STEEL, glb_bytes, read_glb_bytes
from topopt.cad.measure import count_components, measure_hole_radius, open_edges
from topopt.cad.step import read_step_bytes, step_bytes
from topopt.cad.stl import read_stl_bytes, stl_bytes
from topopt.cad.threemf import read_threemf_bytes, threemf_bytes
from topopt.cad.vtu import vtu_bytes
from topopt.cad.whole import write_whole
from topopt.errors import ExportError

__all__ = ["exports", "measure_hole_radius", "write_3mf", "write_glb", "write_step", "write_stl", "write_vtu"]

MOST_TRIANGLES_SHOWN = 300_000


def write_stl(surface: Surface, path: str | Path) -> Path:
    """Binary STL. Slicers take it for mm. Raises ExportError if it cannot be written."""
    return write_whole(path, stl_bytes(surface))


def write_3mf(surface: Surface, path: str | Path, name: str) -> Path:
    """3MF with unit millimetre and title `name`. Raises ExportError if the surface is not manifold and oriented."""
    return write_whole(path, threemf_bytes(surface, name))


def write_glb(
    surface: Surface,
    path: str | Path,
    name: str = "part",
    *,
    colours: NDArray[np.floating] | None = None,
    base: tuple[float, float, float] = STEEL,
) -> Path:
    """glTF for viewers: metres and y-up by a node above the mesh, whose own numbers stay in mm, z-up.

    colours: (n, 3) linear rgb per vertex, or None; a surface of one colour is simplified to 300 000 triangles.
    """
    if colours is None:
        surface = _lightened(surface)
    return write_whole(path, glb_bytes(surface, name, colours=colours, base=base))


def write_vtu(path: str | Path, grid: Grid, fields: Mapping[str, NDArray[np.floating]]) -> Path:
    """Fields on the voxels where `fields["fraction"]` is positive (everywhere without it). See `topopt.cad.vtu`."""
    return write_whole(path, vtu_bytes(grid, fields))


def write_step(part: Any, path: str | Path, name: str = "part") -> Path:
    """An OpenCASCADE solid as it is, or a small `Surface` as a solid with planar facets. See `topopt.cad.step`."""
    return write_whole(path, step_bytes(part, name))


def exports(paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """One row per file, `{path, kind, watertight, components, volume_mm3}`, measured by reading it back.

    Fields (VTU) have a volume of material but no surface: `watertight` and `components` are None.

    Raises:
        ExportError: a file cannot be read back, or is of a kind that is not written here.
    """
    return [_row(Path(path)) for path in paths]


def _row(path: Path) -> dict[str, Any]:
    kind = path.suffix.lower().lstrip(".")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ExportError(f"{path.name} cannot be read back: {error.strerror}") from error
    if kind in ("step", "stp"):
        volume, solids, closed = read_step_bytes(data)
        return {"path": str(path), "kind": kind, "watertight": closed, "components": solids, "volume_mm3": volume}
    if kind == "vtu":
        volume = _field_volume(path)
        return {"path": str(path), "kind": kind, "watertight": None, "components": None, "volume_mm3": volume}
    if kind == "stl":
        surface = read_stl_bytes(data)
    elif kind == "3mf":
        surface, _ = read_threemf_bytes(data)
    elif kind == "glb":
        surface = read_glb_bytes(data)
    else:
        raise ExportError(f"{path.name} is no STL, 3MF, GLB, STEP or VTU file")
    return {
        "path": str(path),
        "kind": kind,
        "watertight": open_edges(surface.faces) == 0,
        "components": count_components(surface),
        "volume_mm3": surface.volume,
    }


def _field_volume(path: Path) -> float:
    import pyvista as pv

    mesh = pv.read(path)
    sizes = mesh.compute_cell_sizes(length=False)
    size = sizes.cell_data["Volume"] if np.any(sizes.cell_data["Volume"]) else sizes.cell_data["Area"]
    weights = [mesh.cell_data[name] for name in ("density", "fraction") if name in mesh.cell_data]
    return float(np.prod([size, *weights], axis=0).sum())


def _lightened(surface: Surface) -> Surface:
    if len(surface.faces) <= MOST_TRIANGLES_SHOWN:
        return surface
    from topopt.cad.solid import checked, to_manifold, to_surface

    solid = to_manifold(surface)
    tolerance = 1e-4 * float(np.ptp(surface.bounds, axis=0).max())
    while solid.num_tri() > MOST_TRIANGLES_SHOWN:
        solid, tolerance = checked(solid.simplify(tolerance), "the simplified surface"), 2 * tolerance
    return to_surface(solid)
