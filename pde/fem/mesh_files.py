"""Meshes from files, with their tags: gmsh meshes and geometries, STEP, XDMF, VTU and whatever else meshio reads.

A geometry (.geo, .step) is meshed by gmsh, which is a program of its own here and never imported. Physical groups keep
their names. A file is read on process 0 and spread over all. Coordinates are taken as they are; a flat mesh in space
(all z equal) becomes one in the plane.
"""

import io
import math
import re
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.meshed import Meshed, mesh_of

GEOMETRIES = (".geo", ".step", ".stp", ".brep")
MESHES = (".msh", ".xdmf", ".vtu", ".vtk", ".inp", ".bdf", ".med")
_SIMPLICES = {1: "line", 2: "triangle", 3: "tetra"}
_UNREADABLE = "{} cannot be read as a mesh: its content is not what its ending promises"
_TAGS = ("gmsh:physical", "medit:ref", "cell_tags", "CellEntityIds", "name_to_read")


def read_mesh(path: str | Path, size: float | None = None, dim: int | None = None, comm: Any = None) -> Meshed:
    """The mesh in a file, or of the geometry in it.

    Args:
        path: .msh, .xdmf, .vtu, .vtk, .inp, .bdf, .med; or .geo, .step, .stp, .brep.
        size: largest edge length, for a geometry; in the file's units (STEP: mm). None: gmsh's choice.
        dim: of the cells; None: the highest in the file. A body of tetrahedra also has triangles: its boundary.
        comm: None: all processes.

    Raises:
        FemError: there is no such file, it cannot be read or meshed, or it has no straight-sided simplices of this
            dimension.
    """
    fe = load()
    comm = comm or fe.MPI.COMM_WORLD
    found: Any = None
    if comm.rank == 0:
        try:
            found = _read(Path(path), size, dim)
        except FemError as reason:
            found = str(reason)
    found = comm.bcast(found)
    if isinstance(found, str):
        raise FemError(found)
    points, cells, cell_tags, facets, facet_tags, cell_names, facet_names = found
    mesh = mesh_of(points, cells, comm)
    top = mesh.topology.dim
    return Meshed(
        mesh,
        _spread(mesh, top, cells, cell_tags),
        _spread(mesh, top - 1, facets, facet_tags),
        cell_names,
        facet_names,
    )


def _read(path: Path, size: float | None, dim: int | None) -> tuple:
    if not path.is_file():
        raise FemError(f"there is no file {path}: check the name, and the folder that you start from")
    if size is not None and not (size > 0 and math.isfinite(size)):
        raise FemError(f"size is {size!r}: give a positive edge length, or leave it out")
    ending = path.suffix.lower()
    if ending in GEOMETRIES:
        with tempfile.TemporaryDirectory() as folder:
            return _content(_meshed_by_gmsh(path, size, dim or 3, Path(folder)), path.name, dim)
    if ending not in MESHES:
        raise FemError(f"{path.name} has an unknown ending: give one of {', '.join(MESHES + GEOMETRIES)}")
    if size is not None:
        raise FemError(f"{path.name} is a mesh already: size is for geometries ({', '.join(GEOMETRIES)})")
    return _content(path, path.name, dim)


def _meshed_by_gmsh(path: Path, size: float | None, dim: int, folder: Path) -> Path:
    """gmsh run on a geometry, for at most five minutes."""
    program = Path(sysconfig.get_path("scripts")) / "gmsh"
    if not program.exists():
        raise FemError(
            "meshing a geometry needs gmsh: `pip install 'formgrad[mesh]'`, or mesh it elsewhere and give the .msh file"
        )
    if path.suffix.lower() == ".geo":
        _harmless(path)
    out = folder / "out.msh"
    command = [sys.executable, str(program), str(path.resolve()), f"-{dim}", "-format", "msh41", "-o", str(out)]
    command += ["-clmax", repr(float(size))] if size else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    except subprocess.TimeoutExpired:
        raise FemError(f"gmsh did not finish with {path.name} in five minutes: give a larger size") from None
    words = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("Error")]
    if done.returncode or words or not out.exists() or "$Elements" not in out.read_text(errors="replace"):
        said = words[0].split(":", 1)[-1].strip() if words else "it made no cells"
        raise FemError(f"gmsh could not mesh {path.name} ({said}): check the geometry")
    return out


