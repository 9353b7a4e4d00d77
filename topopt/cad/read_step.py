"""STEP files through OpenCASCADE: the solids of the assembly tree, in place, with their names, in mm."""

# pyright: reportAttributeAccessIssue=false
# (the bindings of OpenCASCADE come without types)

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from topopt.cad.body import Body
from topopt.cad.exact import body_of, explore
from topopt.errors import BodyError

# Names that nobody gave: what kernels write when a part was never named.
NAMELESS = ("", "SOLID", "COMPOUND", "SHAPE", "PART", "UNNAMED")


def read_step(path: Path, units_mm: float | None) -> dict[str, Body]:
    """All solids of a STEP file by name.

    Args:
        path: the file.
        units_mm: length of the file's unit in mm where the user knows better than the file; None: the file says.

    Raises:
        BodyError: not a readable STEP file, OpenCASCADE is not installed, no solid, or an invalid one.
    """
    try:
        from OCP.IFSelect import IFSelect_ReturnStatus
        from OCP.STEPCAFControl import STEPCAFControl_Reader
        from OCP.TCollection import TCollection_ExtendedString
        from OCP.TDocStd import TDocStd_Document
    except ImportError as missing:
        raise BodyError(
            f"reading {path.name} needs OpenCASCADE: pip install 'formgrad[cad]', or export an STL"
        ) from missing
    _silence()
    reader = STEPCAFControl_Reader()
    reader.SetNameMode(True)
    if reader.ReadFile(str(path)) != IFSelect_ReturnStatus.IFSelect_RetDone:
        raise BodyError(f"{path.name} is not a readable STEP file: export it again as AP203, AP214 or AP242")
    scale = 1.0 if units_mm is None else units_mm / _file_unit(reader.ChangeReader(), path)
    document = TDocStd_Document(TCollection_ExtendedString("XmlXCAF"))
    if not reader.Transfer(document):
        raise BodyError(f"{path.name} holds no geometry that can be read: export it again as solids")
    named = _unique(list(_solids(document)), path.stem)
    if not named:
        raise BodyError(f"{path.name} holds no solid, only surfaces or curves: close and export it as a solid body")
    return {name: body_of(name, _scaled(solid, scale)) for name, solid in named.items()}


def _silence() -> None:
    """Keep the kernel's transfer statistics off the standard output."""
    from OCP.Message import Message, Message_PrinterOStream

    Message.DefaultMessenger_s().RemovePrinters(Message_PrinterOStream.get_type_descriptor_s())


def _file_unit(reader: Any, path: Path) -> float:
    from OCP.collections import Sequence_TCollection_AsciiString

    lengths, angles, solids = (Sequence_TCollection_AsciiString() for _ in range(3))
    reader.FileUnits(lengths, angles, solids)
    names = {str(item.ToCString()).lower() for item in lengths}
    known = {"millimetre": 1.0, "centimetre": 10.0, "metre": 1000.0, "inch": 25.4, "foot": 304.8, "micrometre": 1e-3}
    if len(names) != 1 or (name := names.pop()) not in known:
        raise BodyError(f"{path.name} states several or unknown length units ({names}): leave `units` away")
    return known[name]


def _solids(document: Any) -> Iterator[tuple[str, Any]]:
    """Every solid of the assembly tree, moved to its place, with the name of its instance or part."""
    from OCP.TopLoc import TopLoc_Location
    from OCP.XCAFDoc import XCAFDoc_DocumentTool, XCAFDoc_ShapeTool

    def walk(label: Any, place: Any) -> Iterator[tuple[str, Any]]:
        name, target = _name(label), label
        if XCAFDoc_ShapeTool.IsReference_s(label):
            target = type(label)()
            XCAFDoc_ShapeTool.GetReferredShape_s(label, target)
            place = place.Multiplied(XCAFDoc_ShapeTool.GetLocation_s(label))
            # "=>[0:1:1:2]" and "NAUO1" are what unnamed instances are called; the part's own name says more.
            if not name or name.startswith(("=>[", "NAUO")):
                name = _name(target)
        if XCAFDoc_ShapeTool.IsAssembly_s(target):
            for child in _children(target):
                yield from walk(child, place)
            return
        for solid in explore(XCAFDoc_ShapeTool.GetShape_s(target).Moved(place), "Solid"):
            yield name, solid

    tool = XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    for label in _children(tool.Label()):
        if XCAFDoc_ShapeTool.IsFree_s(label):
            yield from walk(label, TopLoc_Location())


def _children(label: Any) -> Iterator[Any]:
    from OCP.TDF import TDF_ChildIterator
    from OCP.XCAFDoc import XCAFDoc_ShapeTool

    children = TDF_ChildIterator(label)
    while children.More():
        if XCAFDoc_ShapeTool.IsShape_s(children.Value()) or XCAFDoc_ShapeTool.IsReference_s(children.Value()):
            yield children.Value()
        children.Next()


def _name(label: Any) -> str:
    from OCP.TDataStd import TDataStd_Name

    attribute = TDataStd_Name()
    if not label.FindAttribute(TDataStd_Name.GetID_s(), attribute):
        return ""
    return str(attribute.Get().ToExtString()).strip()


def _unique(solids: list[tuple[str, Any]], default: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, solid in solids:
        nameless = name.upper() in NAMELESS or name.startswith("Open CASCADE STEP translator")
        stem, number = default if nameless else name, 1
        key = stem
        while key in named:
            number += 1
            key = f"{stem} {number}"
        named[key] = solid
    return named


def _scaled(solid: Any, scale: float) -> Any:
    from OCP.BRepBuilderAPI import BRepBuilderAPI_Transform
    from OCP.gp import gp_Pnt, gp_Trsf

    if scale == 1.0:
        return solid
    change = gp_Trsf()
    change.SetScale(gp_Pnt(0, 0, 0), scale)
    return next(explore(BRepBuilderAPI_Transform(solid, change, True).Shape(), "Solid"))
