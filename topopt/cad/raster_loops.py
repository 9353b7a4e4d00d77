"""The compiled loop behind `Patch.sample`: triangles cut along the planes of a cubic raster, exactly."""

import numpy as np
from numba import njit

ROOM = 12  # corners of a triangle cut by six planes, at most nine


@njit(cache=True)
def cut_by_raster(triangles, origin, spacing, cells, owners, areas, centroids):  # type: ignore[no-untyped-def]
    """Cut triangles (m, 3, 3) into the cubes of a raster, piece by piece.

    Fills cells (n, 3), owners (n,), areas (n,) and centroids (n, 3) as far as they reach and returns the number of
    pieces, so a first call with empty arrays tells how much room is needed.
    """
    count = 0
    one, two, three = np.empty((ROOM, 3)), np.empty((ROOM, 3)), np.empty((ROOM, 3))
    spare = np.empty((ROOM, 3))
    centroid = np.empty(3)
    for t in range(triangles.shape[0]):
        corners = triangles[t]
        for i in range(_first(corners, 3, 0, origin, spacing), _last(corners, 3, 0, origin, spacing) + 1):
            n1 = _slab(corners, 3, 0, origin[0] + i * spacing, spacing, spare, one)
            if n1 < 3:
                continue
            for j in range(_first(one, n1, 1, origin, spacing), _last(one, n1, 1, origin, spacing) + 1):
                n2 = _slab(one, n1, 1, origin[1] + j * spacing, spacing, spare, two)
                if n2 < 3:
                    continue
                for k in range(_first(two, n2, 2, origin, spacing), _last(two, n2, 2, origin, spacing) + 1):
                    n3 = _slab(two, n2, 2, origin[2] + k * spacing, spacing, spare, three)
                    if n3 < 3:
                        continue
                    area = _moments(three, n3, centroid)
                    if area <= 1e-15 * spacing * spacing:
                        continue
                    if count < len(areas):
                        cells[count, 0], cells[count, 1], cells[count, 2] = i, j, k
                        owners[count], areas[count] = t, area
                        centroids[count] = centroid
                    count += 1
    return count


@njit(cache=True)
def _first(polygon, n, axis, origin, spacing):  # type: ignore[no-untyped-def]
    return int(np.floor((polygon[:n, axis].min() - origin[axis]) / spacing))


@njit(cache=True)
def _last(polygon, n, axis, origin, spacing):  # type: ignore[no-untyped-def]
    return int(np.floor((polygon[:n, axis].max() - origin[axis]) / spacing))


@njit(cache=True)
def _slab(polygon, n, axis, low, spacing, spare, out):  # type: ignore[no-untyped-def]
    # Sutherland and Hodgman (1974), twice. What lies in the upper plane itself belongs to the next slab.
    inner = _half(polygon, n, axis, low, 1.0, spare)
    return _half(spare, inner, axis, low + spacing, -1.0, out)


@njit(cache=True)
def _half(polygon, n, axis, bound, side, out):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(n):
        p, q = polygon[k - 1 if k > 0 else n - 1], polygon[k]
        before, here = side * (p[axis] - bound), side * (q[axis] - bound)
        if (before >= 0) != (here >= 0):
            share = before / (before - here)
            for d in range(3):
                out[count, d] = p[d] + share * (q[d] - p[d])
            out[count, axis] = bound
            count += 1
        if here >= 0:
            for d in range(3):
                out[count, d] = q[d]
            count += 1
    return count


@njit(cache=True)
def _moments(polygon, n, centroid):  # type: ignore[no-untyped-def]
    total = 0.0
    centroid[:] = 0.0
    a = polygon[0]
    for k in range(1, n - 1):
        b, c = polygon[k], polygon[k + 1]
        u0, u1, u2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        v0, v1, v2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        x, y, z = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        area = 0.5 * np.sqrt(x * x + y * y + z * z)
        total += area
        for d in range(3):
            centroid[d] += area * (a[d] + b[d] + c[d]) / 3
    if total > 0:
        centroid /= total
    return total
