"""The answer on 64 cells, in about a tenth of a second, and densities as pictures in the page."""

import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transport.pictures import bright, png_bytes
from ui.images import ImageCard, field_of

__all__ = ["Preview", "bright", "mass_of", "measures", "picture_source", "previewed", "thumbnail"]

Field = NDArray[np.float64]

CELLS = 64
THUMB = 112


@dataclass(frozen=True)
class Preview:
    """density: (n_1, n_2), mean one; gap: between its value and the bound, relative; seconds: of computing."""

    density: Field
    gap: float
    seconds: float


def mass_of(card: ImageCard, invert: bool) -> Field:
    """What counts as mass in an image, at most 256 cells along a side. Arrays are not inverted."""
    field = field_of(card)
    # The weights of the colours, and means over cells, may leave white a rounding above 1.
    return np.maximum(1 - field, 0) if invert and card.is_picture else field


def measures(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> Field:
    """The densities of the preview: (m, n_1, n_2), at most 64 cells along a side.

    Raises:
        TransportError: an image has no mass, or padding and floor cannot be.
    """
    from transport.images import prepare

    fields = [mass_of(card, form["invert"]) for card in cards]
    parts = {key: (form[key] or 0) / 100 for key in ("padding", "floor")}
    return prepare(fields, [card.name for card in cards], size=CELLS, resize=True, **parts)


def previewed(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> Preview:
    """The barycenter on 64 cells.

    Raises:
        TransportError: as `measures`, or the weights are all zero.
    """
    from transport.frames import preview

    _warm_up()
    began = time.perf_counter()
    found = preview(measures(form, cards), form["weights"])
    return Preview(found.density, found.gap, time.perf_counter() - began)


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Load the compiled kernels, which takes a second or two once per process and is no part of an answer's time."""
    from transport.frames import preview

    preview([np.eye(8), np.ones((8, 8))])


def thumbnail(card: ImageCard, invert: bool) -> str:
    """An image as mass, small, as the source of an <img>."""
    from transport.domain import Domain
    from transport.levels import resample

    field = mass_of(card, invert)
    longest = max(field.shape)
    if longest > THUMB:
        shape = tuple(max(2, round(n * THUMB / longest)) for n in field.shape)
        field = resample(field[None], Domain(shape))[0]
    return picture_source(field)


def picture_source(density: Field, peak: float | None = None) -> str:
    """A density as the source of an <img>, white is `peak`; a black picture where there is no mass."""
    return "data:image/png;base64," + base64.b64encode(png_bytes(density, peak)).decode("ascii")
