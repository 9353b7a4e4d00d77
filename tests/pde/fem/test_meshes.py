"""Built-in shapes, meshes from files with their tags, and results as files."""

import importlib.util

import numpy as np
import pytest

from pde.fem import FemError

pytestmark = pytest.mark.fem

SQUARE_GEO = """
Point(1) = {0, 0, 0, 0.3}; Point(2) = {2, 0, 0, 0.3}; Point(3) = {2, 1, 0, 0.3}; Point(4) = {0, 1, 0, 0.3};
Point(5) = {1, 0, 0, 0.3}; Point(6) = {1, 1, 0, 0.3};
Line(1) = {1, 5}; Line(2) = {5, 2}; Line(3) = {2, 3}; Line(4) = {3, 6}; Line(5) = {6, 4}; Line(6) = {4, 1};
Line(7) = {5, 6};
Curve Loop(1) = {1, 7, 5, 6}; Plane Surface(1) = {1};
Curve Loop(2) = {2, 3, 4, -7}; Plane Surface(2) = {2};
Physical Surface("steel", 11) = {1}; Physical Surface("rubber", 12) = {2};
Physical Curve("held", 21) = {6}; Physical Curve("pulled", 22) = {3};
"""


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


@pytest.fixture(scope="module")
def shapes(fe):
    from pde.fem import shapes

    return shapes


@pytest.fixture(scope="module")
def files(fe):
    from pde.fem import mesh_files

    return mesh_files


@pytest.fixture
def geometry(tmp_path):
    path = tmp_path / "bar.geo"
    path.write_text(SQUARE_GEO)
    return path


def size(fe, measure, mesh):
    return fe.fem.assemble_scalar(fe.fem.form(fe.fem.Constant(mesh, 1.0) * measure))


# -- shapes -----------------------------------------------------------------------------------------------------------


def test_sizes_and_sides_of_the_shapes(fe, shapes):
    plate = shapes.square(4, 2.0, 1.0)
    assert size(fe, plate.dx(), plate.mesh) == pytest.approx(2, rel=1e-13)
    assert size(fe, plate.ds("left"), plate.mesh) == pytest.approx(1, rel=1e-13)
    assert size(fe, plate.ds("left", "top"), plate.mesh) == pytest.approx(3, rel=1e-13)
    box = shapes.cube(2, 3.0)
    assert size(fe, box.dx(), box.mesh) == pytest.approx(27, rel=1e-13)
    assert size(fe, box.ds("back"), box.mesh) == pytest.approx(9, rel=1e-13)
    n, angle = 5, 2 * np.pi / 30
    disc = shapes.disc(n, 2.0)
    assert size(fe, disc.dx(), disc.mesh) == pytest.approx(30 * 4 * np.sin(angle) / 2, rel=1e-13)  # a 30-gon
    assert size(fe, disc.ds("rim"), disc.mesh) == pytest.approx(30 * 2 * 2 * np.sin(angle / 2), rel=1e-13)
    assert disc.mesh.topology.index_map(2).size_local == 6 * n**2
    ell = shapes.corner(4, 2.0)
    assert size(fe, ell.dx(), ell.mesh) == pytest.approx(3, rel=1e-13)
    assert size(fe, ell.ds("rim"), ell.mesh) == pytest.approx(8, rel=1e-13)


def test_channel_with_an_obstacle(fe, shapes):
    gaps = []
    for n in (8, 16):
        flow = shapes.channel(n, 3.0, 1.0, 0.2, 1.0)
        area = size(fe, flow.dx(), flow.mesh)
        assert area > 3 - np.pi * 0.2**2  # a polygon within the circle
        gaps.append(area - (3 - np.pi * 0.2**2))
        assert size(fe, flow.ds("top", "bottom"), flow.mesh) == pytest.approx(6, rel=1e-13)
        assert size(fe, flow.ds("left"), flow.mesh) == pytest.approx(1, rel=1e-13)
        assert size(fe, flow.ds("obstacle"), flow.mesh) == pytest.approx(2 * np.pi * 0.2, rel=0.01)
        whole = size(fe, flow.ds(), flow.mesh)
        assert size(fe, flow.ds(*flow.facet_names), flow.mesh) == pytest.approx(whole, rel=1e-13)
    assert np.log2(gaps[0] / gaps[1]) > 1.9
    with pytest.raises(FemError, match="radius below half the height"):
        shapes.channel(8, 3.0, 1.0, 0.6, 1.0)
    with pytest.raises(FemError, match="change radius, at or length"):
        shapes.channel(8, 3.0, 1.0, 0.2, 0.3)


