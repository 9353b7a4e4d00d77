"""Closed triangulated solids of simple shapes, for exact Booleans with a body.

Round things are polygons of the same area (spheres: polyhedra of the same volume), so that a hole takes away what the
exact hole would.
"""

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Surface
from topopt.cad.patch import Cylinder

Points = NDArray[np.float64]

SIDES = 96


def cuboid(low: Points, high: Points) -> Surface:
    """A box along the axes, 12 triangles."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int64)
    return Surface(np.asarray(low) + corners * (np.asarray(high) - np.asarray(low)), faces)


def tube(cylinder: Cylinder, inner: float, outer: float) -> Surface:
    """What lies between two radii over the length of a cylinder; a solid cylinder for `inner` = 0. mm."""
    u, v = cylinder.frame()
    angle = np.arange(SIDES) * 2 * np.pi / SIDES
    rim = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
    # A polygon of n sides with circumradius q has the area n q^2 sin(2 pi / n) / 2.
    same_area = np.sqrt(2 * np.pi / (SIDES * np.sin(2 * np.pi / SIDES)))
    low, high = (cylinder.point + cylinder.direction * end for end in (cylinder.low, cylinder.high))
    k = np.arange(SIDES)
    following = (k + 1) % SIDES
    rings = [low + outer * same_area * rim, high + outer * same_area * rim]
    faces = _wall(k, following, 0, SIDES)
    if inner <= 0:
        vertices = np.concatenate([*rings, [low, high]])
        hub = 2 * SIDES
        caps = [
            np.stack([np.full(SIDES, hub), following, k], 1),
            np.stack([np.full(SIDES, hub + 1), SIDES + k, SIDES + following], 1),
        ]
        return Surface(vertices, np.concatenate([faces, *caps]))
    rings += [low + inner * same_area * rim, high + inner * same_area * rim]
    inside = _wall(k, following, 2 * SIDES, 3 * SIDES)[:, ::-1]
    bottom, top = _wall(k, following, 2 * SIDES, 0), _wall(k, following, SIDES, 3 * SIDES)
    return Surface(np.concatenate(rings), np.concatenate([faces, inside, bottom, top]))


def ball(center: Points, radius: float, fineness: int = 4) -> Surface:
    """A sphere from an octahedron whose triangles are quartered `fineness` times, scaled to the exact volume."""
    vertices = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]], np.int64)
    for _ in range(fineness):
        edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        middles = len(vertices) + number.reshape(-1, 3)
        vertices = np.concatenate([vertices, vertices[unique].mean(axis=1)])
        vertices /= np.linalg.norm(vertices, axis=1)[:, None]
        a, b, c = faces.T
        ab, bc, ca = middles.T
        faces = np.concatenate([np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    unit = Surface(vertices, faces)
    scale = radius * (4 * np.pi / 3 / unit.volume) ** (1 / 3)
    return Surface(np.asarray(center) + scale * vertices, faces)


def united(solids: list[Surface]) -> Surface:
    """The union of closed solids."""
    if len(solids) == 1:
        return solids[0]
    from manifold3d import Manifold, Mesh64, OpType

    parts = [Manifold(Mesh64(s.vertices, s.faces.astype(np.uint64))) for s in solids]
    mesh = Manifold.batch_boolean(parts, OpType.Add).to_mesh64()
    return Surface(np.asarray(mesh.vert_properties)[:, :3].copy(), np.asarray(mesh.tri_verts).astype(np.int64))


def _wall(k: NDArray[np.int64], following: NDArray[np.int64], lower: int, upper: int) -> NDArray[np.int64]:
    a, b, c, d = lower + k, lower + following, upper + following, upper + k
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
