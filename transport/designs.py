"""Densities out of bodies and finished runs of Formgrad."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transport.errors import ImageError

Field = NDArray[np.float64]

BORDER = 0.05
"""Empty border around a body, as a part of the longest side."""


def read_body(path: Path, size: int) -> Field:
    """A closed surface (STL) as the voxels inside it, with an empty border.

    Args:
        size: voxels along the longest side, border included.

    Raises:
        ImageError: not a surface, or not closed.
    """
    import trimesh

    try:
        mesh = trimesh.load(path, file_type="stl", force="mesh")
        closed = bool(mesh.is_watertight) and len(mesh.faces) > 0  # type: ignore[union-attr]
    except Exception as error:  # trimesh's readers raise many kinds
        raise ImageError(f"{path.name} is not an STL surface") from error
    if not closed:
        raise ImageError(f"{path.name} is not closed, so that it has no inside: repair the surface first")
    border = max(1, round(BORDER * size))
    pitch = float(max(mesh.extents)) / max(size - 2 * border, 2)  # type: ignore[union-attr]
    low, high = mesh.bounds  # type: ignore[union-attr]
    shape = [max(2, int(np.ceil((b - a) / pitch - 1e-9))) for a, b in zip(low, high, strict=True)]
    return np.pad(_fractions(mesh, low, pitch, shape), border)


def _fractions(mesh, low: Field, pitch: float, shape: list[int], rays: int = 3) -> Field:
    """Which part of every voxel lies inside: lengths along z between crossings of rays^2 lines per column."""
    nx, ny, nz = shape
    steps = (np.arange(rays) + 0.5) / rays
    # A hair off the lattice: lines through vertices and edges of axis-parallel faces would be counted twice.
    x = low[0] + pitch * (np.arange(nx)[:, None] + steps + 1.234e-5).ravel()
    y = low[1] + pitch * (np.arange(ny)[:, None] + steps + 2.345e-5).ravel()
    heights = _crossings(np.asarray(mesh.triangles), x, y)
    out = np.zeros((len(x), len(y), nz))
    edges = low[2] + pitch * np.arange(nz + 1)
    for (i, j), z in heights.items():
        z = np.sort(z)
        for a, b in zip(z[:-1:2], z[1::2], strict=True):
            out[i, j] += np.clip(np.minimum(b, edges[1:]) - np.maximum(a, edges[:-1]), 0, None)
    return out.reshape(nx, rays, ny, rays, nz).mean(axis=(1, 3)) / pitch


def _crossings(triangles: Field, x: Field, y: Field) -> dict[tuple[int, int], list[float]]:
    """Heights at which the vertical lines through (x_i, y_j) cross the triangles."""
    found: dict[tuple[int, int], list[float]] = {}
    for a, b, c in triangles:
        first, last = np.searchsorted(x, [min(a[0], b[0], c[0]), max(a[0], b[0], c[0])])
        left, right = np.searchsorted(y, [min(a[1], b[1], c[1]), max(a[1], b[1], c[1])])
        area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
        if area == 0 or first == last or left == right:
            continue
        X, Y = x[first:last, None] - a[0], y[None, left:right] - a[1]
        s = (X * (c[1] - a[1]) - (c[0] - a[0]) * Y) / area
        t = ((b[0] - a[0]) * Y - X * (b[1] - a[1])) / area
        i, j = np.nonzero((s >= 0) & (t >= 0) & (s + t <= 1))
        z = a[2] + s[i, j] * (b[2] - a[2]) + t[i, j] * (c[2] - a[2])
        for p, q, height in zip(i + first, j + left, z, strict=True):
            found.setdefault((int(p), int(q)), []).append(float(height))
    return {place: heights for place, heights in found.items() if len(heights) % 2 == 0}


def read_run(folder: Path) -> Field:
    """The material of a finished run: density times the part of the voxel inside the body, on the voxels of its grid.

    Raises:
        ImageError: no finished run, or one without its fields (`part.vtu`) or density (`barycenter.npy`).
    """
    own = folder / "artifacts" / "barycenter.npy"
    if own.is_file():
        from transport.images import read_field

        return read_field(own)
    path = folder / "artifacts" / "part.vtu"
    if not path.is_file():
        raise ImageError(f"{folder} has no artifacts/part.vtu: give a finished run that exported vtu")
    import pyvista

    try:
        cells = pyvista.read(path)
        centres = np.asarray(cells.cell_centers().points, np.float64)  # type: ignore[union-attr]
        density = np.asarray(cells.cell_data["density"], np.float64)
        density = density * np.asarray(cells.cell_data["fraction"]) if "fraction" in cells.cell_data else density
    except (KeyError, AttributeError, ValueError) as error:
        raise ImageError(f"{path} holds no cells with a density") from error
    indices = [_numbers(c) for c in centres.T]
    shape = [int(k.max()) + 1 for k in indices]
    out = np.zeros(shape)
    np.add.at(out, tuple(indices), np.clip(density, 0, None))
    return out[..., 0] if shape[2] == 1 else out


def _numbers(coordinate: Field) -> NDArray[np.int64]:
    """Cell numbers along one axis, from the centres of equal cells."""
    places = np.unique(np.round(coordinate - coordinate.min(), 6))
    gaps = np.diff(places)
    step = float(gaps[gaps > 1e-5].min()) if np.any(gaps > 1e-5) else 1.0
    return np.rint((coordinate - coordinate.min()) / step).astype(np.int64)
