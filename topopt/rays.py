"""The compiled loop behind `topopt.voxels`: rays along z through a triangulated surface."""

import numpy as np
from numba import njit


@njit(cache=True)
def pierce(vertices, faces, origin, steps, offsets, filled, crossings):  # type: ignore[no-untyped-def]
    """Cross every ray with every triangle.

    Ray q of voxel column (i, j) stands at origin + (i + offsets[q, 0], j + offsets[q, 1]) voxels. Its crossings are
    added to `filled` (nx, ny, nz + 1), whose running sum over z is then the inside length in voxels, summed over the
    rays of a column, and to its signed count in `crossings` (rays, nx, ny).

    An edge is evaluated from its lower to its higher vertex number, so both of its triangles see the same rounding and
    a ray is never lost or counted twice between them.
    """
    hx, hy, hz = steps[0], steps[1], steps[2]
    columns_x, columns_y = filled.shape[0], filled.shape[1]
    layers = filled.shape[2] - 1
    edge = np.empty(3)
    for t in range(faces.shape[0]):
        x, y, z = vertices[faces[t], 0], vertices[faces[t], 1], vertices[faces[t], 2]
        x_low, x_high, y_low, y_high, z_low, z_high = x.min(), x.max(), y.min(), y.max(), z.min(), z.max()
        for q in range(offsets.shape[0]):
            x0, y0 = origin[0] + offsets[q, 0] * hx, origin[1] + offsets[q, 1] * hy
            i0, i1 = max(0, int(np.ceil((x_low - x0) / hx))), min(columns_x - 1, int(np.floor((x_high - x0) / hx)))
            j0, j1 = max(0, int(np.ceil((y_low - y0) / hy))), min(columns_y - 1, int(np.floor((y_high - y0) / hy)))
            for i in range(i0, i1 + 1):
                px = x0 + i * hx
                for j in range(j0, j1 + 1):
                    py = y0 + j * hy
                    positive = 0
                    for k in range(3):
                        a, b = (k + 1) % 3, (k + 2) % 3
                        if faces[t, a] < faces[t, b]:
                            side = (x[b] - x[a]) * (py - y[a]) - (y[b] - y[a]) * (px - x[a])
                            positive += 1 if side >= 0 else 0
                        else:
                            side = -((x[a] - x[b]) * (py - y[b]) - (y[a] - y[b]) * (px - x[b]))
                            positive += 1 if side > 0 else 0
                        edge[k] = side
                    if positive != 3 and positive != 0:
                        continue
                    total = edge[0] + edge[1] + edge[2]
                    if total == 0.0:
                        continue
                    # A triangle that looks up is left by a ray that climbs.
                    sign = -1 if positive == 3 else 1
                    height = (edge[0] * z[0] + edge[1] * z[1] + edge[2] * z[2]) / total
                    height = (min(max(height, z_low), z_high) - origin[2]) / hz
                    crossings[q, i, j] += sign
                    if height < layers:
                        layer = max(0, int(np.floor(height)))
                        above = min(1.0, layer + 1 - height)
                        filled[i, j, layer] += sign * above
                        filled[i, j, layer + 1] += sign * (1 - above)
