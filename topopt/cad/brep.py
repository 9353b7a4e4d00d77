"""Planar designs in OpenCASCADE: wires as LINE, CIRCLE and ELLIPSE edges, faces, solids by extrusion, and back.

Neighbouring edges share a vertex, so wires close exactly; no curve is ever approximated, so no B-spline appears.
"""

# pyright: reportAttributeAccessIssue=false
# (the bindings of OpenCASCADE come without types)

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topopt.cad.edges import Arc, Edge, EllipseArc, Line, Point
from topopt.cad.exact import exact_volume, explore
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.errors import BodyError, ExportError, OutlineError

Vector = tuple[float, float, float]

VOLUME = 1e-9  # relative: area times thickness against the kernel's volume
_VERTEX = 1e-7  # the kernel's own tolerance, mm


@dataclass(frozen=True)
class Frame:
    """A plane in space: the point (x, y) of a wire lies at origin + x * x_axis + y * y_axis. Axes are unit vectors."""

    origin: Vector = (0.0, 0.0, 0.0)
    x_axis: Vector = (1.0, 0.0, 0.0)
    y_axis: Vector = (0.0, 1.0, 0.0)

    def flat(self, point: Any) -> Point:
        """In-plane coordinates of a point of the kernel."""
        arm = np.array([point.X(), point.Y(), point.Z()]) - self.origin
        return float(arm @ self.x_axis), float(arm @ self.y_axis)


XY = Frame()


def face_of(region: Region) -> Any:
    """An OpenCASCADE face in the plane z = 0, normal +z.

    Raises:
        OutlineError: the kernel calls it invalid, because wires cross themselves or each other.
    """
    from OCP.BRepBuilderAPI import BRepBuilderAPI_MakeFace
    from OCP.BRepCheck import BRepCheck_Analyzer
    from OCP.gp import gp_Pln

    make = BRepBuilderAPI_MakeFace(gp_Pln(), kernel_wire(region.outer), True)
    for hole in region.holes:
        make.Add(kernel_wire(hole))
    face = make.Face()
    if not BRepCheck_Analyzer(face).IsValid():
        raise OutlineError("the outline is no valid face: a wire crosses itself, or a hole leaves the outline")
    return face


def kernel_wire(wire: Wire) -> Any:
    """An OpenCASCADE wire in the plane z = 0.

    Raises:
        OutlineError: the kernel cannot join the edges.
    """
    from OCP.BRepBuilderAPI import BRepBuilderAPI_MakeEdge, BRepBuilderAPI_MakeWire
    from OCP.TopoDS import TopoDS

    whole = wire.oriented(True).edges[0]
    if wire.is_full_turn and not isinstance(whole, Line):
        # One closed edge, so that a round hole becomes one cylinder.
        make = BRepBuilderAPI_MakeWire(BRepBuilderAPI_MakeEdge(_curve(whole)).Edge())
        return make.Wire() if wire.ccw else TopoDS.Wire(make.Wire().Reversed())
    ends = [(wire.edges[k - 1].end, edge.start) for k, edge in enumerate(wire.edges)]
    vertices = [_vertex(before, after) for before, after in ends]
    make = BRepBuilderAPI_MakeWire()
    for k, edge in enumerate(wire.edges):
        make.Add(_edge(edge, vertices[k], vertices[(k + 1) % len(vertices)]))
        if not make.IsDone():
            raise OutlineError(f"edge {k + 1} of {len(wire.edges)} cannot be joined to the one before it")
    return make.Wire()


def extrude(region: Region, thickness: float, name: str = "part") -> Any:
    """A solid from z = 0 to z = thickness (mm), checked: valid, one body, of the volume that it must have.

    Raises:
        ExportError: no positive thickness, or a check failed.
        OutlineError: see `face_of`.
    """
    from OCP.BRepCheck import BRepCheck_Analyzer
    from OCP.BRepPrimAPI import BRepPrimAPI_MakePrism
    from OCP.gp import gp_Vec

    if not (math.isfinite(thickness) and thickness > 0):
        raise ExportError(f"the thickness of {name} must be a positive number of mm, not {thickness}")
    solids = list(explore(BRepPrimAPI_MakePrism(face_of(region), gp_Vec(0, 0, thickness)).Shape(), "Solid"))
    if len(solids) != 1 or not BRepCheck_Analyzer(solids[0]).IsValid():
        raise ExportError(f"{name} could not be extruded to one valid solid: look for voids that touch each other")
    miss = exact_volume(solids[0]) / (region.area * thickness) - 1
    if not abs(miss) <= VOLUME:
        raise ExportError(f"the volume of {name} differs by {miss:.1e} from area times thickness: it is not exact")
    return solids[0]


