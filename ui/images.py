"""Pictures that were uploaded: decoded in a process of its own with limits, then kept as they came and made small.

runs/.images/ID/   NAME.png   field.npy (grey values, at most 256 cells along a side)   about.json (for the form)
"""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transport.errors import ImageError
from ui.words import bytes_text

Field = NDArray[np.float64]

IMAGE_ID = re.compile(r"[0-9a-f]{32}")
SAMPLES = Path(__file__).parents[1] / "assets" / "images"
SAMPLE = "sample-"
# How the files of each kind begin; the name of a file is only a claim.
MAGIC = {
    ".png": (b"\x89PNG\r\n\x1a\n",),
    ".tif": (b"II*\0", b"MM\0*"),
    ".npy": (b"\x93NUMPY",),
}
KINDS = (".png", ".tif", ".tiff", ".npy")
MOST_BYTES = 50_000_000
SECONDS, MEMORY_GB = 30.0, 4.0


@dataclass(frozen=True)
class ImageCard:
    """What the form knows about a picture. file: our copy of it; shape: (n_1, n_2) of the file, in pixels."""

    id: str
    file: str
    shape: tuple[int, int]
    is_picture: bool  # rather than an array, which "dark is mass" leaves as it is

    @property
    def name(self) -> str:
        return Path(self.file).stem

    @property
    def words(self) -> str:
        return f"{self.name}, {self.shape[0]} × {self.shape[1]}"


def admit(root: Path, sources: Sequence[Path]) -> list[ImageCard | ImageError]:
    """Copy, check and describe uploads, each on its own merits; -> a card, or the reason against it, in their order.

    A refused file leaves nothing behind.
    """
    found: dict[int, ImageCard | ImageError] = {}
    copies: dict[int, Path] = {}
    for number, source in enumerate(sources):
        try:
            copies[number] = _copied(root, source, sniffed(source))
        except ImageError as refusal:
            found[number] = refusal
    try:
        for number, shape in _decoded(copies).items():
            found[number] = shape if isinstance(shape, ImageError) else _described(copies[number], shape)
    finally:
        for number, copy in copies.items():
            if not isinstance(found.get(number), ImageCard):
                shutil.rmtree(copy.parent, ignore_errors=True)
    return [found[number] for number in range(len(sources))]


def sniffed(source: Path) -> str:
    """The kind of a file by its first bytes: .png, .tif or .npy.

    Raises:
        ImageError: none of these, empty, or too large.
    """
    name, size = source.name, source.stat().st_size
    if source.suffix.lower() not in KINDS:
        raise ImageError(f"{name} is of no kind that is read here: upload PNG, TIFF or NPY")
    if size == 0:
        raise ImageError(f"{name} is empty: copy or save it again")
    if size > MOST_BYTES:
        raise ImageError(f"{name} has {bytes_text(size)}, more than {bytes_text(MOST_BYTES)}: scale it down first")
    with source.open("rb") as file:
        start = file.read(8)
    for kind, beginnings in MAGIC.items():
        if start.startswith(beginnings):
            return kind
    raise ImageError(f"{name} is not what its name says: inside it is no PNG, TIFF or NPY; save it as one of these")


def image_card(root: Path, image_id: str) -> ImageCard | None:
    """The card of a sample, or of a picture that was admitted; None if there is no such picture."""
    if image_id.startswith(SAMPLE):
        name = image_id.removeprefix(SAMPLE)
        return _sample(SAMPLES / f"{name}.png") if name in sample_names() else None
    folder = root / ".images" / image_id
    if not IMAGE_ID.fullmatch(image_id) or not (folder / "about.json").is_file():
        return None
    about = json.loads((folder / "about.json").read_text())
    return ImageCard(**{**about, "shape": tuple(about["shape"])})


def field_of(card: ImageCard) -> Field:
    """Grey values of a picture, at most 256 cells along a side: (n_1, n_2), in [0, 1] for pictures."""
    if card.id.startswith(SAMPLE):
        return _sample_field(Path(card.file))
    return np.load(Path(card.file).with_name("field.npy"), allow_pickle=False)


@lru_cache(maxsize=1)
def sample_names() -> tuple[str, ...]:
    """Names of the pictures that ship with Formgrad."""
    return tuple(sorted(path.stem for path in SAMPLES.glob("*.png")))


def forget_old(root: Path, days: float = 7) -> None:
    """Drop uploads that nobody has come back to; runs hold copies of their own."""
    for folder in (root / ".images").glob("*"):
        if IMAGE_ID.fullmatch(folder.name) and folder.stat().st_mtime < time.time() - days * 86400:
            shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=16)
def _sample(path: Path) -> ImageCard:
    return ImageCard(SAMPLE + path.stem, str(path), (256, 256), True)


@lru_cache(maxsize=16)
def _sample_field(path: Path) -> Field:
    from transport.images import read_field

    field = read_field(path)
    field.flags.writeable = False
    return field


def _copied(root: Path, source: Path, kind: str) -> Path:
    stem = re.sub(r"[^\w.+-]+", "-", source.stem, flags=re.ASCII).strip("-.")[:60] or "picture"
    folder = root / ".images" / secrets.token_hex(16)
    folder.mkdir(parents=True)
    shutil.copyfile(source, folder / f"{stem}{kind}")
    return folder / f"{stem}{kind}"


def _described(copy: Path, shape: tuple[int, int]) -> ImageCard:
    card = ImageCard(copy.parent.name, str(copy), shape, copy.suffix != ".npy")
    (copy.parent / "about.json").write_text(json.dumps(asdict(card)))
    return card


def _decoded(copies: Mapping[int, Path]) -> dict[int, tuple[int, int] | ImageError]:
    """Let child processes with limits write a `field.npy` beside each copy; -> the shapes of the pictures themselves.

    One child reads all of them, because starting it takes longer than reading. A file that ends it is refused, and
    another child goes on behind it.
    """
    found: dict[int, tuple[int, int] | ImageError] = {}
    while waiting := [number for number in copies if number not in found]:
        why = _child([copies[number] for number in waiting])
        for number in waiting:
            answer = copies[number].with_name("answer.json")
            if not answer.exists():
                found[number] = ImageError(f"reading {copies[number].name} {why}")
                break
            told = json.loads(answer.read_text())
            found[number] = ImageError(told["error"]) if "error" in told else (told["shape"][0], told["shape"][1])
    return found


def _child(copies: Sequence[Path]) -> str:
    """Run the reader over some files; -> what to say of a file that it has no answer for."""
    limits = [f"{SECONDS:g}", f"{MEMORY_GB:g}"]
    try:
        child = subprocess.run(
            [sys.executable, "-m", "ui.image_worker", *limits, *(str(copy.resolve()) for copy in copies)],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {SECONDS:g} s: scale it down or save it again"
    return (
        f"ended the reader (exit code {child.returncode}): the file is damaged, or needs more than {MEMORY_GB:g} GiB; "
        "save it again"
    )
