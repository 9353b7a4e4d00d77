"""Small pictures that every run of kind `barycenter` keeps, so that there is something to see before it is done.

looks/preview.png   the answer on 64 cells          looks/input-1.png ...   what was put in, as mass
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jobs.store import Run, readable_errors
from transport.domain import Domain
from transport.frames import preview
from transport.images import prepare
from transport.levels import resample
from transport.pictures import bright, png_bytes, shadow

Field = NDArray[np.float64]

LONGEST = 256  # pixels of an input


def leave_looks(run: Run, between: Field | None, fields: Sequence[Field]) -> None:
    """Write the pictures into the run folder.

    Args:
        between: the preview, (n_1, n_2); None: there is none.
        fields: what was put in, as mass; volumes are shown by their shadow.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    with readable_errors(run.folder):
        folder = run.folder / "looks"
        folder.mkdir(exist_ok=True)
        if between is not None:
            (folder / "preview.png").write_bytes(png_bytes(between, bright(between)))
        for number, field in enumerate(fields, start=1):
            (folder / f"input-{number}.png").write_bytes(png_bytes(_small(shadow(field))))


def preview_of(fields: Sequence[Field], weights: Field, padding: float, floor: float) -> Field | None:
    """The barycenter on 64 cells; None for volumes, for which it would take longer than a look."""
    if fields[0].ndim == 3:
        return None
    return preview(prepare(fields, size=64, resize=True, padding=padding, floor=floor), weights).density


def _small(field: Field) -> Field:
    longest = max(field.shape)
    if longest <= LONGEST:
        return field
    shape = tuple(max(2, round(n * LONGEST / longest)) for n in field.shape)
    return resample(field[None], Domain(shape))[0]
