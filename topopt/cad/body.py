"""A solid body as it is handed from room to room: a closed triangulated surface in mm, and the faces it is made of."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """A closed, outward-oriented triangulated surface.

    Attributes:
        vertices: (n, 3) float64, mm.
        faces: (m, 3) int64, counter-clockwise from outside.
    """

    vertices: Points
    faces: NDArray[np.int64]

    @property
    def corners(self) -> Points:
        """Triangle corners, (m, 3, 3)."""
        return self.vertices[self.faces]

    @property
    def normals(self) -> Points:
        """Area vectors of the triangles, (m, 3), mm2: their lengths are the areas."""
        a, b, c = np.moveaxis(self.corners, 1, 0)
        return 0.5 * np.cross(b - a, c - a)

    @property
    def areas(self) -> NDArray[np.float64]:
        return np.linalg.norm(self.normals, axis=1)

    @property
    def volume(self) -> float:
        """Signed enclosed volume, mm3 (divergence theorem)."""
        return float(np.einsum("ij,ij->", self.corners.mean(axis=1), self.normals) / 3)

    @property
    def bounds(self) -> Points:
        """Lowest and highest corner, (2, 3), mm."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])


@dataclass(frozen=True)
class Face:
    """One face of a body, as a designer would point at it.

    Attributes:
        kind: "plane" and "cylinder" carry the geometry below; everything else is "other".
        triangles: (k,) int64, its triangles in the body's surface.
        point: a point of the plane, or of the cylinder's axis at the middle of the face. (3,), mm.
        direction: outward unit normal of the plane, or unit direction of the axis. (3,)
        radius: of the cylinder, mm; 0 otherwise.
        hollow: a cylinder seen from inside, that is, a hole.
    """

    kind: Literal["plane", "cylinder", "other"]
    triangles: NDArray[np.int64]
    point: Points = field(default_factory=lambda: np.zeros(3))
    direction: Points = field(default_factory=lambda: np.zeros(3))
    radius: float = 0.0
    hollow: bool = False


@dataclass(frozen=True)
class Body:
    """A solid.

    Attributes:
        name: what it is called in messages and reports.
        surface: its boundary, checked: closed, oriented, finite.
        faces: its faces; every triangle belongs to exactly one.
        volume: mm3; exact where the source is exact geometry, that of the surface otherwise.
        solid: the exact solid (an OpenCASCADE shape in mm) where there is one.
    """

    name: str
    surface: Surface
    faces: tuple[Face, ...]
    volume: float
    solid: Any = None
