"""Binary glTF 2.0 (Khronos 2017) for viewers.

glTF is in metres and y-up. The mesh keeps the part's own coordinates in mm, z-up; the node above it carries the matrix
(x, y, z) mm -> (x, z, -y) / 1000 m. So a viewer shows the part upright in its true size, and the numbers stay its own.
"""

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Surface
from topopt.cad.shading import split_at_edges
from topopt.errors import ExportError

STEEL = (0.62, 0.67, 0.73)  # linear rgb
TO_GLTF = 1e-3 * np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
TO_GLTF.flags.writeable = False


def glb_bytes(
    surface: Surface,
    name: str = "part",
    *,
    colours: NDArray[np.floating] | None = None,
    base: tuple[float, float, float] = STEEL,
    crease: float = 35.0,
) -> bytes:
    """The file's content.

    Args:
        colours: (n, 3) linear rgb in [0, 1] per vertex of the surface, or None for one colour.
        base: that colour.
        crease: degrees between triangles above which an edge is drawn sharp.
    """
    points, normals, faces, source = split_at_edges(surface, crease)
    points = points.astype("<f4")
    arrays: list[tuple[NDArray[Any], int, dict[str, Any]]] = [
        (points, 34962, {"type": "VEC3", "min": points.min(axis=0).tolist(), "max": points.max(axis=0).tolist()}),
        (normals.astype("<f4"), 34962, {"type": "VEC3"}),
    ]
    attributes = {"POSITION": 0, "NORMAL": 1}
    if colours is not None:
        rgb = np.ones((len(points), 4), "<f4")
        rgb[:, :3] = np.clip(np.asarray(colours, float)[source], 0, 1)
        attributes["COLOR_0"] = len(arrays)
        arrays.append((rgb, 34962, {"type": "VEC4"}))
    indices = len(arrays)
    arrays.append((faces.astype("<u4").ravel(), 34963, {"type": "SCALAR"}))
    matrix = np.eye(4)
    matrix[:3, :3] = TO_GLTF
    colour = (1.0, 1.0, 1.0) if colours is not None else base
    document = {
        "asset": {"version": "2.0", "generator": "Formgrad"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": name, "mesh": 0, "matrix": matrix.T.ravel().tolist()}],
        "meshes": [
            {
                "name": name,
                "primitives": [{"attributes": attributes, "indices": indices, "material": 0, "mode": 4}],
                "extras": {"units": "mm", "up": "z"},
            }
        ],
        "materials": [
            {
                "name": "part",
                "pbrMetallicRoughness": {
                    "baseColorFactor": [*colour, 1.0],
                    "metallicFactor": 0.05,
                    "roughnessFactor": 0.55,
                },
            }
        ],
    }
    return _packed(document, arrays)


def read_glb_bytes(data: bytes) -> Surface:
    """The part of a file that `glb_bytes` wrote, in mm; equal positions become one vertex.

    Raises:
        ExportError: the file is cut short or not of this kind.
    """
    magic, _, length = struct.unpack_from("<4sII", data) if len(data) >= 20 else (b"", 0, 0)
    if magic != b"glTF" or length != len(data):
        raise ExportError("the GLB is cut short or not a GLB: write it again")
    (size,) = struct.unpack_from("<I", data, 12)
    document, start = json.loads(data[20 : 20 + size]), 28 + size
    primitive = document["meshes"][0]["primitives"][0]

    def array(number: int, kind: str) -> NDArray[Any]:
        accessor = document["accessors"][number]
        view = document["bufferViews"][accessor["bufferView"]]
        count = accessor["count"] * (3 if accessor["type"] == "VEC3" else 1)
        return np.frombuffer(data, kind, count, start + view["byteOffset"])

    stored = array(primitive["attributes"]["POSITION"], "<f4").reshape(-1, 3)
    points, numbers = np.unique(stored, axis=0, return_inverse=True)
    faces = numbers.ravel()[array(primitive["indices"], "<u4").astype(np.int64)].reshape(-1, 3)
    matrix = np.array(document["nodes"][0]["matrix"]).reshape(4, 4).T[:3, :3]
    return Surface(points.astype(float) @ (np.linalg.inv(TO_GLTF) @ matrix).T, faces)


def _packed(document: dict[str, Any], arrays: list[tuple[NDArray[Any], int, dict[str, Any]]]) -> bytes:
    views, accessors, blob = [], [], b""
    for number, (array, target, about) in enumerate(arrays):
        raw = np.ascontiguousarray(array).tobytes()
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(raw), "target": target})
        component = 5125 if array.dtype.kind == "u" else 5126
        accessors.append({"bufferView": number, "componentType": component, "count": len(array), **about})
        blob += raw
    document |= {"bufferViews": views, "accessors": accessors, "buffers": [{"byteLength": len(blob)}]}
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    blob += b"\0" * (-len(blob) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + blob
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
