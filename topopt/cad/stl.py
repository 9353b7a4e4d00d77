"""Binary STL: triangles in single precision, without units and without connectivity (3D Systems 1989)."""

import numpy as np

from topopt.cad.body import Surface
from topopt.errors import ExportError

HEADER = b"binary STL, millimetres, outward normals, Formgrad"
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def stl_bytes(surface: Surface) -> bytes:
    """The file's content. The header does not begin with "solid": readers take such files for text."""
    records = np.zeros(len(surface.faces), TRIANGLE)
    normals = surface.normals
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    records["normal"] = normals / np.where(lengths > 0, lengths, 1.0)
    records["corners"] = surface.corners
    return HEADER.ljust(80, b" ") + np.uint32(len(records)).tobytes() + records.tobytes()


def read_stl_bytes(data: bytes) -> Surface:
    """The surface of a binary STL; equal positions become one vertex.

    Raises:
        ExportError: the length does not fit the number of triangles.
    """
    count = int(np.frombuffer(data, "<u4", 1, 80)[0]) if len(data) >= 84 else -1
    if count < 1 or len(data) != 84 + count * TRIANGLE.itemsize:
        raise ExportError("the STL is cut short or empty: write it again")
    corners = np.frombuffer(data, TRIANGLE, count, 84)["corners"].reshape(-1, 3)
    points, faces = np.unique(corners, axis=0, return_inverse=True)
    return Surface(points.astype(float), faces.reshape(-1, 3).astype(np.int64))
