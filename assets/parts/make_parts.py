"""The parts that ship with Formgrad, made from scratch: `python assets/parts/make_parts.py [folder]`.

    bracket   a bearing bracket, 120 x 80 x 60 mm: four bolt holes d10, one bore d30 along y
    hinge     an L-shaped hinge lug, 90 x 60 x 88 mm: two bolt holes d11, one eye d20 along x, a fillet R12
    rocker    a rocker arm, 24 mm thick: a pivot bore d24, an eye d12, a slot 10 x 26, all along z

Every part is one valid solid in mm without split faces, written as STEP (exact) and as STL (within .02 mm).
None of them is symmetric under an exchange of axes, so a wrong axis order or a mirror image shows at once.
"""

# pyright: reportAttributeAccessIssue=false
# (the bindings of OpenCASCADE come without types)

import math
import sys
from pathlib import Path
from typing import Any

from OCP.APIHeaderSection import APIHeaderSection_MakeHeader
from OCP.BRepAlgoAPI import BRepAlgoAPI_Cut, BRepAlgoAPI_Fuse
from OCP.BRepBuilderAPI import (
    BRepBuilderAPI_MakeEdge,
    BRepBuilderAPI_MakeFace,
    BRepBuilderAPI_MakeVertex,
    BRepBuilderAPI_MakeWire,
    BRepBuilderAPI_Transform,
)
from OCP.BRepCheck import BRepCheck_Analyzer
from OCP.BRepExtrema import BRepExtrema_DistShapeShape
from OCP.BRepFilletAPI import BRepFilletAPI_MakeFillet
from OCP.BRepMesh import BRepMesh_IncrementalMesh
from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox, BRepPrimAPI_MakeCylinder, BRepPrimAPI_MakePrism
from OCP.BRepTools import BRepTools
from OCP.GC import GC_MakeArcOfCircle
from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt, gp_Trsf, gp_Vec
from OCP.IFSelect import IFSelect_ReturnStatus
from OCP.Message import Message, Message_PrinterOStream
from OCP.ShapeUpgrade import ShapeUpgrade_UnifySameDomain
from OCP.STEPCAFControl import STEPCAFControl_Writer
from OCP.StlAPI import StlAPI_Writer
from OCP.TCollection import TCollection_ExtendedString, TCollection_HAsciiString
from OCP.TDataStd import TDataStd_Name
from OCP.TDocStd import TDocStd_Document
from OCP.TopAbs import TopAbs_ShapeEnum
from OCP.TopExp import TopExp_Explorer
from OCP.TopoDS import TopoDS
from OCP.XCAFDoc import XCAFDoc_DocumentTool

Triple = tuple[float, float, float]

DEFLECTION = 0.02  # mm, chordal
ANGLE = 0.1  # rad; on small cylinders it is the angle that decides


def bracket() -> Any:
    """Base plate 120 x 80 x 15, block 70 x 80 x 45 on it, bolt holes at (+-48, +-28), bore at z = 38."""
    shape = _fuse(_box((-60, -40, 0), (60, 40, 15)), _box((-35, -40, 15), (35, 40, 60)))
    for x in (-48, 48):
        for y in (-28, 28):
            shape = _cut(shape, _cylinder((x, y, -1), (0, 0, 1), radius=5, height=17))
    return _unified(_cut(shape, _cylinder((0, -41, 38), (0, 1, 0), radius=15, height=82)))


def hinge() -> Any:
    """Base plate 90 x 60 x 14 with bolt holes, a wall 16 thick that ends in a round eye, a fillet R12 between them."""
    plate = _box((0, 0, 0), (90, 60, 14))
    wall = _fuse(_box((0, 0, 0), (16, 60, 58)), _cylinder((0, 30, 58), (1, 0, 0), radius=30, height=16))
    shape = _unified(_fuse(plate, wall))
    fillet = BRepFilletAPI_MakeFillet(shape)
    fillet.Add(12.0, _edge_through(shape, (16, 30, 14)))
    shape = fillet.Shape()
    for y in (14, 46):
        shape = _cut(shape, _cylinder((68, y, -1), (0, 0, 1), radius=5.5, height=16))
    return _unified(_cut(shape, _cylinder((-1, 30, 58), (1, 0, 0), radius=10, height=18)))


def rocker() -> Any:
    """The hull of three hubs (R26, R16, R20), with a pivot, an eye and a slot that is inclined by 20 degrees."""
    hubs = [((0.0, 0.0), 26.0), ((95.0, 28.0), 16.0), ((-58.0, 44.0), 20.0)]
    shape = _prism(_outline(hubs), height=24)
    shape = _cut(shape, _cylinder((0, 0, -1), (0, 0, 1), radius=12, height=26))
    shape = _cut(shape, _cylinder((95, 28, -1), (0, 0, 1), radius=6, height=26))
    along = (8 * math.cos(math.radians(20)), 8 * math.sin(math.radians(20)))
    ends = [((-58 + s * along[0], 44 + s * along[1]), 5.0) for s in (1, -1)]
    return _unified(_cut(shape, _prism(_outline(ends), height=26, z=-1)))


PARTS = {"bracket": bracket, "hinge": hinge, "rocker": rocker}