def exact_area(shape: Any) -> float:
    """Area of all faces of an OpenCASCADE shape, mm2."""
    from OCP.BRepGProp import BRepGProp
    from OCP.GProp import GProp_GProps

    properties = GProp_GProps()
    BRepGProp.SurfaceProperties_s(shape, properties)
    return float(properties.Mass())


def wires_of_face(face: Any, frame: Frame = XY) -> Region:
    """The wires of a planar face, in the coordinates of a frame that lies in its plane.

    Raises:
        OutlineError: the face is not planar, or an edge is no line, circle or ellipse.
    """
    from OCP.BRepTools import BRepTools

    outer = BRepTools.OuterWire_s(face)
    holes = [wire for wire in explore(face, "Wire") if not wire.IsSame(outer)]
    return Region(_wire(outer, face, frame), tuple(_wire(hole, face, frame) for hole in holes))


@dataclass(frozen=True)
class PlanarFace:
    """A planar face of a solid. `normal` points out of the material; the frame is right-handed about it."""

    region: Region
    frame: Frame
    normal: Vector


def planar_faces(solid: Any) -> tuple[PlanarFace, ...]:
    """All planar faces of an OpenCASCADE solid whose edges are lines, circles and ellipses, the largest first.

    A face that looks along +z keeps the x and y of the body; one that looks along -z shows x mirrored.

    Raises:
        BodyError: there is none.
    """
    from OCP.BRepAdaptor import BRepAdaptor_Surface
    from OCP.GeomAbs import GeomAbs_SurfaceType
    from OCP.TopAbs import TopAbs_Orientation

    found = []
    for face in explore(solid, "Face"):
        surface = BRepAdaptor_Surface(face)
        if surface.GetType() != GeomAbs_SurfaceType.GeomAbs_Plane:
            continue
        plane = surface.Plane()
        normal = np.array(_xyz(plane.Axis().Direction()))
        if not plane.Direct():
            normal = -normal
        if face.Orientation() == TopAbs_Orientation.TopAbs_REVERSED:
            normal = -normal
        frame = _frame(normal, np.array(_xyz(plane.Location())), np.array(_xyz(plane.XAxis().Direction())))
        try:
            found.append(PlanarFace(wires_of_face(face, frame), frame, _vector(normal)))
        except OutlineError:
            continue  # a border with a free-form curve; other faces may do
    if not found:
        raise BodyError("the body has no planar face bounded by lines, circles and ellipses: draw the outline instead")
    return tuple(sorted(found, key=lambda face: -face.region.area))


def _frame(normal: Any, point: Any, axis: Any) -> Frame:
    """Axes along x and y of the body where the plane allows it; the origin is the point nearest to the body's own."""
    if abs(normal[2]) > 1 - 1e-12:
        axis = np.array([math.copysign(1.0, normal[2]), 0.0, 0.0])
    return Frame(_vector(normal * (point @ normal)), _vector(axis), _vector(np.cross(normal, axis)))


def _vertex(before: Point, after: Point) -> Any:
    """One vertex for the end of an edge and the start of the next, with a tolerance that covers both."""
    from OCP.BRep import BRep_Builder
    from OCP.gp import gp_Pnt
    from OCP.TopoDS import TopoDS_Vertex

    vertex = TopoDS_Vertex()
    BRep_Builder().MakeVertex(vertex, gp_Pnt(*after, 0.0), _VERTEX + math.dist(before, after))
    return vertex


