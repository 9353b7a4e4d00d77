"""Densities as pictures for people: PNG bytes, what counts as white, the shadow of a volume, and films."""

import io
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transport.errors import ImageError
from transport.images import to_pixels

Field = NDArray[np.float64]
FilmFormat = Literal["gif", "mp4", "png"]


def png_bytes(density: Field, peak: float | None = None) -> bytes:
    """A density as an 8-bit PNG, white is `peak` (default: the largest); black where there is no mass."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(to_pixels(density, peak=peak or float(density.max()) or 1.0)).save(file, "PNG")
    return file.getvalue()


def bright(density: Field) -> float:
    """The density that is shown as white: few cells may be far above all others, and would leave the rest dark."""
    return float(np.quantile(density[density > 0.05 * density.max()], 0.9))


def shadow(field: Field) -> Field:
    """A volume as a picture: its mean along the last axis. Pictures stay as they are."""
    return field.mean(axis=2) if field.ndim == 3 else field


def require_encoder(film: str) -> None:
    """Raises: ImageError where the program that makes such a film is missing."""
    if film == "mp4" and shutil.which("ffmpeg") is None:
        raise ImageError(
            "an MP4 film is made by the program ffmpeg: install it (apt-get install ffmpeg), or ask for gif"
        )


def write_film(path: Path, pictures: Sequence[NDArray[np.uint8]], seconds: float = 0.05) -> None:
    """Grey pictures of one size, (rows, columns) each, as a GIF or MP4 that goes there and back.

    Args:
        path: ends in .gif or .mp4. A film of MP4 kind has even sides: one dark row or column may be added.
        seconds: per picture.

    Raises:
        ImageError: another kind of file, ffmpeg is missing, or it failed.
    """
    film = [*pictures, *pictures[-2:0:-1]]
    if path.suffix == ".gif":
        from PIL import Image

        first, *rest = [Image.fromarray(picture) for picture in film]
        first.save(path, save_all=True, append_images=rest, duration=round(1000 * seconds), loop=0)
    elif path.suffix == ".mp4":
        require_encoder("mp4")
        _encode(path, film, seconds)
    else:
        raise ImageError(f"{path.name}: films are written as .gif or .mp4")


def _encode(path: Path, film: Sequence[NDArray[np.uint8]], seconds: float) -> None:
    rows, columns = film[0].shape
    command = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y"]
    command += ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{columns}x{rows}", "-r", f"{1 / seconds:.6g}", "-i", "-"]
    command += ["-an", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18"]
    # One thread and no time stamps: the same pictures give the same file.
    command += ["-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-movflags", "+faststart", str(path)]
    done = subprocess.run(command, input=b"".join(p.tobytes() for p in film), capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise ImageError(f"ffmpeg could not make {path.name} ({last[0]}): ask for gif")
