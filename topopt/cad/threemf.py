"""3MF through lib3mf: millimetres, connectivity and a title, which STL has not."""

import hashlib
import uuid
from typing import Any

import numpy as np

from topopt.cad.body import Surface
from topopt.errors import ExportError


def threemf_bytes(surface: Surface, name: str) -> bytes:
    """The file's content: one mesh object, one build item, unit millimetre.

    Raises:
        ExportError: lib3mf refuses the mesh, or does not call it manifold and oriented.
    """
    import lib3mf

    model: Any = lib3mf.Wrapper().CreateModel()
    model.SetUnit(lib3mf.ModelUnit.MilliMeter)
    about = model.GetMetaDataGroup()
    about.AddMetaData("", "Title", name, "xs:string", True)
    about.AddMetaData("", "Application", "Formgrad", "xs:string", True)
    mesh = model.AddMeshObject()
    mesh.SetName(name)
    points = np.ascontiguousarray(surface.vertices, np.float32)
    faces = np.ascontiguousarray(surface.faces, np.uint32)
    try:
        mesh.SetGeometry(
            (lib3mf.Position * len(points)).from_buffer(points), (lib3mf.Triangle * len(faces)).from_buffer(faces)
        )
        if not mesh.IsManifoldAndOriented():
            raise ExportError(f"{name} is not a closed, oriented surface: a 3MF of it could not be printed")
        item = model.AddBuildItem(mesh, lib3mf.Wrapper().GetIdentityTransform())
        # The library draws its identifiers at random; these follow from the content, so the same part is the same file.
        content = hashlib.sha256(name.encode() + points.tobytes() + faces.tobytes()).hexdigest()
        for what, owner in (("object", mesh.SetUUID), ("item", item.SetUUID), ("build", model.SetBuildUUID)):
            owner(str(uuid.uuid5(uuid.NAMESPACE_OID, f"{what} {content}")))
        return bytes(model.QueryWriter("3mf").WriteToBuffer())
    except lib3mf.ELib3MFException as error:
        raise ExportError(f"the 3MF library refuses {name}: {error}") from error


def read_threemf_bytes(data: bytes) -> tuple[Surface, str]:
    """Surface in mm and title of a 3MF with one mesh.

    Raises:
        ExportError: it cannot be read, or does not hold exactly one mesh in mm.
    """
    import lib3mf

    model: Any = lib3mf.Wrapper().CreateModel()
    try:
        model.QueryReader("3mf").ReadFromBuffer(data)
        meshes = model.GetMeshObjects()
        found: list[Any] = []
        while meshes.MoveNext():
            found.append(meshes.GetCurrentMeshObject())
    except lib3mf.ELib3MFException as error:
        raise ExportError(f"the 3MF cannot be read back: {error}") from error
    if len(found) != 1 or model.GetUnit() != lib3mf.ModelUnit.MilliMeter:
        raise ExportError("the 3MF does not hold exactly one mesh in millimetres")
    points = np.ctypeslib.as_array([tuple(p.Coordinates) for p in found[0].GetVertices()]).astype(float)
    faces = np.array([tuple(t.Indices) for t in found[0].GetTriangleIndices()], np.int64)
    return Surface(points, faces), found[0].GetName()
