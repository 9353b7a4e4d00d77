"""A body written into a folder and read back by another process: arrays as npz, words as json, exact solids as BRep."""

# pyright: reportAttributeAccessIssue=false
# (the bindings of OpenCASCADE come without types)

import json
from pathlib import Path
from typing import Any

import numpy as np

from topopt.cad.body import Body, Face, Surface

ARRAYS, WORDS, SOLID = "body.npz", "answer.json", "solid.brep"


def save_body(body: Body, folder: Path) -> None:
    """Write a body; the json file comes last, so its presence means that the rest is there."""
    faces = body.faces
    np.savez(
        folder / ARRAYS,
        vertices=body.surface.vertices,
        triangles=body.surface.faces,
        members=np.concatenate([f.triangles for f in faces]),
        counts=np.array([len(f.triangles) for f in faces], np.int64),
        points=np.array([f.point for f in faces]),
        directions=np.array([f.direction for f in faces]),
    )
    if body.solid is not None:
        from OCP.BRepTools import BRepTools

        BRepTools.Write_s(body.solid, str(folder / SOLID))
    words = {
        "name": body.name,
        "volume": body.volume,
        "kinds": [f.kind for f in faces],
        "radii": [f.radius for f in faces],
        "hollow": [f.hollow for f in faces],
    }
    (folder / WORDS).write_text(json.dumps(words))


def load_body(folder: Path) -> Body:
    """Read what `save_body` wrote."""
    words = json.loads((folder / WORDS).read_text())
    with np.load(folder / ARRAYS, allow_pickle=False) as arrays:
        members = np.split(arrays["members"], np.cumsum(arrays["counts"])[:-1])
        faces = tuple(
            Face(kind, triangles, point, direction, radius, hollow)
            for kind, triangles, point, direction, radius, hollow in zip(
                words["kinds"],
                members,
                arrays["points"],
                arrays["directions"],
                words["radii"],
                words["hollow"],
                strict=True,
            )
        )
        surface = Surface(arrays["vertices"], arrays["triangles"])
    return Body(words["name"], surface, faces, words["volume"], _load_solid(folder / SOLID))


def _load_solid(path: Path) -> Any:
    if not path.exists():
        return None
    from OCP.BRep import BRep_Builder
    from OCP.BRepTools import BRepTools
    from OCP.TopoDS import TopoDS, TopoDS_Shape

    shape = TopoDS_Shape()
    BRepTools.Read_s(shape, str(path), BRep_Builder())
    return TopoDS.Solid(shape)
