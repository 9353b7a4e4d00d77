"""Triangle meshes of planar domains."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError

if TYPE_CHECKING:
    from topopt.cad.region import Region

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Mesh:
    """Triangles in the plane.

    Args:
        nodes: (n, 2), mm.
        triangles: (m, 3) int64, corners; those given clockwise are turned.

    Raises:
        FeatureError: no triangles, corners that do not exist, a triangle without area, nodes without a triangle.
    """

    nodes: Field
    triangles: NDArray[np.int64]

    def __post_init__(self) -> None:
        nodes, cells = np.asarray(self.nodes, float), np.asarray(self.triangles, np.int64)
        if nodes.ndim != 2 or nodes.shape[1] != 2 or cells.ndim != 2 or cells.shape[1] != 3 or not len(cells):
            raise FeatureError(f"a mesh needs nodes (n, 2) and triangles (m, 3), not {nodes.shape} and {cells.shape}")
        if len(np.setdiff1d(np.arange(len(nodes)), cells)) or cells.min() < 0 or cells.max() >= len(nodes):
            raise FeatureError("triangles must use every node and no other: renumber the corners")
        area = _areas(nodes, cells)
        if not (np.abs(area) > 0).all():
            raise FeatureError(f"{int((area == 0).sum())} triangles have no area: mesh the outline again")
        cells = np.where((area < 0)[:, None], cells[:, [0, 2, 1]], cells)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "triangles", cells)

    @cached_property
    def areas(self) -> Field:
        """(m,), mm2."""
        return _areas(self.nodes, self.triangles)

    @cached_property
    def centroids(self) -> Field:
        """(m, 2), mm."""
        return self.nodes[self.triangles].mean(1)

    @cached_property
    def size(self) -> float:
        """Edge of the equilateral triangle of the mean area, mm."""
        return float(np.sqrt(4 / np.sqrt(3) * self.areas.mean()))

    def save(self, path: Path) -> None:
        """As a compressed .npz; coordinates keep all their digits."""
        kind = np.uint16 if len(self.nodes) < 2**16 else np.uint32
        np.savez_compressed(path, nodes=self.nodes, triangles=self.triangles.astype(kind))

    @classmethod
    def load(cls, path: Path) -> "Mesh":
        """A mesh that was saved."""
        with np.load(path, allow_pickle=False) as file:
            return cls(file["nodes"], file["triangles"].astype(np.int64))


def mesh_of(region: "Region", h: float, anchors: Sequence[tuple[float, float]] = ()) -> Mesh:
    """Fill a face of lines, arcs and ellipses, with holes, with triangles of edge h mm, by gmsh.

    Args:
        anchors: points on the border that become nodes, such as the ends of a load.

    Raises:
        ReanalysisError: gmsh is not installed or cannot mesh the region.
    """
    from topopt.cad.planar_mesh import mesh_region

    mesh = mesh_region(region, h, anchors=anchors)
    return Mesh(mesh.nodes, mesh.triangles)


def _areas(nodes: Field, cells: NDArray[np.int64]) -> Field:
    a, b, c = np.moveaxis(nodes[cells], 1, 0)
    return 0.5 * ((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1]))
