"""Figures of a surface that prove what was exported: open edges, pieces, the radius of a hole."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from topopt.cad.body import Surface
from topopt.errors import ExportError

BAND = 0.1  # share of the radius within which a vertex counts as lying on the cylinder
MOST_OFF_AXIS = 0.1  # share of the radius


def open_edges(faces: NDArray[np.int64]) -> int:
    """Edges that are not shared by exactly two triangles of opposite direction. faces : (m, 3)."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    n = int(faces.max()) + 1
    forward, counts = np.unique(edges[:, 0] * n + edges[:, 1], return_counts=True)
    backward = np.unique(edges[:, 1] * n + edges[:, 0])
    return int((counts > 1).sum() + len(np.setxor1d(forward, backward)))


def count_components(surface: Surface) -> int:
    """Connected pieces of material: shells that enclose positive volume. Closed cavities do not count."""
    n, faces = len(surface.vertices), surface.faces
    links = sp.coo_matrix((np.ones(2 * len(faces)), (faces[:, [0, 1]].ravel("F"), faces[:, [1, 2]].ravel("F"))), (n, n))
    _, shell = connected_components(links, directed=False)
    volume = np.bincount(shell[faces[:, 0]], np.einsum("ij,ij->i", surface.corners.mean(axis=1), surface.normals) / 3)
    return int((volume > 0).sum())


def measure_hole_radius(surface: Surface, axis_point: ArrayLike, axis_direction: ArrayLike, radius: float) -> float:
    """Radius in mm of the circle of least squares through the vertices near a cylinder (Gauss-Newton, free centre).

    Args:
        axis_point: a point of the axis, (3,), mm.
        axis_direction: its direction, (3,), any length.
        radius: where to look: vertices within 10 % of it count.

    Raises:
        ExportError: fewer than six vertices lie there, they do not go around the axis, or their centre is off the axis.
    """
    axis = np.asarray(axis_direction, float) / np.linalg.norm(axis_direction)
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    plane = np.stack([side, np.cross(axis, side)], axis=1)
    points = (surface.vertices - np.asarray(axis_point, float)) @ plane
    points = points[np.abs(np.linalg.norm(points, axis=1) - radius) < BAND * radius]
    bearing = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    if len(points) < 6 or np.diff(bearing, append=bearing[0] + 2 * np.pi).max() > np.pi / 2:
        raise ExportError(f"no full hole of radius {radius:g} mm at this axis: {len(points)} vertices lie near it")
    centre, found = np.zeros(2), radius
    for _ in range(20):
        offset = points - centre
        distance = np.linalg.norm(offset, axis=1)
        jacobian = np.column_stack([-offset / distance[:, None], -np.ones(len(points))])
        step = np.linalg.lstsq(jacobian, found - distance, rcond=None)[0]
        centre, found = centre + step[:2], found + step[2]
        if np.abs(step).max() < 1e-12 * radius:
            break
    if np.linalg.norm(centre) > MOST_OFF_AXIS * radius:
        raise ExportError(f"the hole of radius {radius:g} mm lies {np.linalg.norm(centre):.3g} mm off its axis")
    return float(found)
