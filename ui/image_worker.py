"""The child of `ui.images.admit`: `python -m ui.image_worker SECONDS GIB FILE...` makes a small copy of each file."""

import json
import sys
from pathlib import Path

from pde.limits import limit_this_process

MOST_SIDE = 4096
LEAST_SIDE = 8
KEPT = 256
"""Cells along the longest side of the small copy: enough for a preview and for thumbnails."""


def main(seconds: float, memory_gb: float, paths: list[Path]) -> None:
    """Limit this process, read the pictures, and leave an answer beside each: its shape, or the reason against it."""
    limit_this_process(seconds, memory_gb)
    from transport.errors import TransportError

    for path in paths:
        try:
            answer: dict[str, object] = {"shape": _write_small(path, path.parent)}
        except TransportError as refusal:
            answer = {"error": str(refusal)}
        except MemoryError:
            answer = {"error": f"reading {path.name} needs more than {memory_gb:g} GiB: scale it down first"}
        part = path.with_name("answer.json.part")
        part.write_text(json.dumps(answer))
        part.replace(path.with_name("answer.json"))


def _write_small(path: Path, folder: Path) -> list[int]:
    import numpy as np

    from transport.densities import as_density
    from transport.domain import Domain
    from transport.errors import ImageError
    from transport.images import read_field
    from transport.levels import resample

    _check_size(path)
    values = read_field(path)
    if values.ndim != 2:
        raise ImageError(f"{path.name} holds a volume: for volumes use `formgrad barycenter` on the command line")
    as_density(values, path.name)
    small, longest = values, max(values.shape)
    if longest > KEPT:
        shape = tuple(max(2, round(n * KEPT / longest)) for n in values.shape)
        small = resample(values[None], Domain(shape))[0]
    np.save(folder / "field.npy", small, allow_pickle=False)
    return list(values.shape)


def _check_size(path: Path) -> None:
    """Refuse by the header, before anything is decoded."""
    from transport.errors import ImageError

    sides = _sides(path)
    if sides and max(sides) > MOST_SIDE:
        raise ImageError(
            f"{path.name} measures {' × '.join(map(str, sides))}: scale it down to at most {MOST_SIDE} a side"
        )
    if sides and min(sides) < LEAST_SIDE:
        raise ImageError(
            f"{path.name} measures {' × '.join(map(str, sides))}: at least {LEAST_SIDE} pixels a side are needed"
        )


def _sides(path: Path) -> tuple[int, ...]:
    """Extents by the header; empty where it cannot be read, which the reader then says better."""
    import numpy as np
    from PIL import Image

    try:
        if path.suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False).shape
        with Image.open(path, formats=("PNG", "TIFF")) as image:
            return image.size
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError):
        return ()


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
