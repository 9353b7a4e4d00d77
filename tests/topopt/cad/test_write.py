"""Every file read back, by our reader and where there is one by somebody else's: axes, units, volume, wholeness."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.glb import read_glb_bytes
from topopt.cad.measure import count_components, measure_hole_radius, open_edges
from topopt.cad.solid import box, subtract, to_manifold, to_surface
from topopt.cad.step import read_step_bytes
from topopt.cad.stl import read_stl_bytes
from topopt.cad.threemf import read_threemf_bytes
from topopt.cad.write import exports, write_3mf, write_glb, write_step, write_stl, write_vtu
from topopt.errors import ExportError

LOWER, UPPER = np.array([-3.0, 10.0, 5.0]), np.array([9.0, 15.0, 12.0])
PIECES = (((-3, 10, 5), (9, 15, 6)), ((-3, 10, 5), (-2, 15, 12)), ((-3, 10, 5), (1, 11, 8)))
VOLUME = 12 * 5 * 1 + 1 * 5 * 6 + 3 * 1 * 2  # mm3, of the pieces' union


@pytest.fixture(scope="module")
def part() -> Surface:
    """A part without any symmetry: no two axes can be exchanged or mirrored unnoticed."""
    solid = to_manifold(to_surface(box(*map(np.array, PIECES[0]))))
    for lower, upper in PIECES[1:]:
        solid = solid + box(np.array(lower), np.array(upper))
    return to_surface(solid)


def same_part(surface: Surface) -> None:
    assert surface.bounds == pytest.approx(np.array([LOWER, UPPER]), abs=1e-5)
    assert surface.volume == pytest.approx(VOLUME, rel=1e-6)
    assert open_edges(surface.faces) == 0
    # Its centre of gravity: a mirror image inside the same box would not have it.
    weights = [60.0, 30.0, 6.0]
    centres = np.array([[3.0, 12.5, 5.5], [-2.5, 12.5, 9.0], [-0.5, 10.5, 7.0]])
    six = np.einsum("ij,ij->i", surface.corners[:, 0], np.cross(surface.corners[:, 1], surface.corners[:, 2]))
    centre = (six[:, None] * surface.corners.sum(axis=1) / 4).sum(axis=0) / six.sum()
    assert centre == pytest.approx(np.average(centres, axis=0, weights=weights), abs=1e-5)


def test_stl(part: Surface, tmp_path: Path) -> None:
    import trimesh

    path = write_stl(part, tmp_path / "part.stl")
    same_part(read_stl_bytes(path.read_bytes()))
    other = trimesh.load_mesh(path)
    assert other.is_watertight and other.volume == pytest.approx(VOLUME, rel=1e-6)
    assert other.bounds == pytest.approx(np.array([LOWER, UPPER]), abs=1e-5)
    assert not path.read_bytes().startswith(b"solid")


def test_3mf_has_units_and_title(part: Surface, tmp_path: Path) -> None:
    import zipfile

    path = write_3mf(part, tmp_path / "part.3mf", "Bracket <A&B>")
    surface, title = read_threemf_bytes(path.read_bytes())
    same_part(surface)
    assert title == "Bracket <A&B>"
    model = zipfile.ZipFile(path).read("3D/3dmodel.model").decode()
    assert 'unit="millimeter"' in model
    assert (
        '"Title"' in model and "Bracket &lt;A&amp;B&gt;" in model and '"Application"' in model and "Formgrad" in model
    )


def test_3mf_of_an_open_surface_is_refused(part: Surface, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="closed, oriented"):
        write_3mf(Surface(part.vertices, part.faces[1:]), tmp_path / "open.3mf", "open")
    assert list(tmp_path.iterdir()) == []


def test_glb_is_upright_and_in_metres_for_a_viewer(part: Surface, tmp_path: Path) -> None:
    import trimesh

    path = write_glb(part, tmp_path / "part.glb", "bracket")
    same_part(read_glb_bytes(path.read_bytes()))
    scene = trimesh.load_scene(path)
    assert next(iter(scene.geometry.values())).bounds == pytest.approx(np.array([LOWER, UPPER]), abs=1e-5)
    x, y, z = np.array([LOWER, UPPER]).T / 1000
    assert scene.bounds == pytest.approx(np.array([[x[0], z[0], -y[1]], [x[1], z[1], -y[0]]]), abs=1e-8)
    seen = scene.to_mesh()
    seen.merge_vertices(merge_norm=True)
    assert seen.volume == pytest.approx(VOLUME * 1e-9, rel=1e-5)


def test_glb_normals_break_at_edges_and_carry_colours(part: Surface, tmp_path: Path) -> None:
    import trimesh

    colours = np.random.default_rng(0).random((len(part.vertices), 3))
    path = write_glb(part, tmp_path / "part.glb", colours=colours)
    mesh = next(iter(trimesh.load_scene(path).geometry.values()))
    # A body of right angles has only axis normals, and its corners appear once per face.
    assert np.sort(np.abs(mesh.vertex_normals), axis=1) == pytest.approx(np.tile([0, 0, 1], (len(mesh.vertices), 1)))
    assert len(mesh.vertices) >= 3 * 8
    index = [int(np.argmin(np.linalg.norm(part.vertices - v, axis=1))) for v in mesh.vertices]
    assert np.asarray(mesh.visual.vertex_attributes["color"])[:, :3] == pytest.approx(colours[index], abs=1e-6)


def test_step_of_facets(part: Surface, tmp_path: Path) -> None:
    path = write_step(part, tmp_path / "part.step", "bracket")
    volume, solids, closed = read_step_bytes(path.read_bytes())
    assert volume == pytest.approx(VOLUME, rel=1e-9) and solids == 1 and closed
    text = path.read_text()
    assert "AUTOMOTIVE_DESIGN" in text and ".MILLI.,.METRE." in text and "bracket" in text
    # Coplanar triangles are one face: planes x = -3, -2, 1, 9; y = 10, 11, 15; z = 5, 6, 8, 12.
    assert len(part.faces) > text.count("ADVANCED_FACE") == 11


def test_step_of_an_exact_solid_and_of_a_cavity(tmp_path: Path) -> None:
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeCylinder  # pyright: ignore[reportAttributeAccessIssue]

    path = write_step(BRepPrimAPI_MakeCylinder(3.0, 7.0).Shape(), tmp_path / "rod.step")
    assert exports([path])[0]["volume_mm3"] == pytest.approx(np.pi * 9 * 7, rel=1e-9)
    hollow = subtract(box(np.zeros(3), np.full(3, 9.0)), box(np.full(3, 2.0), np.full(3, 4.0)))
    row = exports([write_step(to_surface(hollow), tmp_path / "hollow.step")])[0]
    assert row["volume_mm3"] == pytest.approx(729 - 8, rel=1e-9) and row["watertight"] and row["components"] == 1


def test_step_of_many_triangles_names_the_remedy(tmp_path: Path) -> None:
    from manifold3d import Manifold

    with pytest.raises(ExportError, match=r"too many facets.*3MF or STL"):
        write_step(to_surface(Manifold.sphere(5.0, 120)), tmp_path / "ball.step")
    assert list(tmp_path.iterdir()) == []


def test_vtu_holds_the_body_only(tmp_path: Path) -> None:
    import meshio

    grid = Grid((3, 4, 5), (1.0, 2.0, 0.5), (10.0, -4.0, 7.0))
    fraction = np.zeros(grid.shape)
    fraction[1, :, 2:] = 1.0
    fraction[2, 3, 4] = 0.25
    density = np.random.default_rng(1).random(grid.shape)
    u = grid.nodes() * [1.0, 10.0, 100.0]
    path = write_vtu(tmp_path / "part.vtu", grid, {"density": density, "fraction": fraction, "displacement": u})
    mesh = meshio.read(path)
    active = fraction > 0
    assert len(mesh.cells[0].data) == active.sum()
    assert mesh.cell_data["density"][0] == pytest.approx(density[active])
    assert mesh.point_data["displacement"] == pytest.approx(mesh.points * [1, 10, 100])
    assert mesh.points[mesh.cells[0].data].mean(axis=1) == pytest.approx(grid.centers()[active])
    # Hexahedra as VTK wants them: the triple product of the first edges is the voxel's volume, positive.
    p = mesh.points[mesh.cells[0].data]
    a, b, c = p[:, 1] - p[:, 0], p[:, 3] - p[:, 0], p[:, 4] - p[:, 0]
    assert np.einsum("ij,ij->i", np.cross(a, b), c) == pytest.approx(grid.element_volume)
    row = exports([path])[0]
    assert row["volume_mm3"] == pytest.approx((density * fraction).sum() * grid.element_volume)
    assert row["watertight"] is None and row["components"] is None


def test_vtu_of_a_plane_grid_and_of_wrong_fields(tmp_path: Path) -> None:
    import meshio

    grid = Grid((3, 2), 2.0, (1.0, 1.0))
    path = write_vtu(tmp_path / "plane.vtu", grid, {"density": np.ones((3, 2)), "u": grid.nodes()})
    mesh = meshio.read(path)
    assert mesh.cells[0].type == "quad" and mesh.point_data["u"] == pytest.approx(mesh.points)
    assert exports([path])[0]["volume_mm3"] == pytest.approx(24.0)
    with pytest.raises(ExportError, match="'stress' has shape"):
        write_vtu(tmp_path / "bad.vtu", grid, {"stress": np.ones((2, 2))})
    with pytest.raises(ExportError, match="'e' is not finite"):
        write_vtu(tmp_path / "bad.vtu", grid, {"e": np.full((3, 2), np.nan)})


def test_exports_measures_what_lies_there(part: Surface, tmp_path: Path) -> None:
    two = to_surface(to_manifold(part) + box(np.array([20.0, 0, 0]), np.array([21.0, 1, 1])))
    files = [
        write_stl(two, tmp_path / "a.stl"),
        write_3mf(two, tmp_path / "a.3mf", "a"),
        write_glb(two, tmp_path / "a.glb"),
        write_step(part, tmp_path / "a.step"),
    ]
    rows = exports(files)
    assert [row["kind"] for row in rows] == ["stl", "3mf", "glb", "step"]
    assert [row["components"] for row in rows] == [2, 2, 2, 1]
    assert all(row["watertight"] for row in rows)
    assert [row["volume_mm3"] for row in rows] == pytest.approx([VOLUME + 1] * 3 + [VOLUME], rel=1e-6)
    write_stl(Surface(part.vertices, part.faces[:-1]), files[0])
    assert exports(files[:1])[0]["watertight"] is False
    files[0].write_bytes(files[0].read_bytes()[:-7])
    with pytest.raises(ExportError, match="cut short"):
        exports(files[:1])


@pytest.mark.parametrize("suffix", ["stl", "3mf", "glb", "step", "vtu"])
def test_same_part_same_bytes(part: Surface, tmp_path: Path, suffix: str) -> None:
    grid = Grid((2, 2, 2))
    write = {
        "stl": lambda path: write_stl(part, path),
        "3mf": lambda path: write_3mf(part, path, "part"),
        "glb": lambda path: write_glb(part, path),
        "step": lambda path: write_step(part, path),
        "vtu": lambda path: write_vtu(path, grid, {"density": np.ones((2, 2, 2))}),
    }[suffix]
    write(tmp_path / f"one.{suffix}")
    write(tmp_path / f"two.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "no space left"), (errno.EIO, "cannot be written")])
def test_failed_write_leaves_the_old_file(part: Surface, tmp_path: Path, monkeypatch, number, words) -> None:
    path = tmp_path / "part.stl"
    path.write_bytes(b"what was there before")

    def full(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportError, match=words):
        write_stl(part, path)
    assert path.read_bytes() == b"what was there before"
    assert [p.name for p in tmp_path.iterdir()] == ["part.stl"]


def test_missing_folder_is_named(part: Surface, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"part\.stl cannot be written"):
        write_stl(part, tmp_path / "nowhere" / "part.stl")


def test_hole_radius() -> None:
    from manifold3d import Manifold

    plate = box(np.array([0.0, 0, 0]), np.array([40.0, 30, 12]))
    drill = Manifold.cylinder(80.0, 4.2, 4.2, 90, True).rotate([90, 0, 0]).translate([12.0, 0, 6.0])
    surface = to_surface(plate - drill)
    assert measure_hole_radius(surface, (12, 5, 6), (0, -3, 0), 4.0) == pytest.approx(4.2, abs=1e-9)
    assert measure_hole_radius(surface, (12.1, 5, 6), (0, 1, 0), 4.2) == pytest.approx(4.2, abs=1e-9)
    with pytest.raises(ExportError, match="no wall of radius"):
        measure_hole_radius(surface, (30, 5, 6), (0, 1, 0), 4.2)
    with pytest.raises(ExportError, match="no wall of radius"):
        measure_hole_radius(surface, (12, 5, 6), (0, 1, 0), 6.0)
    # Half of the wall is enough, a sixth is not.
    half = to_surface((plate - drill) - box(np.array([-1.0, -1, -1]), np.array([12.0, 31, 13])))
    assert measure_hole_radius(half, (12, 5, 6), (0, 1, 0), 4.2) == pytest.approx(4.2, abs=1e-9)
    sliver = to_surface((plate - drill) - box(np.array([-1.0, -1, -1]), np.array([15.7, 31, 13])))
    with pytest.raises(ExportError, match="no wall of radius"):
        measure_hole_radius(sliver, (12, 5, 6), (0, 1, 0), 4.2)


def test_hole_radius_is_not_disturbed_by_what_runs_past() -> None:
    from manifold3d import Manifold

    # A rough body around the hole whose own surface cuts the wall and comes near the circle from outside.
    drill = Manifold.cylinder(40.0, 4.2, 4.2, 90, True)
    lump = Manifold.sphere(9.0, 40).scale([0.52, 1.0, 0.6]).rotate([0, 12, 31])
    surface = to_surface((lump + Manifold.cylinder(5.0, 7.0, 7.0, 64, True).translate([1.0, 0, 0])) - drill)
    assert measure_hole_radius(surface, (0, 0, 0), (0, 0, 1), 4.2) == pytest.approx(4.2, abs=2e-3)


def test_components_do_not_count_cavities() -> None:
    hollow = subtract(box(np.zeros(3), np.full(3, 9.0)), box(np.full(3, 2.0), np.full(3, 4.0)))
    assert count_components(to_surface(hollow)) == 1
    assert count_components(to_surface(hollow + box(np.full(3, 20.0), np.full(3, 21.0)))) == 2
