"""Fields for ParaView: the voxels of the body as an unstructured grid in the part's own coordinates."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pde.grid.grid import Grid
from topopt.errors import ExportError

VTK_QUAD, VTK_HEXAHEDRON = 9, 12
# VTK walks around a face; the grid's corners are numbered by the bits of their offsets.
AROUND = {2: [0, 1, 3, 2], 3: [0, 1, 3, 2, 4, 5, 7, 6]}


def vtu_bytes(grid: Grid, fields: Mapping[str, NDArray[np.floating]]) -> bytes:
    """The file's content. Fields per element are cell data, fields per node are point data, by their shape.

    grid: two or three axes. fields: (*shape,), (*shape, k), (*node_shape,) or (*node_shape, k). A field called
    "fraction" decides which cells are written: those where it is positive.

    Raises:
        ExportError: a field fits neither elements nor nodes, is not finite, or no cell is left.
    """
    import pyvista as pv
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridWriter

    fraction = np.asarray(fields.get("fraction", np.ones(grid.shape)), float)
    if fraction.shape != grid.shape:
        raise ExportError(f"field 'fraction' has shape {fraction.shape}, the grid {grid.shape}")
    active = fraction.ravel() > 0
    if not active.any():
        raise ExportError("no voxel belongs to the body: there is nothing to write")
    corners = grid.element_nodes().reshape(grid.size, -1)[active][:, AROUND[grid.dim]]
    used, numbers = np.unique(corners, return_inverse=True)
    points = np.zeros((len(used), 3))
    points[:, : grid.dim] = grid.nodes().reshape(-1, grid.dim)[used]
    kind = VTK_QUAD if grid.dim == 2 else VTK_HEXAHEDRON
    mesh = pv.UnstructuredGrid({kind: numbers.reshape(corners.shape)}, points)
    for name, field in fields.items():
        values = np.asarray(field, float)
        if not np.isfinite(values).all():
            raise ExportError(f"field '{name}' is not finite everywhere")
        if values.shape[: grid.dim] == grid.shape and values.ndim <= grid.dim + 1:
            mesh.cell_data[name] = _components(values, grid.dim, grid.size)[active]
        elif values.shape[: grid.dim] == grid.node_shape and values.ndim <= grid.dim + 1:
            mesh.point_data[name] = _components(values, grid.dim, int(np.prod(grid.node_shape)))[used]
        else:
            raise ExportError(f"field '{name}' has shape {values.shape}: neither elements {grid.shape} nor nodes")
    writer = vtkXMLUnstructuredGridWriter()
    writer.SetInputData(mesh)
    writer.SetDataModeToBinary()  # base64: text that no transfer can damage
    writer.WriteToOutputStringOn()
    if not writer.Write():
        raise ExportError("VTK could not write the fields")
    return writer.GetOutputString().encode()


def _components(values: NDArray[np.float64], dim: int, count: int) -> NDArray[np.float64]:
    if values.ndim == dim:
        return values.reshape(count)
    values = values.reshape(count, -1)
    # A vector in the plane gets a third component, or ParaView will not warp by it.
    return np.pad(values, ((0, 0), (0, 1))) if values.shape[1] == 2 else values