def write(name: str, shape: Any, folder: Path) -> None:
    """Write `name`.step and `name`.stl. Raises RuntimeError if the shape is invalid or cannot be written."""
    if not BRepCheck_Analyzer(shape).IsValid():
        raise RuntimeError(f"{name} is not a valid solid")
    document = TDocStd_Document(TCollection_ExtendedString("XmlXCAF"))
    label = XCAFDoc_DocumentTool.ShapeTool_s(document.Main()).AddShape(shape, False)
    TDataStd_Name.Set_s(label, TCollection_ExtendedString(name))
    writer = STEPCAFControl_Writer()
    writer.Transfer(document)
    header = APIHeaderSection_MakeHeader(writer.ChangeWriter().Model())
    header.SetName(TCollection_HAsciiString(name))
    header.SetTimeStamp(TCollection_HAsciiString("2025-01-01T00:00:00"))  # the same input gives the same bytes
    if writer.Write(str(folder / f"{name}.step")) != IFSelect_ReturnStatus.IFSelect_RetDone:
        raise RuntimeError(f"{name}.step could not be written to {folder}")
    BRepTools.Clean_s(shape)
    BRepMesh_IncrementalMesh(shape, DEFLECTION, False, ANGLE, False)
    stl = StlAPI_Writer()
    stl.ASCIIMode = False
    if not stl.Write(shape, str(folder / f"{name}.stl")):
        raise RuntimeError(f"{name}.stl could not be written to {folder}")


def _box(low: Triple, high: Triple) -> Any:
    return BRepPrimAPI_MakeBox(gp_Pnt(*low), gp_Pnt(*high)).Shape()


def _cylinder(base: Triple, direction: Triple, radius: float, height: float) -> Any:
    return BRepPrimAPI_MakeCylinder(gp_Ax2(gp_Pnt(*base), gp_Dir(*direction)), radius, height).Shape()


def _fuse(one: Any, other: Any) -> Any:
    return BRepAlgoAPI_Fuse(one, other).Shape()


def _cut(one: Any, tool: Any) -> Any:
    return BRepAlgoAPI_Cut(one, tool).Shape()


def _unified(shape: Any) -> Any:
    # A fuse leaves coplanar faces split along the old borders; the designer would have to pick each of them.
    unify = ShapeUpgrade_UnifySameDomain(shape, True, True, True)
    unify.Build()
    solids = TopExp_Explorer(unify.Shape(), TopAbs_ShapeEnum.TopAbs_SOLID)
    return solids.Current()


def _edge_through(shape: Any, point: Triple) -> Any:
    probe = BRepBuilderAPI_MakeVertex(gp_Pnt(*point)).Vertex()
    edges = TopExp_Explorer(shape, TopAbs_ShapeEnum.TopAbs_EDGE)
    while edges.More():
        if BRepExtrema_DistShapeShape(edges.Current(), probe).Value() < 1e-9:
            return TopoDS.Edge(edges.Current())
        edges.Next()
    raise RuntimeError(f"no edge passes through {point}")


def _outline(circles: list[tuple[tuple[float, float], float]]) -> Any:
    """Convex outline of circles given counter-clockwise: outer tangents and the arcs between them, a planar wire."""
    legs = []
    for (centre, radius), (next_centre, next_radius) in zip(circles, circles[1:] + circles[:1], strict=True):
        dx, dy = next_centre[0] - centre[0], next_centre[1] - centre[1]
        # The normal n of the outer tangent satisfies n . (c2 - c1) = r1 - r2.
        turn = math.atan2(dy, dx) - math.acos((radius - next_radius) / math.hypot(dx, dy))
        normal = (math.cos(turn), math.sin(turn))
        legs.append((turn, _on(centre, radius, normal), _on(next_centre, next_radius, normal)))
    wire = BRepBuilderAPI_MakeWire()
    for k, (turn, start, end) in enumerate(legs):
        centre, radius = circles[(k + 1) % len(circles)]
        next_turn, next_start, _ = legs[(k + 1) % len(legs)]
        middle = turn + ((next_turn - turn) % (2 * math.pi)) / 2
        way = _on(centre, radius, (math.cos(middle), math.sin(middle)))
        wire.Add(BRepBuilderAPI_MakeEdge(start, end).Edge())
        wire.Add(BRepBuilderAPI_MakeEdge(GC_MakeArcOfCircle(end, way, next_start).Value()).Edge())
    return wire.Wire()


def _on(centre: tuple[float, float], radius: float, normal: tuple[float, float]) -> Any:
    return gp_Pnt(centre[0] + radius * normal[0], centre[1] + radius * normal[1], 0)


def _prism(wire: Any, height: float, z: float = 0) -> Any:
    solid = BRepPrimAPI_MakePrism(BRepBuilderAPI_MakeFace(wire, True).Face(), gp_Vec(0, 0, height)).Shape()
    lift = gp_Trsf()
    lift.SetTranslation(gp_Vec(0, 0, z))
    return BRepBuilderAPI_Transform(solid, lift, True).Shape()


if __name__ == "__main__":
    Message.DefaultMessenger_s().RemovePrinters(Message_PrinterOStream.get_type_descriptor_s())
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for part, make in PARTS.items():
        write(part, make(), target)
        print(f"{part}: {(target / part).with_suffix('.step')}, {(target / part).with_suffix('.stl')}")