def test_shapes_refuse_nonsense(shapes):
    with pytest.raises(FemError, match="n is 0"):
        shapes.disc(0)
    with pytest.raises(FemError, match="width is -1"):
        shapes.square(4, -1.0)
    plate = shapes.square(2)
    with pytest.raises(FemError, match=r"no facets tagged 'north': it has left, right, bottom, top"):
        plate.ds("north")
    with pytest.raises(FemError, match="no cells tagged 3: it has none"):
        plate.dx(3)


# -- files ------------------------------------------------------------------------------------------------------------


def test_gmsh_geometry_keeps_physical_groups(fe, files, geometry):
    body = files.read_mesh(geometry, size=0.2, dim=2)
    assert dict(body.cell_names) == {"steel": 11, "rubber": 12}
    assert dict(body.facet_names) == {"held": 21, "pulled": 22}
    assert body.mesh.geometry.dim == 2
    for name in ("steel", "rubber", 11):
        assert size(fe, body.dx(name), body.mesh) == pytest.approx(1, rel=1e-12)
    assert size(fe, body.ds("pulled"), body.mesh) == pytest.approx(1, rel=1e-12)
    assert size(fe, body.dx(), body.mesh) == pytest.approx(2, rel=1e-12)
    finer = files.read_mesh(geometry, size=0.1, dim=2)
    assert finer.mesh.topology.index_map(2).size_local > 2 * body.mesh.topology.index_map(2).size_local
    V = fe.fem.functionspace(body.mesh, ("Lagrange", 1))
    held = body.dofs(V, "held")
    assert len(held) > 3
    assert V.tabulate_dof_coordinates()[held, 0] == pytest.approx(0, abs=1e-14)
    with pytest.raises(FemError, match="no facets tagged 'glued': it has held, pulled"):
        body.facets("glued")


def test_step_body_is_meshed(fe, files, tmp_path):
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox
    from OCP.STEPControl import STEPControl_StepModelType, STEPControl_Writer

    writer = STEPControl_Writer()
    writer.Transfer(BRepPrimAPI_MakeBox(10.0, 20.0, 30.0).Shape(), STEPControl_StepModelType.STEPControl_AsIs)
    writer.Write(str(tmp_path / "box.step"))
    body = files.read_mesh(tmp_path / "box.step", size=8.0)
    assert body.mesh.topology.dim == 3
    assert size(fe, body.dx(), body.mesh) == pytest.approx(6000, rel=1e-9)
    assert size(fe, body.ds(), body.mesh) == pytest.approx(2200, rel=1e-9)


def test_files_that_cannot_be_used_are_refused_in_one_sentence(files, tmp_path, geometry):
    def refused(name, text, match, **more):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(FemError, match=match) as found:
            files.read_mesh(path, **more)
        assert "\n" not in str(found.value)

    refused("none.msh", None, "there is no file")
    refused("part.doc", "x", r"unknown ending: give one of \.msh")
    refused("broken.msh", "nothing", "broken.msh cannot be read as a mesh")
    refused("broken.step", "nothing", "gmsh could not mesh broken.step|has no")
    refused("bad.geo", "Point(1) = {0, 0", "gmsh could not mesh bad.geo")
    refused("empty.geo", "// nothing\n", "empty.geo")
    refused("evil.geo", 'SystemCall "touch /tmp/x";', "SystemCall, which can start other programs")
    refused("evil2.geo", 'Merge StrCat("a", ".geo");', "merge a .step")
    refused("flat.geo", SQUARE_GEO, r"flat.geo has no tetra cells \(dimension 3\)", dim=3)
    refused("bar.geo", None, "size is -1", size=-1.0)
    with pytest.raises(FemError, match="is a mesh already"):
        (tmp_path / "m.vtu").write_text("x")
        files.read_mesh(tmp_path / "m.vtu", size=1.0)


