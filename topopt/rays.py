"""The compiled loop behind `topopt.voxels`: rays along z through a triangulated surface."""

import numpy as np
from numba import njit

# Rays are moved off the voxel raster by this share of a voxel (x, y), because meshes like to have vertices on it.
SHIFT_X, SHIFT_Y = 1.03e-4, 0.97e-4


@njit(cache=True)
def pierce(vertices, faces, origin, steps, samples, filled, crossings):  # type: ignore[no-untyped-def]
    """Add every crossing to `filled` (nx, ny, nz + 1; its running sum over z is the inside length in voxels, summed
    over the rays of a column) and to the signed count of its ray in `crossings` (nx * samples, ny * samples)."""
    # An edge is evaluated from its lower to its higher vertex number, so both of its triangles see the same rounding
    # and a ray is never lost or counted twice between them.
    dx, dy, h = steps[0] / samples, steps[1] / samples, steps[2]
    x0 = origin[0] + dx * 0.5 + SHIFT_X * steps[0]
    y0 = origin[1] + dy * 0.5 + SHIFT_Y * steps[1]
    rays_x, rays_y = crossings.shape
    layers = filled.shape[2] - 1
    edge = np.empty(3)
    for t in range(faces.shape[0]):
        x, y, z = vertices[faces[t], 0], vertices[faces[t], 1], vertices[faces[t], 2]
        i0 = max(0, int(np.ceil((x.min() - x0) / dx)))
        i1 = min(rays_x - 1, int(np.floor((x.max() - x0) / dx)))
        j0 = max(0, int(np.ceil((y.min() - y0) / dy)))
        j1 = min(rays_y - 1, int(np.floor((y.max() - y0) / dy)))
        z_low, z_high = z.min(), z.max()
        for i in range(i0, i1 + 1):
            px = x0 + i * dx
            for j in range(j0, j1 + 1):
                py = y0 + j * dy
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
                height = (min(max(height, z_low), z_high) - origin[2]) / h
                crossings[i, j] += sign
                if height < layers:
                    layer = max(0, int(np.floor(height)))
                    above = min(1.0, layer + 1 - height)
                    filled[i // samples, j // samples, layer] += sign * above
                    filled[i // samples, j // samples, layer + 1] += sign * (1 - above)
