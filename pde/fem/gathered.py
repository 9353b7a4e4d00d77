"""What is spread over processes, brought together on process 0: to be drawn, and to be written as one file.

On one process nothing is copied. Values are taken at the vertices, or cell by cell where a function is constant there,
which is what pictures and .vtu files hold.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx, load
from pde.fem.result_files import at_vertices

Table = NDArray[np.float64]


def gathered(functions: Sequence[Any]) -> list[Any]:
    """Functions on a mesh of process 0 alone, equal to those given; on other processes an empty list.

    Args:
        functions: dolfinx Functions on one mesh, scalars or vectors, none of a mixed space. Other things, such as
            curves, are the same on all processes and are passed on.
    """
    on_mesh = [f for f in functions if hasattr(f, "function_space")]
    if not on_mesh or on_mesh[0].function_space.mesh.comm.size == 1:
        return list(functions)
    mesh = on_mesh[0].function_space.mesh
    values = [at_vertices(f) for f in on_mesh]
    first = mesh.comm.rank == 0
    points, cells = _vertices(mesh, mesh.geometry.x), _cells(mesh, _numbers(mesh))
    tables = [_cells(mesh, v) if by_cell else _vertices(mesh, v) for v, by_cell in values]
    if not first:
        return []
    fe = load()
    assert points is not None
    assert cells is not None
    whole = _mesh(fe, mesh, points, cells)
    made = iter(
        _function(fe, whole, f, table, by_cell) for f, (_, by_cell), table in zip(on_mesh, values, tables, strict=True)
    )
    return [next(made) if hasattr(f, "function_space") else f for f in functions]


def points_of(mesh: Any, vertices: Any) -> Table:
    """(k, dimension), coordinates of vertices of the geometry that any process names, each once, on every process."""
    numbers = mesh.geometry.index_map().local_to_global(np.asarray(vertices, np.int32))
    own = dict(zip(numbers.tolist(), mesh.geometry.x[vertices, : mesh.geometry.dim].tolist(), strict=True))
    together: dict[int, list[float]] = {}
    for part in mesh.comm.allgather(own):
        together |= part
    return np.array([together[number] for number in sorted(together)])


def _numbers(mesh: Any) -> NDArray[np.int64]:
    """Numbers over all processes of the vertices of each cell here, (cells, corners)."""
    corners = np.asarray(mesh.geometry.dofmaps[0])
    return mesh.geometry.index_map().local_to_global(corners.ravel().astype(np.int32)).reshape(corners.shape)


def _vertices(mesh: Any, values: Any) -> Any:
    """Values by vertex of the geometry, of all processes in the order of their numbers; None but on process 0."""
    parts = mesh.comm.gather(values[: mesh.geometry.index_map().size_local])
    return None if parts is None else np.concatenate(parts)


def _cells(mesh: Any, values: Any) -> Any:
    """Values by cell, of all processes one after the other; None but on process 0."""
    parts = mesh.comm.gather(values[: mesh.topology.index_map(mesh.topology.dim).size_local])
    return None if parts is None else np.concatenate(parts)


def _mesh(fe: Dolfinx, mesh: Any, points: Table, cells: NDArray[np.int64]) -> Any:
    element = fe.basix.ufl.element("Lagrange", mesh.topology.cell_name(), 1, shape=(mesh.geometry.dim,))
    return fe.mesh.create_mesh(fe.MPI.COMM_SELF, cells, element, np.ascontiguousarray(points[:, : mesh.geometry.dim]))


def _function(fe: Dolfinx, whole: Any, f: Any, table: Table, by_cell: bool) -> Any:
    kind = ("DG", 0) if by_cell else ("Lagrange", 1)
    V = fe.fem.functionspace(whole, (*kind, f.function_space.value_shape))
    g = fe.fem.Function(V, name=f.name)
    into = g.x.array.reshape(-1, V.dofmap.index_map_bs)
    table = table.reshape(len(table), -1)
    if by_cell:
        into[V.dofmap.list[:, 0]] = table[whole.topology.original_cell_index]
    else:
        into[V.dofmap.list.ravel()] = table[whole.geometry.input_global_indices][whole.geometry.dofmaps[0].ravel()]
    return g