def _edge(edge: Edge, start: Any, end: Any) -> Any:
    from OCP.BRep import BRep_Builder
    from OCP.BRepBuilderAPI import BRepBuilderAPI_MakeEdge
    from OCP.TopoDS import TopoDS

    if isinstance(edge, Line):
        make = BRepBuilderAPI_MakeEdge(start, end)
    else:
        # The kernel's circles run counter-clockwise about their axis.
        along = edge if edge.ccw else edge.reversed()
        ends = (start, end) if edge.ccw else (end, start)
        curve = _curve(along)
        first = along.conic.first % (2 * math.pi)
        last = first + along.sweep
        for vertex, point, at in zip(ends, (along.start, along.end), (first, last), strict=True):
            reached = curve.Value(at)
            miss = math.dist(point, (reached.X(), reached.Y()))
            BRep_Builder().UpdateVertex(vertex, _VERTEX + miss)
        make = BRepBuilderAPI_MakeEdge(curve, *ends, first, last)
    if not make.IsDone():
        x, y = edge.start
        raise OutlineError(f"the kernel refuses an edge of {edge.length:.3g} mm at ({x:g}, {y:g}): it is too short")
    return make.Edge() if isinstance(edge, Line) or edge.ccw else TopoDS.Edge(make.Edge().Reversed())


def _curve(arc: Arc | EllipseArc) -> Any:
    """The whole circle or ellipse, counter-clockwise."""
    from OCP.Geom import Geom_Circle, Geom_Ellipse
    from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt

    angle = arc.angle if isinstance(arc, EllipseArc) else 0.0
    place = gp_Ax2(gp_Pnt(*arc.centre, 0.0), gp_Dir(0, 0, 1), gp_Dir(math.cos(angle), math.sin(angle), 0))
    if isinstance(arc, EllipseArc):
        return Geom_Ellipse(place, arc.semi_major, arc.semi_minor)
    return Geom_Circle(place, arc.radius)


def _wire(wire: Any, face: Any, frame: Frame) -> Wire:
    from OCP.BRepTools import BRepTools_WireExplorer

    explorer, edges = BRepTools_WireExplorer(wire, face), []
    while explorer.More():
        edges += _flat_edges(explorer.Current(), frame)
        explorer.Next()
    if len(edges) < sum(1 for _ in explore(wire, "Edge")):
        raise OutlineError("a wire of the face touches itself, so its edges have no order: part it there")
    return Wire(tuple(edges))


def _flat_edges(edge: Any, frame: Frame) -> Sequence[Edge]:
    """One edge of the kernel in the sense of its wire; a full turn becomes two halves."""
    from OCP.BRep import BRep_Tool
    from OCP.BRepAdaptor import BRepAdaptor_Curve
    from OCP.GeomAbs import GeomAbs_CurveType
    from OCP.TopAbs import TopAbs_Orientation
    from OCP.TopExp import TopExp

    curve = BRepAdaptor_Curve(edge)
    ends = [TopExp.FirstVertex_s(edge, True), TopExp.LastVertex_s(edge, True)]
    start, end = (frame.flat(BRep_Tool.Pnt_s(vertex)) for vertex in ends)
    kind = curve.GetType()
    if kind == GeomAbs_CurveType.GeomAbs_Line:
        return [Line(start, end)]
    if kind not in (GeomAbs_CurveType.GeomAbs_Circle, GeomAbs_CurveType.GeomAbs_Ellipse):
        raise OutlineError(f"an edge of the face is a {kind.name[8:].lower()} curve: lines, circles and ellipses only")
    conic = curve.Circle() if kind == GeomAbs_CurveType.GeomAbs_Circle else curve.Ellipse()
    normal = np.cross(frame.x_axis, frame.y_axis)
    up = float(np.dot(normal, _xyz(conic.Axis().Direction()))) > 0
    ccw = up == (edge.Orientation() != TopAbs_Orientation.TopAbs_REVERSED)
    middle = frame.flat(curve.Value((curve.FirstParameter() + curve.LastParameter()) / 2))
    pairs = [(start, middle), (middle, end)] if ends[0].IsSame(ends[1]) else [(start, end)]
    centre = frame.flat(conic.Location())
    if kind == GeomAbs_CurveType.GeomAbs_Circle:
        return [Arc(p, q, centre, float(conic.Radius()), ccw) for p, q in pairs]
    major = _xyz(conic.XAxis().Direction())
    angle = math.atan2(float(np.dot(major, frame.y_axis)), float(np.dot(major, frame.x_axis)))
    a, b = float(conic.MajorRadius()), float(conic.MinorRadius())
    return [EllipseArc(p, q, centre, a, b, angle, ccw) for p, q in pairs]


def _xyz(it: Any) -> Vector:
    return float(it.X()), float(it.Y()), float(it.Z())


def _vector(values: Any) -> Vector:
    x, y, z = (float(v) + 0.0 for v in values)
    return x, y, z
