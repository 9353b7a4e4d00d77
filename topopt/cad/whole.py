"""Files that are there whole or not at all: written beside their place under another name, flushed to disk, renamed."""

import contextlib
import errno
import io
import os
import uuid
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topopt.errors import ExportError


def write_whole(path: str | Path, data: bytes) -> Path:
    """Write a file in one piece. A killed process leaves the old file or none, never half of the new one.

    Raises:
        ExportError: the disk is full, or the folder cannot be written to.
    """
    path = Path(path)
    part = path.with_name(f".{path.stem}.{uuid.uuid4().hex[:12]}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ExportError(f"no space left on the disk for {path.name}: free some and export again") from error
        raise ExportError(f"{path.name} cannot be written to {path.parent}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return path


def npz_bytes(**arrays: NDArray) -> bytes:
    """Arrays as the content of an .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _flush_folder(folder: Path) -> None:
    # The rename itself is only safe once the folder is on disk; systems that cannot open a folder do this on their own.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
