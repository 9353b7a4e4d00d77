"""A planar design leaves the house: STEP, DXF, SVG and its editable parameters, each checked before it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from topopt.cad.brep import extrude
from topopt.cad.bridge import Bridge, narrowest_bridge
from topopt.cad.drawing import Annotation, dxf_bytes
from topopt.cad.dxf_read import read_dxf
from topopt.cad.gates import Gate
from topopt.cad.parameters import PlanarDesign
from topopt.cad.planar_cut import CutOutline
from topopt.cad.region import Region
from topopt.cad.step import read_step_bytes, step_bytes
from topopt.cad.svg import svg_text
from topopt.cad.whole import write_whole
from topopt.errors import ExportError

FORMATS = ("step", "dxf", "svg", "json")
VOLUME = 1e-9  # relative
SPLINES = (b"B_SPLINE_CURVE", b"B_SPLINE_SURFACE", b"BEZIER")


@dataclass(frozen=True)
class PlanarFiles:
    """The cut outline, the files by kind, what was checked on them by reading them back, and the narrowest material
    between two of its borders (None without holes)."""

    cut: CutOutline
    paths: dict[str, Path]
    gates: tuple[Gate, ...]
    bridge: Bridge | None


def export_design(
    design: PlanarDesign,
    folder: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    annotation: Annotation | None = None,
    polylines: bool = False,
    seconds: float = 60.0,
) -> PlanarFiles:
    """Cut the outline and write NAME.step, NAME.dxf, NAME.svg and NAME.json. The same design gives the same bytes.

    Args:
        design: its name becomes the files' name; characters that do not belong into one become "-".
        folder: exists.
        formats: which of step, dxf, svg and json.
        annotation: supports and loads for the drawings.
        polylines: see `dxf_bytes`.
        seconds: CPU time for the Boolean.

    Raises:
        ExportError: the design is not one body, an unknown format, a file that does not pass its check.
        OutlineError: a shape of the design is not valid.
    """
    if unknown := set(formats) - set(FORMATS):
        raise ExportError(f"{', '.join(sorted(unknown))} is no format of a planar design: take {', '.join(FORMATS)}")
    cut = design.cut(seconds)
    body, gates, contents = cut.body, [], {}
    if "step" in formats:
        contents["step"] = planar_step(body, design.thickness, design.name)
        gates += step_gates(contents["step"], body, design.thickness)
    if "dxf" in formats:
        contents["dxf"] = dxf_bytes([body], annotation, name=design.name, polylines=polylines)
        gates.append(_dxf_gate(contents["dxf"], body))
    if "svg" in formats:
        contents["svg"] = svg_text([body], annotation, name=design.name).encode()
    if "json" in formats:
        contents["json"] = design.to_json().encode()
    for gate in gates:
        if not gate.passed:
            raise ExportError(
                f"{design.name} fails the check of its {gate.name}: {gate.value:.3g}, bound {gate.bound:g}"
            )
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in design.name) or "part"
    paths = {kind: write_whole(Path(folder) / f"{stem}.{kind}", data) for kind, data in contents.items()}
    return PlanarFiles(cut, paths, tuple(gates), narrowest_bridge(body))


def planar_step(region: Region, thickness: float, name: str = "part") -> bytes:
    """STEP AP214 in mm of the region extruded to the thickness (mm)."""
    return step_bytes(extrude(region, thickness, name), name)


def step_gates(data: bytes, region: Region, thickness: float) -> tuple[Gate, ...]:
    """Read a STEP file back and compare it with the region it was made from."""
    volume, solids, closed = read_step_bytes(data)
    miss = abs(volume / (region.area * thickness) - 1)
    splines = sum(data.count(word) for word in SPLINES)
    millimetres = b"SI_UNIT(.MILLI.,.METRE.)" in data
    return (
        Gate("STEP volume", miss, VOLUME, miss <= VOLUME, "A solid that is not the outline times the thickness."),
        Gate("STEP bodies", solids, 1, solids == 1 and closed, "An open shell, or an island."),
        Gate("STEP spline curves", splines, 0, splines == 0, "Arcs that became free-form curves."),
        Gate("STEP unit is mm", millimetres, 1, millimetres, "A part a thousand times too large."),
    )


def _dxf_gate(data: bytes, region: Region) -> Gate:
    found = read_dxf(data)
    miss = abs(sum(part.area for part in found) / region.area - 1)
    return Gate("DXF area", miss, VOLUME, len(found) == 1 and miss <= VOLUME, "A drawing that is not the outline.")
