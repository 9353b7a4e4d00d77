"""A lighter mesh of a formed body for programs that choke on the fine one: still closed, and with its error stated.

It is a decimated triangle mesh, not CAD: flats and holes are as good as its tolerance says, no better. What is exact
leaves as STEP; what was designed in the plane leaves through `topopt.cad.density_outline`.
"""

from dataclasses import dataclass

import numpy as np

from topopt.cad.body import Surface
from topopt.cad.closest import TriangleTree
from topopt.cad.solid import checked, to_manifold, to_surface
from topopt.errors import ExportError

_FIRST = 1e-5  # of the size
_GROWTH = 1.25


@dataclass(frozen=True)
class LightMesh:
    """The mesh and what it lost.

    Attributes:
        surface: closed, outward oriented.
        deviation: mm, the largest distance between vertices and centres of triangles of one surface and the other one.
        volume_error: relative.
        label: one line that says what this is, for the file's title and the report.
    """

    surface: Surface
    deviation: float
    volume_error: float
    label: str


def decimated(surface: Surface, triangles: int) -> LightMesh:
    """At most so many triangles, by edge collapse under a tolerance that grows until they are few enough.

    Raises:
        ExportError: the surface is not closed, or so few triangles cannot hold its shape.
    """
    solid = to_manifold(surface)
    size = float(np.ptp(surface.bounds, axis=0).max())
    genus, tolerance, light = solid.genus(), _FIRST * size, solid
    while light.num_tri() > triangles:
        if tolerance > 0.05 * size:
            raise ExportError(f"{triangles} triangles cannot hold the shape: {light.num_tri()} are the least found")
        # From the start each time: tolerances of repeated collapses would add up.
        light = checked(solid.simplify(tolerance), "the decimated surface")
        tolerance *= _GROWTH
    if light.genus() != genus:
        raise ExportError(f"with {triangles} triangles holes of the body would close: allow more")
    mesh = to_surface(light)
    away = max(_away(surface, mesh), _away(mesh, surface))
    error = mesh.volume / surface.volume - 1
    size = f"{len(mesh.faces)} triangles, at most {away:.3g} mm off where measured, volume {error:+.2%}"
    return LightMesh(mesh, away, error, f"decimated triangle mesh, {size}; not CAD")


def _away(surface: Surface, other: Surface) -> float:
    """From vertices and centres of one to the other, mm."""
    points = np.concatenate([surface.vertices, surface.corners.mean(axis=1)])
    found, _ = TriangleTree.of(other.corners).closest(points)
    return float(np.linalg.norm(points - found, axis=1).max())
