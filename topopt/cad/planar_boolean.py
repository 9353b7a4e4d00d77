"""Unions, cuts and intersections of planar faces in OpenCASCADE; lines stay lines and arcs stay arcs.

The kernel works with an absolute tolerance of 1e-7, so figures are scaled by a power of two, which is exact, to a size
of about a metre before and back after. It may hang or crash on figures that are barely valid: run it through
`topopt.cad.planar_cut`, which puts it into a process of its own and checks the area by another program.
"""

# pyright: reportAttributeAccessIssue=false
# (the bindings of OpenCASCADE come without types)

import math
from collections.abc import Sequence
from typing import Any

from topopt.cad.brep import face_of, wires_of_face
from topopt.cad.exact import explore
from topopt.cad.joints import sharpen
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.errors import OutlineError

Shapes = list[Any]


def material(
    domain: Region, voids: Sequence[Wire], bars: Sequence[Wire] | None, keep: Sequence[Wire], fuzzy: float = 0.0
) -> list[Region]:
    """((bars or everything) + keep) within the domain, minus (voids - keep). The pieces, in the kernel's order.

    Args:
        domain: where material may be.
        voids: closed wires without material; they may overlap each other and the border of the domain.
        bars: closed wires with material, or None where the whole domain is material.
        keep: closed wires with material, whatever the voids say.
        fuzzy: gaps below this, relative to the size of the domain, count as contact.

    Raises:
        OutlineError: the kernel reports an error, or a wire is no valid face.
    """
    scale = 2.0 ** (10 - math.ceil(math.log2(domain.size)))
    body = [face_of(domain.moved(scale))]
    holes, solid, kept = (_faces(wires, scale) for wires in (voids, bars or (), keep))
    tolerance = fuzzy * domain.size * scale
    if bars is not None:
        body = _common(_union([*solid, *kept], tolerance), body, tolerance)
    if kept:
        holes = _cut(_union(holes, tolerance), kept, tolerance)
    pieces = [wires_of_face(face) for face in _cut(body, holes, tolerance)]
    return [sharpen(piece).moved(1 / scale) for piece in pieces]


def _faces(wires: Sequence[Wire], scale: float) -> Shapes:
    return [face_of(Region(wire.moved(scale))) for wire in wires]


def _union(faces: Shapes, tolerance: float) -> Shapes:
    from OCP.BRepAlgoAPI import BRepAlgoAPI_Fuse

    return faces if len(faces) < 2 else _merged(_run(BRepAlgoAPI_Fuse(), faces[:1], faces[1:], tolerance))


def _cut(faces: Shapes, tools: Shapes, tolerance: float) -> Shapes:
    from OCP.BRepAlgoAPI import BRepAlgoAPI_Cut

    if not faces or not tools:
        return faces
    return _merged(_run(BRepAlgoAPI_Cut(), faces, tools, tolerance))


def _common(faces: Shapes, tools: Shapes, tolerance: float) -> Shapes:
    from OCP.BRepAlgoAPI import BRepAlgoAPI_Common

    if not faces:
        return faces
    return _merged(_run(BRepAlgoAPI_Common(), faces, tools, tolerance))


def _run(operation: Any, arguments: Shapes, tools: Shapes, tolerance: float) -> Any:
    from OCP.collections import List_TopoDS_Shape

    for setter, shapes in ((operation.SetArguments, arguments), (operation.SetTools, tools)):
        listed = List_TopoDS_Shape()
        for shape in shapes:
            listed.Append(shape)
        setter(listed)
    operation.SetRunParallel(False)
    operation.SetNonDestructive(True)
    if tolerance > 0:
        operation.SetFuzzyValue(tolerance)
    operation.Build()
    if not operation.IsDone():
        raise OutlineError("the kernel could not combine the outlines: a void folds over or has no width")
    return operation.Shape()


def _merged(shape: Any) -> Shapes:
    """The faces, with those in one plane joined and edges on one curve joined."""
    from OCP.ShapeUpgrade import ShapeUpgrade_UnifySameDomain

    unify = ShapeUpgrade_UnifySameDomain(shape, True, True, False)
    unify.Build()
    return list(explore(unify.Shape(), "Face"))
