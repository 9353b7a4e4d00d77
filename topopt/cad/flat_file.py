"""Plane outlines out of files, in mm: regions of a DXF drawing, or plane faces of a STEP body, the largest first."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topopt.cad.read import EXACT, LARGEST, SMALLEST, UNITS
from topopt.cad.region import Region
from topopt.cad.wire_arrays import regions_from, regions_table
from topopt.errors import BodyError, OutlineError

DRAWINGS = (".dxf",)
KINDS = DRAWINGS + EXACT
MOST_FACES = 60
MOST_EDGES = 2000
WORKER = "topopt.cad.flat_worker"
SECONDS, GIGABYTES = 60.0, 4.0

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class FlatFace:
    """A face to design in.

    Attributes:
        region: in its own plane, mm; x and y of the file where it looks along z.
        normal: out of the material; +z for a drawing.
        height: of the plane along its normal from the origin, mm.
        depth: extent of the body along the normal, mm; 0 for a drawing.
    """

    region: Region
    normal: Vector = (0.0, 0.0, 1.0)
    height: float = 0.0
    depth: float = 0.0


def faces_of_file(path: Path, units: str | None = None) -> tuple[FlatFace, ...]:
    """Every plane outline of a file, the largest first; of two alike the one that looks along +z, +y or +x. At most 60.

    Args:
        path: .dxf, .step or .stp. units: of the numbers in the file: mm, cm, m, in; None: the file says.

    Raises:
        BodyError: no such file, another kind, damaged, no unit, no plane face, an odd size, more than 2000 edges.
        OutlineError: an outline that is open, branches, or crosses itself.
    """
    path = Path(path)
    if units is not None and units not in UNITS:
        raise BodyError(f"unknown units {units!r}: choose one of {', '.join(UNITS)}")
    if path.suffix.lower() not in KINDS:
        raise BodyError(f"{path.name} is no plane outline: give a DXF drawing or a STEP body ({', '.join(KINDS)})")
    if not path.is_file():
        raise BodyError(f"there is no file {path}: check the path")
    found = _drawing(path, units) if path.suffix.lower() in DRAWINGS else _body(path, units)
    largest = found[0].region.area
    # Both sides of a plate have one area: the side that looks along +z, +y or +x first, where nothing is mirrored.
    found = sorted(found, key=lambda face: (-round(face.region.area / largest, 9), -np.dot(face.normal, (1, 2, 4))))
    for face in found[:MOST_FACES]:
        _check(face.region, path.name, units)
    return tuple(found[:MOST_FACES])


def faces_of_file_safely(path: Path, units: str | None = None, seconds: float = SECONDS) -> tuple[FlatFace, ...]:
    """`faces_of_file` in a process of its own with limits, for files that strangers upload.

    Raises:
        BodyError: as for `faces_of_file`, or the file took too long, too much memory, or brought its reader down.
    """
    from pde.child_process import ChildError, ChildTimeout, call

    name = Path(path).name
    asked = {"path": np.array(str(Path(path).resolve())), "units": np.array(units or "")}
    try:
        found = call(WORKER, asked, seconds, GIGABYTES)
    except ChildTimeout as reason:
        raise BodyError(f"reading {name} took longer than {seconds:g} s: simplify the outline") from reason
    except ChildError as reason:
        if reason.kind in ("BodyError", "OutlineError"):
            raise BodyError(str(reason)) from reason
        raise BodyError(
            f"{name} brought its reader down: the file is damaged or too large; export it again"
        ) from reason
    regions = regions_from(found["table"], found["counts"])
    return tuple(
        FlatFace(region, (row[0], row[1], row[2]), row[3], row[4])
        for region, row in zip(regions, found["about"].tolist(), strict=True)
    )


def as_arrays(faces: tuple[FlatFace, ...]) -> dict[str, np.ndarray]:
    """What crosses from the process that reads."""
    table, counts = regions_table([face.region for face in faces])
    about = np.array([(*face.normal, face.height, face.depth) for face in faces])
    return {"table": table, "counts": counts, "about": about}


def _drawing(path: Path, units: str | None) -> tuple[FlatFace, ...]:
    from topopt.cad.dxf_read import read_dxf

    return tuple(FlatFace(region) for region in read_dxf(path, units_mm=UNITS[units] if units else None))


def _body(path: Path, units: str | None) -> tuple[FlatFace, ...]:
    from topopt.cad.brep import planar_faces
    from topopt.cad.read import read_body

    body = read_body(path, units)
    found = []
    for face in planar_faces(body.solid):
        along = body.surface.vertices @ np.array(face.normal)
        height = float(np.dot(face.frame.origin, face.normal))
        found.append(FlatFace(face.region, face.normal, height, float(np.ptp(along))))
    return tuple(found)


def _check(region: Region, name: str, units: str | None) -> None:
    edges = sum(len(wire.edges) for wire in region.wires)
    if edges > MOST_EDGES:
        raise BodyError(f"an outline of {name} has {edges} edges, at most {MOST_EDGES} are taken: simplify it")
    for wire in region.wires:
        if not wire.is_simple():
            raise OutlineError(f"an outline of {name} crosses itself: draw it again")
    if units is None and not SMALLEST <= region.size <= LARGEST * np.sqrt(2):
        raise BodyError(
            f"the largest outline of {name} measures {region.size:.4g} mm across if its unit is right: give `units` "
            f"({', '.join(UNITS)}) to say what its numbers mean"
        )
