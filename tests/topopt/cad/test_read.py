"""Bodies from files: exact values, faces found again, orientation and units, and every refusal by itself."""

import struct
from pathlib import Path

import numpy as np
import pytest

from topopt.cad.body import Surface
from topopt.cad.read import read_bodies, read_body, read_body_safely
from topopt.errors import BodyError

PARTS = Path(__file__).parents[3] / "assets" / "parts"

# A tetrahedron without any symmetry, so that a wrong axis order, a mirror image or a wrong unit shows.
CORNERS = np.array([[1.0, 2.0, 3.0], [11.0, 2.0, 3.0], [1.0, 9.0, 3.0], [1.0, 2.0, 8.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
VOLUME = 10 * 7 * 5 / 6

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
CUBE_FACES = np.array(
    [t for a, b, c, d in [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
     for t in ((a, b, c), (a, c, d))]
)  # fmt: skip


def binary_stl(path: Path, corners: np.ndarray, count: int | None = None) -> Path:
    data = bytearray(b"\0" * 80 + struct.pack("<I", len(corners) if count is None else count))
    for triangle in corners:
        data += struct.pack("<12fH", 0, 0, 0, *np.ravel(triangle), 0)
    path.write_bytes(data)
    return path


def ascii_stl(path: Path, solids: dict[str, np.ndarray]) -> Path:
    lines = []
    for name, corners in solids.items():
        lines.append(f"solid {name}")
        for triangle in corners:
            lines += ["facet normal 0 0 0", " outer loop"]
            lines += [f"  vertex {x:.9g} {y:.9g} {z:.9g}" for x, y, z in triangle]
            lines += [" endloop", "endfacet"]
        lines.append(f"endsolid {name}")
    path.write_text("\n".join(lines))
    return path


def box_step(path: Path, *boxes: tuple[str, tuple, tuple], unit: str = "MM") -> Path:
    """A STEP file of named boxes (name, low corner, high corner), in mm, written in a unit."""
    pytest.importorskip("OCP", reason="STEP needs OpenCASCADE")
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox
    from OCP.gp import gp_Pnt
    from OCP.Interface import Interface_Static
    from OCP.STEPCAFControl import STEPCAFControl_Writer
    from OCP.TCollection import TCollection_ExtendedString
    from OCP.TDataStd import TDataStd_Name
    from OCP.TDocStd import TDocStd_Document
    from OCP.XCAFDoc import XCAFDoc_DocumentTool

    document = TDocStd_Document(TCollection_ExtendedString("XmlXCAF"))
    tool = XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    for name, low, high in boxes:
        label = tool.AddShape(BRepPrimAPI_MakeBox(gp_Pnt(*low), gp_Pnt(*high)).Shape(), False)
        TDataStd_Name.Set_s(label, TCollection_ExtendedString(name))
    writer = STEPCAFControl_Writer()
    Interface_Static.SetCVal_s("write.step.unit", unit)
    writer.Transfer(document)
    writer.Write(str(path))
    Interface_Static.SetCVal_s("write.step.unit", "MM")
    return path


def cylinders(body) -> list[tuple[float, bool]]:
    return sorted((round(f.radius, 3), f.hollow) for f in body.faces if f.kind == "cylinder")


@pytest.fixture(scope="module")
def bracket_step():
    pytest.importorskip("OCP", reason="STEP needs OpenCASCADE")
    return read_body(PARTS / "bracket.step")


@pytest.fixture(scope="module")
def bracket_stl():
    return read_body(PARTS / "bracket.stl")


def test_bracket_has_its_exact_volume(bracket_step):
    exact = 120 * 80 * 15 + 70 * 80 * 45 - 4 * np.pi * 25 * 15 - np.pi * 225 * 80
    assert bracket_step.volume == pytest.approx(exact, rel=1e-9)
    assert bracket_step.surface.volume == pytest.approx(exact, rel=2e-4)
    assert bracket_step.name == "bracket"
    np.testing.assert_allclose(bracket_step.surface.bounds, [[-60, -40, 0], [60, 40, 60]], atol=1e-9)


def test_bracket_faces_are_merged_and_known(bracket_step):
    assert len(bracket_step.faces) == 15
    assert cylinders(bracket_step) == [(5.0, True)] * 4 + [(15.0, True)]
    bore = next(f for f in bracket_step.faces if f.radius == 15)
    np.testing.assert_allclose(bore.point, [0, 0, 38], atol=1e-9)
    np.testing.assert_allclose(bore.direction, [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["bracket", "hinge", "rocker"])
def test_stl_tells_the_same_faces_as_step(name):
    pytest.importorskip("OCP", reason="STEP needs OpenCASCADE")
    exact, mesh = read_body(PARTS / f"{name}.step"), read_body(PARTS / f"{name}.stl")
    assert mesh.volume == pytest.approx(exact.volume, rel=2e-4)
    np.testing.assert_allclose(mesh.surface.bounds, exact.surface.bounds, atol=1e-5)
    assert len(mesh.faces) == len(exact.faces)
    assert cylinders(mesh) == cylinders(exact)
    for face in mesh.faces:
        kin = [f for f in exact.faces if f.kind == face.kind and abs(f.radius - face.radius) < 1e-3]
        if face.kind == "plane":
            gaps = [
                np.linalg.norm(f.direction - face.direction) + abs((face.point - f.point) @ f.direction) for f in kin
            ]
        else:
            gaps = [np.linalg.norm(f.point - face.point) + 1 - abs(f.direction @ face.direction) for f in kin]
        assert min(gaps) < 1e-3


def test_every_triangle_belongs_to_one_face(bracket_step, bracket_stl):
    for body in (bracket_step, bracket_stl):
        owned = np.sort(np.concatenate([f.triangles for f in body.faces]))
        np.testing.assert_array_equal(owned, np.arange(len(body.surface.faces)))


def test_face_normals_look_outward(bracket_step, bracket_stl):
    for body in (bracket_step, bracket_stl):
        for face in body.faces:
            vectors = body.surface.normals[face.triangles]
            if face.kind == "plane":
                cosines = vectors @ face.direction / np.linalg.norm(vectors, axis=1)
                np.testing.assert_allclose(cosines, 1.0, atol=1e-4)


@pytest.mark.parametrize(("units", "scale"), [(None, 1), ("mm", 1), ("cm", 10), ("m", 1000), ("in", 25.4)])
def test_stl_keeps_axes_and_scales_units(tmp_path, units, scale):
    body = read_body(binary_stl(tmp_path / "t.stl", CORNERS[FACES]), units)
    np.testing.assert_allclose(body.surface.bounds, scale * np.array([[1, 2, 3], [11, 9, 8]]), rtol=1e-6)
    assert body.volume == pytest.approx(VOLUME * scale**3, rel=1e-6)
    assert len(body.faces) == 4


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply"])
def test_text_formats_give_the_same_body(tmp_path, suffix):
    import trimesh

    path = tmp_path / f"t{suffix}"
    if suffix == ".stl":
        ascii_stl(path, {"t": CORNERS[FACES]})
    else:
        trimesh.Trimesh(CORNERS, FACES, process=False).export(path)
    body = read_body(path)
    assert body.volume == pytest.approx(VOLUME, rel=1e-6)
    np.testing.assert_allclose(body.surface.bounds, [[1, 2, 3], [11, 9, 8]], rtol=1e-6)


@pytest.mark.parametrize("unit", ["MM", "INCH", "M", "CM"])
def test_step_states_its_own_unit(tmp_path, unit):
    body = read_body(box_step(tmp_path / "b.step", ("box", (1, 2, 3), (26.4, 9, 8)), unit=unit))
    np.testing.assert_allclose(body.surface.bounds, [[1, 2, 3], [26.4, 9, 8]], rtol=1e-9)
    assert body.volume == pytest.approx(25.4 * 7 * 5, rel=1e-9)


def test_units_overrule_a_step_file_that_is_wrong_about_its_own(tmp_path):
    path = box_step(tmp_path / "b.step", ("box", (0, 0, 0), (25.4, 50.8, 76.2)), unit="INCH")  # 1 x 2 x 3 in the file
    assert read_body(path, "in").volume == pytest.approx(25.4**3 * 6, rel=1e-9)
    assert read_body(path, "cm").volume == pytest.approx(6000, rel=1e-9)


def test_several_solids_are_named(tmp_path):
    path = box_step(tmp_path / "b.step", ("arm", (0, 0, 0), (1, 2, 3)), ("base", (5, 0, 0), (9, 4, 4)))
    bodies = read_bodies(path)
    assert {name: round(body.volume, 6) for name, body in bodies.items()} == {"arm": 6, "base": 64}
    with pytest.raises(BodyError, match=r"2 bodies \(arm, base\)"):
        read_body(path)


def test_several_shells_of_an_stl_are_named(tmp_path):
    path = ascii_stl(tmp_path / "b.stl", {"arm": CUBE[CUBE_FACES] * 4, "base": CUBE[CUBE_FACES] * 2 + 9})
    assert {name: round(body.volume, 3) for name, body in read_bodies(path).items()} == {"arm": 64, "base": 8}
    with pytest.raises(BodyError, match=r"2 bodies \(arm, base\)"):
        read_body(path)


def test_a_cavity_belongs_to_its_body(tmp_path):
    hollow = np.concatenate([CUBE[CUBE_FACES] * 4, CUBE[CUBE_FACES[:, ::-1]] * 2 + 1])
    body = read_body(binary_stl(tmp_path / "h.stl", hollow))
    assert body.volume == pytest.approx(64 - 8, rel=1e-6)
    assert len(body.faces) == 12


def test_shells_in_shells_that_are_no_cavities_are_refused(tmp_path):
    nested = np.concatenate([CUBE[CUBE_FACES] * 4, CUBE[CUBE_FACES] * 2 + 1])
    with pytest.raises(BodyError, match=r"n 2 and n 1 .* overlap"):
        read_body(binary_stl(tmp_path / "n.stl", nested))
    apart = np.concatenate([CUBE[CUBE_FACES] * 4, CUBE[CUBE_FACES[:, ::-1]] * 2 + 9])
    with pytest.raises(BodyError, match=r"a 2 in a\.stl is inside out"):
        read_body(binary_stl(tmp_path / "a.stl", apart))


def test_read_in_a_child_process_gives_the_same_body(bracket_stl):
    body = read_body_safely(PARTS / "bracket.stl")
    np.testing.assert_array_equal(body.surface.vertices, bracket_stl.surface.vertices)
    np.testing.assert_array_equal(body.surface.faces, bracket_stl.surface.faces)
    assert [f.kind for f in body.faces] == [f.kind for f in bracket_stl.faces]
    for one, other in zip(body.faces, bracket_stl.faces, strict=True):
        np.testing.assert_array_equal(one.triangles, other.triangles)
        assert (one.radius, one.hollow) == (other.radius, other.hollow)


def test_the_child_process_hands_over_exact_geometry(bracket_step):
    from topopt.cad.exact import exact_volume

    body = read_body_safely(PARTS / "bracket.step")
    assert exact_volume(body.solid) == pytest.approx(bracket_step.volume, rel=1e-12)
    assert body.volume == bracket_step.volume


def test_the_child_process_tells_the_reason_and_keeps_to_its_limits(tmp_path):
    with pytest.raises(BodyError, match="is open: 3 edges"):
        read_body_safely(binary_stl(tmp_path / "o.stl", CORNERS[FACES[:3]]))
    with pytest.raises(BodyError, match=r"took longer than 0\.05 s"):
        read_body_safely(PARTS / "bracket.stl", seconds=0.05)
    with pytest.raises(BodyError, match=r"0\.1 GiB"):
        read_body_safely(PARTS / "bracket.stl", memory_gb=0.1)


def nonsense(path: Path) -> Path:
    path.write_bytes(b"this is not geometry" * 20)
    return path


def shell_only(path: Path) -> Path:
    pytest.importorskip("OCP", reason="STEP needs OpenCASCADE")
    from OCP.BRepBuilderAPI import BRepBuilderAPI_MakeFace
    from OCP.gp import gp_Dir, gp_Pln, gp_Pnt
    from OCP.STEPControl import STEPControl_StepModelType, STEPControl_Writer

    writer = STEPControl_Writer()
    face = BRepBuilderAPI_MakeFace(gp_Pln(gp_Pnt(0, 0, 0), gp_Dir(0, 0, 1)), 0.0, 9.0, 0.0, 9.0).Face()
    writer.Transfer(face, STEPControl_StepModelType.STEPControl_AsIs)
    writer.Write(str(path))
    return path


def with_nan(path: Path) -> Path:
    corners = CORNERS[FACES].copy()
    corners[1, 0, 2] = np.nan
    return binary_stl(path, corners)


def one_turned(path: Path) -> Path:
    corners = CORNERS[FACES].copy()
    corners[2] = corners[2, ::-1]
    return binary_stl(path, corners)


def touching(path: Path) -> Path:
    return binary_stl(path, np.concatenate([CUBE[CUBE_FACES], CUBE[CUBE_FACES] + [1, 1, 0]]) * 5)


def cut_off(path: Path) -> Path:
    binary_stl(path, CORNERS[FACES])
    path.write_bytes(path.read_bytes()[:-70])
    return path


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


REFUSALS = {
    "missing file": (lambda f: f / "none.step", "there is no file .*check the path"),
    "empty file": (lambda f: written(f / "e.stl", b""), "is empty"),
    "unknown suffix": (lambda f: written(f / "e.igs", b"x"), r"no known kind: use one of \.step"),
    "not a STEP file": (lambda f: nonsense(f / "n.step"), "not a readable STEP file"),
    "STEP without a solid": (lambda f: shell_only(f / "s.step"), "no solid"),
    "neither text nor binary STL": (lambda f: nonsense(f / "n.stl"), "announces .* triangles"),
    "binary STL cut off": (lambda f: cut_off(f / "c.stl"), r"announces 4 triangles, but its length fits 2\.6"),
    "text STL without triangles": (lambda f: written(f / "z.stl", b"solid z\nendsolid z\n"), "no triangles"),
    "binary STL without triangles": (lambda f: binary_stl(f / "z.stl", CORNERS[FACES[:0]]), "no triangles"),
    "points only": (lambda f: written(f / "p.obj", b"v 0 0 0\nv 1 0 0\n"), "no triangles|cannot be read"),
    "not a number": (lambda f: with_nan(f / "n.stl"), "1 triangles with coordinates that are not numbers"),
    "open": (lambda f: binary_stl(f / "o.stl", CORNERS[FACES[:3]]), "is open: 3 edges"),
    "inconsistent winding": (lambda f: one_turned(f / "w.stl"), "inconsistent winding: 3 edges"),
    "inside out": (lambda f: binary_stl(f / "i.stl", CORNERS[FACES[:, ::-1]]), "inside out"),
    "no volume": (lambda f: binary_stl(f / "f.stl", CORNERS[[[0, 1, 2], [0, 2, 1]]]), "encloses no volume"),
    "no area": (lambda f: binary_stl(f / "f.stl", CORNERS[[[0, 0, 0], [1, 1, 1]]]), "no triangle with an area"),
    "touching along an edge": (lambda f: touching(f / "t.stl"), "1 edges where more than two triangles meet"),
    "too small": (lambda f: binary_stl(f / "s.stl", CORNERS[FACES] * 0.01), r"measures 0\.1 mm .* give `units`"),
    "too large": (lambda f: binary_stl(f / "l.stl", CORNERS[FACES] * 1001), "give `units`"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(tmp_path, case):
    make, told = REFUSALS[case]
    with pytest.raises(BodyError, match=told):
        read_body(make(tmp_path))


def test_stated_units_answer_the_question_of_size(tmp_path):
    path = binary_stl(tmp_path / "s.stl", CORNERS[FACES] * 0.01)
    assert read_body(path, "mm").volume == pytest.approx(VOLUME * 1e-6, rel=1e-5)
    with pytest.raises(BodyError, match="unknown units 'inch': choose one of mm, cm, m, in"):
        read_body(path, "inch")


def test_an_invalid_exact_solid_is_refused():
    pytest.importorskip("OCP", reason="STEP needs OpenCASCADE")
    from OCP.BRep import BRep_Builder
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox
    from OCP.TopoDS import TopoDS_Shell, TopoDS_Solid

    from topopt.cad.exact import body_of, explore

    builder, shell, solid = BRep_Builder(), TopoDS_Shell(), TopoDS_Solid()
    builder.MakeShell(shell)
    for face in list(explore(BRepPrimAPI_MakeBox(1, 2, 3).Shape(), "Face"))[:5]:
        builder.Add(shell, face)
    builder.MakeSolid(solid)
    builder.Add(solid, shell)
    with pytest.raises(BodyError, match=r"lid is (not a valid solid|open)"):
        body_of("lid", solid)


def recognised(mesh) -> list[tuple[str, float, bool]]:
    from topopt.cad.recognise import recognise

    surface = Surface(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64))
    return sorted((f.kind, round(f.radius, 2), f.hollow) for f in recognise(surface))


@pytest.mark.parametrize(("sections", "kinds"), [
    (6, [("plane", 0, False)] * 8),
    (12, [("cylinder", 5, False)] + [("plane", 0, False)] * 2),
    (48, [("cylinder", 5, False)] + [("plane", 0, False)] * 2),
])  # fmt: skip
def test_prisms_become_cylinders_when_they_are_fine_enough(sections, kinds):
    import trimesh

    assert recognised(trimesh.creation.cylinder(5, 20, sections=sections)) == kinds


def test_doubly_curved_surfaces_are_no_cylinders():
    import trimesh

    assert recognised(trimesh.creation.torus(10, 3)) == [("other", 0, False)]
    assert recognised(trimesh.creation.icosphere(3, 5)) == [("other", 0, False)]
    assert recognised(trimesh.creation.capsule(10, 4)) == [("cylinder", 4, False)] + [("other", 0, False)] * 2


def test_a_cylinder_is_found_whatever_its_direction_and_mesh():
    import trimesh

    mesh = trimesh.creation.annulus(4, 8, 10, sections=96)
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.7, [1, 2, 3]))
    mesh.apply_translation([100, -50, 20])
    planes = [("plane", 0, False)] * 2
    assert recognised(mesh) == [("cylinder", 4, True), ("cylinder", 8, False), *planes]
    vertices, faces = trimesh.remesh.subdivide_to_size(mesh.vertices, mesh.faces, 2.0)
    fine = trimesh.Trimesh(vertices, faces)
    assert [kind for kind, *_ in recognised(fine)] == ["cylinder", "cylinder", "plane", "plane"]