def by_another_program(mesh, path):
    """Write XDMF by meshio in a process of its own: the HDF5 of h5py and that of DOLFINx do not share one."""
    import subprocess
    import sys

    mesh.write(path.with_suffix(".vtu"))
    program = "import sys, meshio; meshio.read(sys.argv[1]).write(sys.argv[2])"
    subprocess.run([sys.executable, "-c", program, path.with_suffix(".vtu"), path], check=True, timeout=120)


@pytest.mark.parametrize("ending", [".msh", ".vtu", ".xdmf"])
def test_mesh_files_keep_their_tags(fe, files, tmp_path, ending):
    import meshio

    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0]], float)
    cells = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]])
    key = "gmsh:physical" if ending == ".msh" else "cell_tags"
    data = {key: [np.array([1, 1, 2, 2], np.int32)]}
    if ending == ".msh":
        data["gmsh:geometrical"] = data[key]
    names = {"steel": np.array([1, 2])} if ending == ".msh" else {}
    path = tmp_path / f"two{ending}"
    mesh = meshio.Mesh(points, [("triangle", cells)], cell_data=data, field_data=names)
    if ending == ".xdmf":
        by_another_program(mesh, path)
    else:
        mesh.write(path, **({"file_format": "gmsh22"} if ending == ".msh" else {}))
    body = files.read_mesh(path)
    assert size(fe, body.dx(2), body.mesh) == pytest.approx(1, rel=1e-14)
    x = fe.ufl.SpatialCoordinate(body.mesh)
    middle = fe.fem.assemble_scalar(fe.fem.form(x[0] * body.dx(2)))
    assert middle == pytest.approx(1.5, rel=1e-14)  # the right cells, not only as many
    assert body.mesh.geometry.dim == 2
    if names:
        assert size(fe, body.dx("steel"), body.mesh) == pytest.approx(1, rel=1e-14)
    with pytest.raises(FemError, match="no cells tagged 7"):
        body.dx(7)


def test_xdmf_of_dolfinx_keeps_cell_and_facet_tags(fe, files, shapes, tmp_path):
    import dolfinx.io

    plate = shapes.square(4)
    mesh, top = plate.mesh, plate.mesh.topology.dim
    lower = fe.mesh.locate_entities(mesh, top, lambda x: x[1] <= 0.5 + 1e-9)
    halves = fe.mesh.meshtags(mesh, top, np.sort(lower), np.full(len(lower), 5, np.int32))
    halves.name, plate.facet_tags.name = "halves", "sides"
    with dolfinx.io.XDMFFile(mesh.comm, str(tmp_path / "plate.xdmf"), "w") as file:
        file.write_mesh(mesh)
        file.write_meshtags(halves, mesh.geometry)
        file.write_meshtags(plate.facet_tags, mesh.geometry)
    again = files.read_mesh(tmp_path / "plate.xdmf")
    x = fe.ufl.SpatialCoordinate(again.mesh)
    assert fe.fem.assemble_scalar(fe.fem.form(x[1] * again.dx(5))) == pytest.approx(1 / 8, rel=1e-13)
    assert fe.fem.assemble_scalar(fe.fem.form(x[0] * again.ds(2))) == pytest.approx(1, rel=1e-13)  # the right side


def test_surface_in_space_is_refused(files, tmp_path):
    import meshio

    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1.0]])
    meshio.Mesh(points, [("triangle", np.array([[0, 1, 2]]))]).write(tmp_path / "shell.vtu")
    with pytest.raises(FemError, match="a surface or line in space"):
        files.read_mesh(tmp_path / "shell.vtu")
    with pytest.raises(FemError, match=r"no tetra cells \(dimension 3\): it has triangle"):
        files.read_mesh(tmp_path / "shell.vtu", dim=3)