def _harmless(path: Path) -> None:
    """A .geo file is a program, and gmsh would run whatever else it starts.

    Raises:
        FemError: it starts other programs, or loads what may.
    """
    text = re.sub(r"//.*|/\*.*?\*/", " ", path.read_text(errors="replace"))
    if word := re.search(r"\b(NonBlockingSystemCall|SystemCall|OnelabRun|OnelabClient|Include)\b", text):
        raise FemError(f"{path.name} uses {word[0]}, which can start other programs: take it out of the geometry")
    for merged in re.finditer(r"\b(?:Merge|MergeFile)\b\s*([^;]*);", text):
        if not re.fullmatch(r'"[^"]+\.(?:step|stp|brep|iges|igs|stl|msh)"', merged[1].strip(), re.I):
            raise FemError(
                f"{path.name} merges {merged[1].strip()[:40]}: merge a .step, .brep or .stl file by its name"
            )


@dataclass
class _Raw:
    """What a file holds: vertices, and by dimension simplices (k, dim + 1), their tags (k,) (0: none), and names."""

    points: NDArray[np.float64]
    cells: dict[int, NDArray[np.int64]]
    tags: dict[int, NDArray[np.int32]]
    names: dict[int, dict[str, int]]
    kinds: set[str]


def _content(path: Path, name: str, dim: int | None) -> tuple:
    """Points, cells, their tags, tagged facets, their tags, and the two tables of names."""
    raw = _xdmf(path, name) if path.suffix.lower() == ".xdmf" else _by_meshio(path, name)
    highest = dim or max((d for d in raw.cells if d), default=0)
    if highest not in raw.cells or highest not in (1, 2, 3):
        kinds = ", ".join(sorted(raw.kinds)) or "no cells at all"
        wanted = f"{_SIMPLICES[highest]} cells" if highest in _SIMPLICES else "lines, triangles or tetrahedra"
        raise FemError(f"{name} has no {wanted} (dimension {highest or 'any'}): it has {kinds}")
    cells, tags = raw.cells[highest], raw.tags[highest]
    facets = raw.cells.get(highest - 1, np.zeros((0, highest), np.int64))
    facet_tags = raw.tags.get(highest - 1, np.zeros(0, np.int32))
    if not np.isfinite(raw.points).all():
        raise FemError(f"{name} has a vertex that is not a finite number")
    kept, number = np.unique(cells, return_inverse=True)
    cells = number.reshape(cells.shape)
    place = np.full(len(raw.points), -1)
    place[kept] = np.arange(len(kept))
    facets = place[facets]
    whole = (facets >= 0).all(axis=1)
    points = _flat(raw.points[kept], highest, name)
    names = [raw.names.get(d, {}) for d in (highest, highest - 1)]
    return points, cells, tags, facets[whole], facet_tags[whole], *names


def _by_meshio(path: Path, name: str) -> _Raw:
    try:
        import meshio
    except ImportError as reason:
        raise FemError("reading a mesh file needs meshio: `pip install 'formgrad[mesh]'`") from reason
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            mesh = meshio.read(path)
    except (Exception, SystemExit) as reason:  # each of meshio's readers fails in a way of its own
        raise FemError(_UNREADABLE.format(name)) from reason
    key = next((key for key in mesh.cell_data if key in _TAGS), None)
    cells, tags = {}, {}
    for dim, kind in {0: "vertex", **_SIMPLICES}.items():
        which = [i for i, block in enumerate(mesh.cells) if block.type == kind and len(block.data)]
        if which:
            cells[dim] = np.concatenate([np.asarray(mesh.cells[i].data, np.int64) for i in which])
            values = [mesh.cell_data[key][i] if key else np.zeros(len(mesh.cells[i].data)) for i in which]
            tags[dim] = np.concatenate([np.asarray(v).ravel() for v in values]).astype(np.int32)
    names: dict[int, dict[str, int]] = {}
    for group, (tag, of) in mesh.field_data.items():
        names.setdefault(int(of), {})[group] = int(tag)
    return _Raw(np.asarray(mesh.points, float), cells, tags, names, {block.type for block in mesh.cells})


