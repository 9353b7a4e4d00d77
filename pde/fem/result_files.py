"""Results as files that other programs open: XDMF and VTX for ParaView, also from many processes; VTU; pictures.

Values at the vertices are written as they are; a function of another space is interpolated first, cell-wise constants
stay with their cells.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError

ENDINGS = (".xdmf", ".bp", ".vtu", ".png")


def write_results(path: str | Path, *functions: Any, tags: Any = None) -> Path:
    """Functions on one mesh, as a file.

    Args:
        path: .xdmf (with an .h5 beside it), .bp (VTX, a folder), .vtu or .png (the first function, by PyVista). The
            last two are written by the first process, to which the others send what they hold.
        functions: dolfinx Functions, scalars or vectors; their names are kept.
        tags: dolfinx MeshTags of the cells, written too in .vtu from one process.

    Raises:
        FemError: an unknown ending, no function, functions on different meshes or of one name, or tags in .vtu from
            several processes.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise FemError(f"{path.name} has an unknown ending: give one of {', '.join(ENDINGS)}")
    if not functions:
        raise FemError("there is no function to write: give at least one")
    mesh = functions[0].function_space.mesh
    if any(f.function_space.mesh is not mesh for f in functions):
        raise FemError("the functions live on different meshes: write one file for each mesh")
    names = [f.name for f in functions]
    if len(set(names)) < len(names):
        raise FemError(
            f"two functions are named {max(names, key=names.count)!r}: set their names apart, as in u.name = 'u'"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    if ending in (".vtu", ".png") and mesh.comm.size > 1:
        _from_the_first(path, functions, tags)
        return path
    {".xdmf": _xdmf, ".bp": _vtx, ".vtu": _vtu, ".png": _png}[ending](path, mesh, functions, tags)
    return path


def _from_the_first(path: Path, functions: Any, tags: Any) -> None:
    from pde.fem.gathered import gathered

    if tags is not None:
        raise FemError("tags are written in .vtu by one process: leave them out, or run on one process")
    if whole := gathered(functions):
        write_results(path, *whole)


def _xdmf(path: Path, mesh: Any, functions: Any, tags: Any) -> None:
    import dolfinx.io

    with dolfinx.io.XDMFFile(mesh.comm, str(path), "w") as file:
        file.write_mesh(mesh)
        for f in functions:
            file.write_function(_at_vertices(f))


def _vtx(path: Path, mesh: Any, functions: Any, tags: Any) -> None:
    import dolfinx
    import dolfinx.io

    if not dolfinx.has_adios2:
        raise FemError("this DOLFINx was built without ADIOS2, which writes .bp: give .xdmf")
    # VTX wants one element for all: that of the vertices.
    with dolfinx.io.VTXWriter(mesh.comm, str(path), [_at_vertices(f, always=True) for f in functions]) as file:
        file.write(0.0)


def _vtu(path: Path, mesh: Any, functions: Any, tags: Any) -> None:
    import meshio

    points, cells = geometry(mesh)
    at_points: dict[str, Any] = {}
    at_cells: dict[str, Any] = {}
    for f in functions:
        g = _at_vertices(f)
        (at_cells if _by_cell(g) else at_points)[f.name] = values(g)
    if tags is not None:
        of_cells = np.zeros(len(cells), np.int32)
        of_cells[tags.indices] = tags.values
        at_cells["cell_tags"] = of_cells
    kind = {2: "line", 3: "triangle", 4: "tetra"}[cells.shape[1]]
    whole = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    at_points = {name: _in_space(array) for name, array in at_points.items()}
    grouped: dict[str, Any] = {name: [_in_space(array)] for name, array in at_cells.items()}
    meshio.Mesh(whole, [(kind, cells)], point_data=at_points, cell_data=grouped).write(path)


def _png(path: Path, mesh: Any, functions: Any, tags: Any) -> None:
    import pyvista

    f = functions[0]
    g = _at_vertices(f)
    points, cells = geometry(mesh)
    whole = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    kind = {2: pyvista.CellType.LINE, 3: pyvista.CellType.TRIANGLE, 4: pyvista.CellType.TETRA}[cells.shape[1]]
    counted = np.hstack([np.full((len(cells), 1), cells.shape[1]), cells]).ravel()
    grid = pyvista.UnstructuredGrid(counted, np.full(len(cells), kind), whole)
    shown = values(g)
    shown = np.linalg.norm(shown, axis=1) if shown.ndim == 2 else shown
    title = f.name if not f.function_space.value_shape else f"|{f.name}|"
    (grid.cell_data if _by_cell(g) else grid.point_data)[title] = shown
    plotter: Any = pyvista.Plotter(off_screen=True, window_size=[1000, 800])
    plotter.set_background("white")
    bar = {"color": "black", "vertical": False, "position_x": 0.25, "position_y": 0.03}
    plotter.add_mesh(grid, scalars=title, cmap="viridis", show_edges=len(cells) < 3000, scalar_bar_args=bar)
    if points.shape[1] < 3:
        plotter.view_xy()
    plotter.screenshot(str(path))
    plotter.close()


def geometry(mesh: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices (n, dim) and cells (m, corners) of this process.

    Raises:
        FemError: the mesh is not one of straight-sided simplices.
    """
    if mesh.topology.cell_name() not in ("interval", "triangle", "tetrahedron"):
        raise FemError(f"a mesh of {mesh.topology.cell_name()} cells is written as .xdmf or .bp only")
    cells = np.asarray(mesh.geometry.dofmaps[0], np.int64)[:, : mesh.topology.dim + 1]
    return mesh.geometry.x[:, : mesh.geometry.dim].copy(), cells


def at_vertices(f: Any) -> tuple[NDArray[np.float64], bool]:
    """Values of a function by vertex of the geometry, or by cell where it is constant there, and which of the two."""
    g = _at_vertices(f)
    return values(g), _by_cell(g)


def values(f: Any) -> NDArray[np.float64]:
    """Of a piecewise constant function by cell, else by vertex of the geometry: (k,) or (k, components)."""
    V = f.function_space
    size = V.dofmap.index_map_bs
    array = f.x.array.reshape(-1, size)
    mesh = V.mesh
    found = np.zeros((len(mesh.geometry.dofmaps[0] if _by_cell(f) else mesh.geometry.x), size))
    if _by_cell(f):
        found[:] = array[V.dofmap.list[:, 0]]
    else:
        found[mesh.geometry.dofmaps[0].ravel()] = array[V.dofmap.list.ravel()]
    return found[:, 0] if size == 1 else found


def _by_cell(f: Any) -> bool:
    element = f.function_space.ufl_element()
    return element.basix_element.degree == 0 if hasattr(element, "basix_element") else False


def _at_vertices(f: Any, always: bool = False) -> Any:
    """f in the Lagrange space of the vertices, or f itself where it is constant by cell."""
    fe, V = load(), f.function_space
    if V.num_sub_spaces and V.dofmap.index_map_bs == 1:
        raise FemError(f"{f.name} is a function of a mixed space: write its parts, as in w.sub(0).collapse()")
    if _by_cell(f) and not always:
        return f
    g = fe.fem.Function(fe.fem.functionspace(V.mesh, ("Lagrange", 1, V.value_shape)), name=f.name)
    if _by_cell(f):
        raise FemError(f"{f.name} is constant by cell, which .bp does not hold here: give .xdmf or .vtu")
    g.interpolate(f)
    return g


def _in_space(array: NDArray) -> NDArray:
    """Vectors of the plane as vectors of space, which is what VTK draws arrows of."""
    return np.pad(array, ((0, 0), (0, 1))) if array.ndim == 2 and array.shape[1] == 2 else array