# -- results ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def fields(fe, shapes):
    disc = shapes.disc(4)
    V, W, D = (fe.fem.functionspace(disc.mesh, e) for e in (("Lagrange", 2), ("Lagrange", 1, (2,)), ("DG", 0)))
    u, w, q = fe.fem.Function(V, name="u"), fe.fem.Function(W, name="w"), fe.fem.Function(D, name="q")
    u.interpolate(lambda x: x[0] ** 2 + x[1])
    w.interpolate(lambda x: np.array([x[1], -x[0]]))
    q.interpolate(lambda x: x[0])
    return u, w, q


def test_vtu_round_trip(fe, files, fields, tmp_path):
    import meshio

    from pde.fem.result_files import write_results

    path = write_results(tmp_path / "new" / "disc.vtu", *fields)
    found = meshio.read(path)
    x = found.points
    assert found.point_data["u"] == pytest.approx(x[:, 0] ** 2 + x[:, 1], abs=1e-13)
    assert found.point_data["w"] == pytest.approx(np.column_stack([x[:, 1], -x[:, 0], 0 * x[:, 0]]), abs=1e-13)
    middle = x[found.cells[0].data].mean(axis=1)
    assert found.cell_data["q"][0] == pytest.approx(middle[:, 0], abs=1e-13)
    again = files.read_mesh(path)
    assert size(fe, again.dx(), again.mesh) == pytest.approx(24 * np.sin(2 * np.pi / 24) / 2, rel=1e-12)


def test_xdmf_and_vtx_are_written(fe, files, fields, tmp_path):
    from pde.fem.result_files import write_results

    u, w, q = fields
    write_results(tmp_path / "disc.xdmf", u, w, q)
    text = (tmp_path / "disc.xdmf").read_text()
    assert all(f'Name="{name}"' in text for name in "uwq")
    again = files.read_mesh(tmp_path / "disc.xdmf")
    assert size(fe, again.dx(), again.mesh) == pytest.approx(
        size(fe, fe.ufl.dx(u.function_space.mesh), u.function_space.mesh)
    )
    import dolfinx.io

    if dolfinx.io.has_adios2:
        write_results(tmp_path / "disc.bp", u, w)
        assert (tmp_path / "disc.bp").is_dir()
    else:
        with pytest.raises(FemError, match=r"without ADIOS2.*give \.xdmf"):
            write_results(tmp_path / "disc.bp", u)


def test_picture_shows_the_field(fields, tmp_path):
    from PIL import Image

    from pde.fem.result_files import write_results

    pixels = np.asarray(Image.open(write_results(tmp_path / "disc.png", fields[0])).convert("RGB")).astype(int)
    assert pixels.shape == (800, 1000, 3)
    inked = (pixels.min(axis=-1) < 200).mean()
    assert 0.2 < inked < 0.9
    assert len(np.unique(pixels.reshape(-1, 3) // 32, axis=0)) > 15  # a colour map, not one colour


def test_results_that_cannot_be_written_are_refused(fe, shapes, fields, tmp_path):
    from pde.fem.result_files import write_results

    with pytest.raises(FemError, match="unknown ending"):
        write_results(tmp_path / "u.doc", fields[0])
    with pytest.raises(FemError, match="at least one"):
        write_results(tmp_path / "u.vtu")
    other = fe.fem.Function(fe.fem.functionspace(shapes.square(2).mesh, ("Lagrange", 1)), name="other")
    with pytest.raises(FemError, match="different meshes"):
        write_results(tmp_path / "u.vtu", fields[0], other)
    twin = fe.fem.Function(fields[0].function_space, name="u")
    with pytest.raises(FemError, match="two functions are named 'u'"):
        write_results(tmp_path / "u.vtu", fields[0], twin)
