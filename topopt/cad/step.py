"""STEP AP214 in mm: exact solids as they are, small surfaces as solids with planar facets.

A smoothed design has tens of thousands of triangles; as facets it makes a file that CAD programs choke on. So there is
a limit, and the remedy beyond it is another format or the feature design.
"""

# pyright: reportAttributeAccessIssue=false
# (the kernel's type stubs do not list its names)

import io
from typing import Any

import numpy as np

from topopt.cad.body import Surface
from topopt.errors import ExportError

MOST_TRIANGLES = 3000


def step_bytes(part: Any, name: str = "part") -> bytes:
    """The file's content.

    Args:
        part: an OpenCASCADE solid in mm, or a `Surface` of at most `MOST_TRIANGLES` triangles.

    Raises:
        ExportError: too many triangles, not a valid solid, or OpenCASCADE is not installed.
    """
    try:
        from OCP.APIHeaderSection import APIHeaderSection_MakeHeader
        from OCP.IFSelect import IFSelect_ReturnStatus
        from OCP.Interface import Interface_Static
        from OCP.STEPControl import STEPControl_StepModelType, STEPControl_Writer
        from OCP.TCollection import TCollection_HAsciiString
    except ImportError as error:
        raise ExportError("STEP needs OpenCASCADE: pip install 'formgrad[cad]'") from error
    shape = faceted_solid(part) if isinstance(part, Surface) else part
    _check_valid(shape, name)
    _quiet()
    writer = STEPControl_Writer()
    Interface_Static.SetCVal_s("write.step.schema", "AP214IS")
    Interface_Static.SetCVal_s("write.step.unit", "MM")
    Interface_Static.SetCVal_s("write.step.product.name", name)
    stream = io.BytesIO()
    done = writer.Transfer(shape, STEPControl_StepModelType.STEPControl_AsIs)
    _name_product(writer.Model(), name)
    header = APIHeaderSection_MakeHeader(writer.Model())
    header.SetName(TCollection_HAsciiString(name))
    header.SetTimeStamp(TCollection_HAsciiString("2025-01-01T00:00:00"))  # the same part gives the same bytes
    if done != IFSelect_ReturnStatus.IFSelect_RetDone or writer.WriteStream(stream) != done:
        raise ExportError(f"OpenCASCADE could not write {name} as STEP")
    return stream.getvalue()


def faceted_solid(surface: Surface) -> Any:
    """A solid with one planar face per flat of the surface.

    Raises:
        ExportError: more than `MOST_TRIANGLES` triangles, or the facets do not close.
    """
    from OCP.BRepBuilderAPI import BRepBuilderAPI_MakeFace, BRepBuilderAPI_MakePolygon, BRepBuilderAPI_Sewing
    from OCP.BRepBuilderAPI import BRepBuilderAPI_MakeSolid as MakeSolid
    from OCP.BRepLib import BRepLib
    from OCP.gp import gp_Pnt
    from OCP.ShapeUpgrade import ShapeUpgrade_UnifySameDomain
    from OCP.TopAbs import TopAbs_ShapeEnum
    from OCP.TopoDS import TopoDS

    if len(surface.faces) > MOST_TRIANGLES:
        raise ExportError(
            f"{len(surface.faces)} triangles are too many facets for STEP (at most {MOST_TRIANGLES}): "
            "take 3MF or STL, or a design made of features, whose STEP is exact"
        )
    size = float(np.ptp(surface.bounds, axis=0).max())
    sewing = BRepBuilderAPI_Sewing(1e-7 * size)
    for corners in surface.corners:
        wire = BRepBuilderAPI_MakePolygon(*(gp_Pnt(*map(float, corner)) for corner in corners), True).Wire()
        sewing.Add(BRepBuilderAPI_MakeFace(wire, True).Face())
    sewing.Perform()
    shells = _parts(sewing.SewedShape(), TopAbs_ShapeEnum.TopAbs_SHELL)
    if not shells or sewing.NbFreeEdges():
        raise ExportError(f"the facets leave {sewing.NbFreeEdges()} open edges: take 3MF or STL")
    make = MakeSolid()
    for shell in shells:
        make.Add(TopoDS.Shell(shell))
    solid = make.Solid()
    BRepLib.OrientClosedSolid_s(solid)
    unify = ShapeUpgrade_UnifySameDomain(solid, True, True, False)
    unify.SetLinearTolerance(1e-7 * size)
    unify.SetAngularTolerance(1e-7)
    unify.Build()
    return unify.Shape()


def read_step_bytes(data: bytes) -> tuple[float, int, bool]:
    """Volume in mm3, number of solids, and whether they are valid and closed.

    Raises:
        ExportError: it cannot be read.
    """
    from OCP.BRepCheck import BRepCheck_Analyzer
    from OCP.BRepGProp import BRepGProp
    from OCP.GProp import GProp_GProps
    from OCP.IFSelect import IFSelect_ReturnStatus
    from OCP.STEPControl import STEPControl_Reader
    from OCP.TopAbs import TopAbs_ShapeEnum

    _quiet()
    reader = STEPControl_Reader()
    if reader.ReadStream("part.step", io.BytesIO(data)) != IFSelect_ReturnStatus.IFSelect_RetDone:
        raise ExportError("the STEP file cannot be read back")
    reader.TransferRoots()
    shape = reader.OneShape()
    solids = _parts(shape, TopAbs_ShapeEnum.TopAbs_SOLID)
    properties = GProp_GProps()
    BRepGProp.VolumeProperties_s(shape, properties)
    closed = bool(solids) and BRepCheck_Analyzer(shape).IsValid()
    return float(properties.Mass()), len(solids), closed


def _check_valid(shape: Any, name: str) -> None:
    from OCP.BRepCheck import BRepCheck_Analyzer
    from OCP.TopAbs import TopAbs_ShapeEnum

    if not _parts(shape, TopAbs_ShapeEnum.TopAbs_SOLID) or not BRepCheck_Analyzer(shape).IsValid():
        raise ExportError(f"{name} is not a valid solid: take 3MF or STL")


def _parts(shape: Any, kind: Any) -> list[Any]:
    from OCP.TopExp import TopExp_Explorer

    explorer, found = TopExp_Explorer(shape, kind), []
    while explorer.More():
        found.append(explorer.Current())
        explorer.Next()
    return found


def _name_product(model: Any, name: str) -> None:
    # The kernel numbers the products of a session; the name in the file shall not depend on what was written before.
    from OCP.TCollection import TCollection_HAsciiString

    for number in range(1, model.NbEntities() + 1):
        entity = model.Value(number)
        if type(entity).__name__ == "StepBasic_Product":
            entity.SetId(TCollection_HAsciiString(name))
            entity.SetName(TCollection_HAsciiString(name))


def _quiet() -> None:
    from OCP.Message import Message

    messenger = Message.DefaultMessenger_s()
    for printer in list(messenger.Printers()):
        messenger.RemovePrinter(printer)
