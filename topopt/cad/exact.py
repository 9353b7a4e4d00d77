"""A body from exact geometry: an OpenCASCADE solid, its faces as a designer sees them, a welded triangulation."""

# pyright: reportAttributeAccessIssue=false
# (the bindings of OpenCASCADE come without types)

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Body, Face
from topopt.cad.closed import check_closed, weld
from topopt.errors import BodyError

DEFLECTION = 0.02  # mm, chordal; for bodies between 100 mm and 1 m, relative to the size outside of that
ANGLE = 0.1  # rad; on small cylinders it is the angle that decides


def body_of(name: str, solid: Any) -> Body:
    """A body from an OpenCASCADE solid in mm. Faces that lie on the same surface are merged.

    Raises:
        BodyError: the kernel calls the solid invalid, it encloses no volume, or it cannot be triangulated closed.
    """
    from OCP.BRepCheck import BRepCheck_Analyzer

    if not BRepCheck_Analyzer(solid).IsValid():
        raise BodyError(f"{name} is not a valid solid (self-intersecting or badly joined faces): heal it in the CAD")
    solid = _merged(solid)
    volume = exact_volume(solid)
    if not volume > 0:
        raise BodyError(f"{name} encloses no volume ({volume:g} mm3): export it as an outward-oriented solid")
    corners, owner, faces = _triangulate(solid, name)
    surface, kept = weld(corners)
    check_closed(surface, name)
    owner = owner[kept]
    faces = tuple(
        Face(f.kind, np.flatnonzero(owner == k), f.point, f.direction, f.radius, f.hollow) for k, f in enumerate(faces)
    )
    return Body(name, surface, tuple(f for f in faces if len(f.triangles)), volume, solid)


def exact_volume(solid: Any) -> float:
    """Signed volume of an OpenCASCADE shape, mm3."""
    from OCP.BRepGProp import BRepGProp
    from OCP.GProp import GProp_GProps

    properties = GProp_GProps()
    BRepGProp.VolumeProperties_s(solid, properties)
    return float(properties.Mass())


def explore(shape: Any, kind: str) -> Iterator[Any]:
    """The parts of a shape of one kind: "Solid", "Face", "Edge"."""
    from OCP.TopAbs import TopAbs_ShapeEnum
    from OCP.TopExp import TopExp_Explorer
    from OCP.TopoDS import TopoDS

    explorer = TopExp_Explorer(shape, getattr(TopAbs_ShapeEnum, f"TopAbs_{kind.upper()}"))
    while explorer.More():
        yield getattr(TopoDS, kind)(explorer.Current())
        explorer.Next()


def _merged(solid: Any) -> Any:
    """Join faces that lie on the same surface; the solid as it was if that would change it."""
    from OCP.BRepCheck import BRepCheck_Analyzer
    from OCP.ShapeUpgrade import ShapeUpgrade_UnifySameDomain

    unify = ShapeUpgrade_UnifySameDomain(solid, True, True, False)
    unify.Build()
    solids = list(explore(unify.Shape(), "Solid"))
    if len(solids) != 1 or not BRepCheck_Analyzer(solids[0]).IsValid():
        return solid
    before = exact_volume(solid)
    return solids[0] if abs(exact_volume(solids[0]) - before) <= 1e-9 * abs(before) else solid


def _triangulate(solid: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64], list[Face]]:
    """Corners (m, 3, 3), the face number of every triangle (m,), and the geometry of the faces."""
    from OCP.BRepMesh import BRepMesh_IncrementalMesh
    from OCP.BRepTools import BRepTools

    BRepTools.Clean_s(solid)
    BRepMesh_IncrementalMesh(solid, _deflection(solid), False, ANGLE, False)
    corners, owner, faces = [], [], []
    for number, face in enumerate(explore(solid, "Face")):
        triangles = _face_triangles(face)
        if triangles is None:
            raise BodyError(f"face {number + 1} of {name} cannot be triangulated: heal the body in the CAD")
        corners.append(triangles)
        owner.append(np.full(len(triangles), number))
        faces.append(_geometry(face, triangles))
    return np.concatenate(corners), np.concatenate(owner), faces


def _deflection(solid: Any) -> float:
    from OCP.Bnd import Bnd_Box
    from OCP.BRepBndLib import BRepBndLib

    box = Bnd_Box()
    BRepBndLib.Add_s(solid, box)
    diagonal = float(np.sqrt(box.SquareExtent()))
    return max(min(DEFLECTION, 2e-4 * diagonal), 2e-5 * diagonal)


def _face_triangles(face: Any) -> NDArray[np.float64] | None:
    from OCP.BRep import BRep_Tool
    from OCP.TopAbs import TopAbs_Orientation
    from OCP.TopLoc import TopLoc_Location

    place = TopLoc_Location()
    mesh = BRep_Tool.Triangulation_s(face, place)
    if mesh is None or mesh.NbTriangles() == 0:
        return None
    move = place.Transformation()
    points = (mesh.Node(k).Transformed(move) for k in range(1, mesh.NbNodes() + 1))
    nodes = np.array([(p.X(), p.Y(), p.Z()) for p in points])
    index = np.array([mesh.Triangle(k).Get() for k in range(1, mesh.NbTriangles() + 1)]) - 1
    # The mesh follows the surface; the face may look the other way.
    return nodes[index[:, ::-1] if face.Orientation() == TopAbs_Orientation.TopAbs_REVERSED else index]


def _geometry(face: Any, triangles: NDArray[np.float64]) -> Face:
    from OCP.BRepAdaptor import BRepAdaptor_Surface
    from OCP.GeomAbs import GeomAbs_SurfaceType

    surface = BRepAdaptor_Surface(face)
    none = np.zeros(0, np.int64)
    area_vectors = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2
    if surface.GetType() == GeomAbs_SurfaceType.GeomAbs_Plane:
        normal = _xyz(surface.Plane().Axis().Direction())
        outward = normal * np.sign(area_vectors.sum(axis=0) @ normal) + 0.0
        return Face("plane", none, _xyz(surface.Plane().Location()), outward)
    if surface.GetType() == GeomAbs_SurfaceType.GeomAbs_Cylinder:
        cylinder = surface.Cylinder()
        point, axis = _xyz(cylinder.Axis().Location()), _xyz(cylinder.Axis().Direction())
        along = (triangles.reshape(-1, 3) - point) @ axis
        middle = point + axis * (along.min() + along.max()) / 2
        radial = triangles.mean(axis=1) - point
        radial -= np.outer(radial @ axis, axis)
        hollow = bool(np.einsum("ij,ij->", radial, area_vectors) < 0)
        # An axis has no sign; the largest component is made positive so that reports do not depend on the CAD.
        axis = axis * np.sign(axis[np.argmax(np.abs(axis))]) + 0.0
        return Face("cylinder", none, middle, axis, float(cylinder.Radius()), hollow)
    return Face("other", none, triangles.mean(axis=(0, 1)))


def _xyz(thing: Any) -> NDArray[np.float64]:
    return np.array([thing.X(), thing.Y(), thing.Z()]) + 0.0  # -0.0 reads badly in reports