def _xdmf(path: Path, name: str) -> _Raw:
    """One grid, as meshio writes it, or several, as DOLFINx does.

    The numbers are in an HDF5 file. That of meshio may be compressed, which DOLFINx' HDF5 cannot read; and meshio's
    HDF5 does not start beside it, so meshio works in a process of its own.
    """
    try:
        several = len(ElementTree.parse(path).getroot().findall("./Domain/Grid")) > 1
    except ElementTree.ParseError as reason:
        raise FemError(_UNREADABLE.format(name)) from reason
    if several:
        return _by_dolfinx(path, name)
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "mesh.vtu"
        program = "import sys, meshio; meshio.read(sys.argv[1]).write(sys.argv[2])"
        command = [sys.executable, "-c", program, str(path.resolve()), str(converted)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as reason:
            raise FemError(_UNREADABLE.format(name)) from reason
        return _by_meshio(converted, name)


def _by_dolfinx(path: Path, name: str) -> _Raw:
    import dolfinx.io

    fe = load()
    try:
        grids = _grids(path)
        cells, tags = {}, {}
        main = max(grids, key=lambda grid: _DIMENSIONS[grid.kind], default=None)
        if main is None:
            return _Raw(np.zeros((0, 3)), {}, {}, {}, set())
        with dolfinx.io.XDMFFile(fe.MPI.COMM_SELF, str(path), "r") as file:
            points = np.array(file.read_geometry_data(main.name, main.xpath))
            mesh = file.read_mesh(name=main.name, xpath=main.xpath)
            top = _DIMENSIONS[main.kind]
            mesh.topology.create_entities(top)
            count = mesh.topology.index_map(top).size_local
            cells[top] = _vertices(mesh, top, np.arange(count, dtype=np.int32))
            tags[top] = np.zeros(count, np.int32)
            for grid in grids:
                if grid.tagged:
                    dim = _DIMENSIONS[grid.kind]
                    mesh.topology.create_entities(dim)
                    mesh.topology.create_connectivity(dim, top)
                    found = file.read_meshtags(mesh, name=grid.name, xpath=grid.xpath)
                    if dim == top:
                        tags[top][found.indices] = found.values
                    else:
                        cells[dim] = _vertices(mesh, dim, found.indices)
                        tags[dim] = np.asarray(found.values, np.int32)
    except RuntimeError as reason:
        raise FemError(_UNREADABLE.format(name)) from reason
    return _Raw(points, cells, tags, {}, {main.kind.lower()})


@dataclass
class _Grid:
    name: str
    kind: str
    tagged: bool
    xpath: str = "/Xdmf/Domain"


_DIMENSIONS = {"PolyLine": 1, "Polyline": 1, "Triangle": 2, "Tetrahedron": 3}


def _grids(path: Path) -> list[_Grid]:
    """The grids of simplices directly in the domain of an XDMF file, and whether whole numbers hang on their cells."""
    grids = []
    for grid in ElementTree.parse(path).getroot().findall("./Domain/Grid"):
        topology = grid.find("Topology")
        kind = "" if topology is None else topology.get("TopologyType", topology.get("Type", ""))
        if kind in _DIMENSIONS:
            whole = [a.find("DataItem") for a in grid.findall("Attribute") if a.get("Center") == "Cell"]
            tagged = any(
                item is not None and item.get("DataType", item.get("NumberType", "Int")) == "Int" for item in whole
            )
            grids.append(_Grid(grid.get("Name", ""), kind, tagged))
    return grids


def _flat(points: NDArray[np.float64], dim: int, name: str) -> NDArray[np.float64]:
    """Coordinates of a flat mesh without those that do not vary."""
    given = points.shape[1]
    rest = points[:, dim:]
    if given > dim and np.ptp(rest, axis=0).max(initial=0.0) > 1e-12 * max(np.ptp(points, axis=0).max(), 1e-300):
        raise FemError(
            f"{name} holds a surface or line in space: an equation needs cells of full dimension, for a plane mesh "
            "with z constant, or give dim=3 for the tetrahedra"
        )
    return np.ascontiguousarray(points[:, :dim])


def _spread(mesh: Any, dim: int, entities: NDArray[np.int64], tags: NDArray[np.int32]) -> Any:
    """Tags, known on every process by vertex numbers of the file, as MeshTags of this process's part."""
    fe = load()
    used = tags != 0
    entities, tags = entities[used], tags[used]
    if not len(tags):
        return None
    topology = mesh.topology
    topology.create_connectivity(dim, 0)
    topology.create_connectivity(dim, topology.dim)
    here = topology.index_map(dim)
    corners = _vertices(mesh, dim, np.arange(here.size_local + here.num_ghosts, dtype=np.int32))
    wanted = {tuple(row): int(tag) for row, tag in zip(np.sort(entities, axis=1).tolist(), tags.tolist(), strict=True)}
    pairs = [(i, wanted[row]) for i, row in enumerate(map(tuple, np.sort(corners, axis=1).tolist())) if row in wanted]
    numbers = np.array([i for i, _ in pairs], np.int32)
    values = np.array([tag for _, tag in pairs], np.int32)
    return fe.mesh.meshtags(mesh, dim, numbers, values)


def _vertices(mesh: Any, dim: int, entities: NDArray[np.int32]) -> NDArray[np.int64]:
    """(k, dim + 1) vertex numbers of the file for entities (k,) of a dimension."""
    fe = load()
    mesh.topology.create_connectivity(mesh.topology.dim, dim)
    nodes = fe.mesh.entities_to_geometry(mesh, dim, entities)
    return np.asarray(mesh.geometry.input_global_indices)[nodes].astype(np.int64)
