"""Bodies that were uploaded: checked in a process of its own, then kept with their picture and their faces.

runs/.bodies/ID/   NAME.step   body.glb   faces.json (for the viewer)   about.json (for the form)
"""

import contextlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topopt.cad.body import Body
from topopt.errors import BodyError
from ui.faces import NamedFace, named_faces
from ui.words import figure, lengths

BODY_ID = re.compile(r"[0-9a-f]{32}")
BODY_FILES = ("body.glb", "faces.json")
KINDS = (".step", ".stp", ".stl")


@dataclass(frozen=True)
class BodyCard:
    """What the form knows about a body. file: our copy of it; size: extents in mm; volume: mm3."""

    id: str
    file: str
    units: str | None
    size: tuple[float, float, float]
    volume: float
    faces: tuple[NamedFace, ...]

    @property
    def name(self) -> str:
        return Path(self.file).stem

    @property
    def summary(self) -> str:
        count = sum(1 for face in self.faces if face.key.startswith("f"))
        return f"{Path(self.file).name}: {lengths(self.size)} mm, {figure(self.volume / 1000)} cm³, {count} faces"

    def face(self, key: str | None) -> NamedFace | None:
        return next((face for face in self.faces if face.key == key), None)


def admit(root: Path, source: Path, units: str | None) -> BodyCard:
    """Copy, check and describe an upload.

    Raises:
        BodyError: the file is not a body that can be designed.
    """
    from topopt.cad.glb import glb_bytes
    from topopt.cad.read import read_body_safely

    if source.suffix.lower() not in KINDS:
        raise BodyError(f"{source.name} is not a part: upload a {', '.join(KINDS)} file")
    with kept(root, source, "part") as copy:
        folder = copy.parent
        body = read_body_safely(copy, units)
        (folder / "body.glb").write_bytes(glb_bytes(body.surface, copy.stem))
        (folder / "faces.json").write_text(json.dumps(_for_viewer(body)))
        size = tuple(float(v) for v in np.ptp(body.surface.bounds, axis=0))
        card = BodyCard(folder.name, str(copy), units, size, body.volume, tuple(named_faces(body)))  # pyright: ignore[reportArgumentType]
        (folder / "about.json").write_text(json.dumps(asdict(card)))
        return card


@contextlib.contextmanager
def kept(root: Path, source: Path, otherwise: str) -> Iterator[Path]:
    """A copy of an upload in a folder of its own, which is named by chance and goes again if the copy is refused.

    Args:
        otherwise: its name where that of the upload has no letters that a path may hold.
    """
    stem = re.sub(r"[^\w.+-]+", "-", source.stem, flags=re.ASCII).strip("-.")[:60] or otherwise
    folder = root / ".bodies" / secrets.token_hex(16)
    folder.mkdir(parents=True)
    try:
        copy = folder / f"{stem}{source.suffix.lower()}"
        shutil.copyfile(source, copy)
        yield copy
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def body_card(root: Path, body_id: str | None) -> BodyCard | None:
    """The card of a body that was admitted, or None."""
    folder = find_body(root, body_id)
    if folder is None:
        return None
    about = json.loads((folder / "about.json").read_text())
    faces = tuple(NamedFace(**{**face, "faces": tuple(face["faces"])}) for face in about.pop("faces"))
    return BodyCard(**{**about, "size": tuple(about["size"])}, faces=faces)


def forget_old(root: Path, days: float = 7) -> None:
    """Drop uploads that nobody has come back to; runs hold copies of their own."""
    for folder in (root / ".bodies").glob("*"):
        if BODY_ID.fullmatch(folder.name) and folder.stat().st_mtime < time.time() - days * 86400:
            shutil.rmtree(folder, ignore_errors=True)


def find_body(root: Path, body_id: str | None) -> Path | None:
    if not BODY_ID.fullmatch(body_id or ""):
        return None
    folder = root / ".bodies" / str(body_id)
    return folder if (folder / "about.json").is_file() else None


def _for_viewer(body: Body) -> dict[str, Any]:
    """Face of each triangle, and the edges between faces as a flat list of end points in mm."""
    owner = np.zeros(len(body.surface.faces), np.int64)
    for number, face in enumerate(body.faces):
        owner[face.triangles] = number
    edges = np.sort(body.surface.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    sides = np.repeat(owner, 3)
    order = np.lexsort((sides, edges[:, 1], edges[:, 0]))
    edges, sides = edges[order], sides[order]
    border = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1) & (sides[1:] != sides[:-1]))
    ends = body.surface.vertices[edges[border]]
    return {"triangles": owner.tolist(), "edges": np.round(ends, 4).ravel().tolist()}
