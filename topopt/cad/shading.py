"""What a viewer needs beyond triangles: normals that break at the edges of the part, and those edges as lines."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from topopt.cad.body import Points, Surface


def split_at_edges(
    surface: Surface, angle: float = 35.0
) -> tuple[Points, Points, NDArray[np.int64], NDArray[np.int64]]:
    """Vertices repeated where neighbouring triangles meet at more than `angle` degrees.

    A corner's normal is the area-weighted mean over the triangles at its vertex that lie within the angle of its own.

    Returns:
        points (k, 3), unit normals (k, 3), faces (m, 3), and the vertex of the surface that each point came from (k,).
    """
    areas = surface.normals
    lengths = np.linalg.norm(areas, axis=1)
    units = areas / np.maximum(lengths, 1e-300)[:, None]
    corner_vertex = surface.faces.ravel()
    corner_face = np.repeat(np.arange(len(surface.faces)), 3)
    by_vertex = np.argsort(corner_vertex, kind="stable")
    degree = np.bincount(corner_vertex, minlength=len(surface.vertices))
    start = np.concatenate([[0], np.cumsum(degree)])
    # All pairs (corner, triangle at the corner's vertex), laid out corner by corner.
    counts = degree[corner_vertex]
    corner = np.repeat(np.arange(len(corner_vertex)), counts)
    rank = np.arange(len(corner)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = corner_face[by_vertex[start[corner_vertex[corner]] + rank]]
    near = np.einsum("ij,ij->i", units[corner_face[corner]], units[other]) > np.cos(np.radians(angle))
    near |= other == corner_face[corner]
    corner, other = corner[near], other[near]
    normals = np.stack([np.bincount(corner, areas[other, k], len(corner_vertex)) for k in range(3)], axis=1)
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    # Corners of one vertex with (nearly) one normal are one point: vertex number and normal packed into one integer.
    steps = np.rint((normals + 1) * 511).astype(np.int64)
    key = (corner_vertex << 30) | (steps[:, 0] << 20) | (steps[:, 1] << 10) | steps[:, 2]
    _, first, faces = np.unique(key, return_index=True, return_inverse=True)
    source = corner_vertex[first]
    return surface.vertices[source], normals[first], faces.reshape(-1, 3), source


def feature_edges(surface: Surface, angle: float = 40.0) -> NDArray[np.int64]:
    """Edges between triangles that meet at more than `angle` degrees, (k, 2) vertex numbers.

    Slivers have no normal worth the name, and a few millimetres of edge in a smooth face are noise: both are left out.
    """
    corners, normals = surface.corners, surface.normals
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(normals, axis=1)
    sliver = areas < 1e-3 * longest**2
    normals = normals / np.maximum(areas, 1e-300)[:, None]
    edges = np.concatenate([surface.faces[:, [0, 1]], surface.faces[:, [1, 2]], surface.faces[:, [2, 0]]])
    face = np.tile(np.arange(len(surface.faces)), 3)
    order = np.lexsort(np.sort(edges, axis=1).T)
    first, second = order[0::2], order[1::2]  # every edge of a closed surface has two sides
    one, other = face[first], face[second]
    sharp = np.einsum("ij,ij->i", normals[one], normals[other]) < np.cos(np.radians(angle))
    found = edges[first[sharp & ~sliver[one] & ~sliver[other]]]
    return found[_chain_lengths(surface, found) > 0.04 * np.linalg.norm(np.ptp(surface.bounds, axis=0))]


def _chain_lengths(surface: Surface, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Total length of the connected chain that each edge belongs to, mm. edges : (k, 2) -> (k,)."""
    n = len(surface.vertices)
    chain = connected_components(sp.coo_matrix((np.ones(len(edges)), tuple(edges.T)), (n, n)), directed=False)[1]
    lengths = np.linalg.norm(np.diff(surface.vertices[edges], axis=1)[:, 0], axis=1)
    return np.bincount(chain[edges[:, 0]], lengths, n)[chain[edges[:, 0]]]
