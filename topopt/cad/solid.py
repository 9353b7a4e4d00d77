"""The bridge to exact Booleans: triangulated surfaces as manifold3d solids, with the status asked after every step.

manifold3d answers a broken surface with an empty solid and no exception. So nothing here passes on a solid that was not
asked for its status, and an empty result is an error unless the caller says that it may be empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Surface
from topopt.errors import ExportError

if TYPE_CHECKING:
    from manifold3d import Manifold

Index = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """One connected piece of material.

    Attributes:
        solid: the piece with its closed cavities.
        volume: mm3, cavities taken off.
        genus: number of handles, summed over its shells.
        cavities: number of closed cavities inside.
    """

    solid: "Manifold"
    volume: float
    genus: int
    cavities: int


def to_manifold(surface: Surface, name: str = "the surface") -> "Manifold":
    """A surface as a solid.

    Raises:
        ExportError: it is open, not oriented, not finite, or encloses nothing.
    """
    from manifold3d import Error, Manifold, Mesh64

    mesh = Mesh64(
        np.ascontiguousarray(surface.vertices, np.float64), np.ascontiguousarray(surface.faces.astype(np.uint64))
    )
    solid = Manifold(mesh)
    if solid.status() == Error.NotManifold and mesh.merge():
        solid = Manifold(mesh)  # triangles that share positions, not vertex numbers
    return checked(solid, name)


def to_surface(solid: "Manifold") -> Surface:
    """A solid as a surface; vertices that several faces share appear once."""
    mesh = solid.to_mesh64()
    numbers = np.arange(len(mesh.vert_properties))
    numbers[np.asarray(mesh.merge_from_vert, int)] = np.asarray(mesh.merge_to_vert, int)
    used, faces = np.unique(numbers[np.asarray(mesh.tri_verts, np.int64)], return_inverse=True)
    points = np.array(mesh.vert_properties[used, :3], np.float64)
    return Surface(points, faces.reshape(-1, 3).astype(np.int64))


def checked(solid: "Manifold", name: str, *, may_be_empty: bool = False) -> "Manifold":
    """The solid itself, if it is one.

    Raises:
        ExportError: its status is an error, or it is empty and may not be.
    """
    from manifold3d import Error

    status = solid.status()
    if status != Error.NoError:
        raise ExportError(
            f"{name} is not a closed, oriented surface ({status.name}): repair it, or choose another voxel size"
        )
    if not may_be_empty and (solid.is_empty() or not np.isfinite(solid.volume())):
        raise ExportError(f"{name} is empty: nothing is left to make")
    return solid


def union(a: "Manifold", b: "Manifold", name: str = "the union") -> "Manifold":
    return checked(a + b, name)


def intersect(a: "Manifold", b: "Manifold", name: str = "the intersection") -> "Manifold":
    return checked(a ^ b, name)


def subtract(a: "Manifold", b: "Manifold", name: str = "the difference") -> "Manifold":
    return checked(a - b, name)


def excess(a: "Manifold", b: "Manifold") -> float:
    """Volume of `a` outside `b`, mm3; 0 when there is none."""
    return max(0.0, checked(a - b, "the part outside the body", may_be_empty=True).volume())


def box(lower: np.ndarray, upper: np.ndarray) -> "Manifold":
    """An axis-aligned box, its corners exact."""
    from manifold3d import Manifold

    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    unit = to_surface(Manifold.cube([1.0, 1.0, 1.0]))
    return to_manifold(Surface(np.where(unit.vertices > 0.5, upper, lower), unit.faces), "the box of the grid")


def voxel_body(filled: NDArray[np.bool_], axes: Sequence[NDArray[np.float64]]) -> "Manifold":
    """The union of voxels as an exact solid. filled : (nx, ny, nz). axes: node coordinates along each axis, mm."""
    from manifold3d import Manifold, OpType

    boxes = [
        box(*(np.array([axis[i] for axis, i in zip(axes, corner, strict=True)]) for corner in pair))
        for pair in _blocks(filled)
    ]
    return checked(Manifold.batch_boolean(boxes, OpType.Add), "the design space of the voxels")


def _blocks(filled: NDArray[np.bool_]) -> list[tuple[Index, Index]]:
    """Voxels grouped into disjoint boxes, as pairs of node indices; each grows along z, y, x as far as it can."""
    left: NDArray[np.bool_] = np.array(filled, bool, order="C")
    flat, place, found = left.reshape(-1), 0, []
    while flat[place:].any():
        place += int(np.argmax(flat[place:]))
        start = np.array(np.unravel_index(place, left.shape))
        end = start + 1
        for axis in (2, 1, 0):
            while end[axis] < filled.shape[axis]:
                ahead = [slice(a, b) for a, b in zip(start, end, strict=True)]
                ahead[axis] = slice(end[axis], end[axis] + 1)
                if not left[tuple(ahead)].all():
                    break
                end[axis] += 1
        left[tuple(slice(a, b) for a, b in zip(start, end, strict=True))] = False
        found.append((tuple(map(int, start)), tuple(map(int, end))))
    return found


def pieces(solid: "Manifold") -> list[Piece]:
    """Connected pieces of material, the largest first.

    A shell that encloses negative volume is a closed cavity: it belongs to the smallest piece around it, not to itself.
    """
    shells = solid.decompose()
    outer = sorted((s for s in shells if s.volume() > 0), key=lambda s: s.volume())
    inside: list[list[Manifold]] = [[] for _ in outer]
    for shell in (s for s in shells if s.volume() < 0):
        owner = next((i for i, piece in enumerate(outer) if _encloses(piece, shell)), None)
        if owner is not None:
            inside[owner].append(shell)
    found = [
        Piece(
            _together(piece, holes) if holes else piece,
            piece.volume() + sum(h.volume() for h in holes),
            piece.genus() + sum(h.genus() for h in holes),
            len(holes),
        )
        for piece, holes in zip(outer, inside, strict=True)
    ]
    return sorted(found, key=lambda piece: -piece.volume)


def _together(piece: "Manifold", holes: "list[Manifold]") -> "Manifold":
    # The library's own compose() takes shells for solids and fills the cavities again.
    shells = [to_surface(shell) for shell in (piece, *holes)]
    starts = np.cumsum([0] + [len(shell.vertices) for shell in shells])
    faces = np.concatenate([shell.faces + start for shell, start in zip(shells, starts, strict=False)])
    return to_manifold(Surface(np.concatenate([shell.vertices for shell in shells]), faces), "a piece with cavities")


def _encloses(piece: "Manifold", shell: "Manifold") -> bool:
    a, b = np.reshape(piece.bounding_box(), (2, 3)), np.reshape(shell.bounding_box(), (2, 3))
    if not ((a[0] < b[0]).all() and (a[1] > b[1]).all()):
        return False
    # The cavity turned outside in has volume; what of it lies in the outer shell's solid decides.
    surface = to_surface(shell)
    plug = to_manifold(Surface(surface.vertices, surface.faces[:, ::-1]), "a cavity")
    return (plug ^ piece).volume() > 0.5 * plug.volume()
