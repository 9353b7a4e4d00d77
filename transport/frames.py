"""From one weight vector to another: paths, previews and films."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transport.ascent import Settings
from transport.barycenter import Barycenter, barycenter, barycenters
from transport.densities import as_stack, as_weights
from transport.domain import Domain
from transport.errors import ImageError
from transport.images import to_pixels
from transport.levels import resample
from transport.pictures import FilmFormat, require_encoder, write_film

Field = NDArray[np.float64]

PREVIEW = 64
PREVIEW_SETTINGS = Settings((12, 40))
FRAME_SETTINGS = Settings((8, 14, 30, 60))


def preview(
    measures: Sequence[ArrayLike] | NDArray, weights: ArrayLike | None = None, start: Field | None = None
) -> Barycenter:
    """A barycenter on at most 64 cells along the longest side, in about a tenth of a second.

    Args:
        start: potentials of an earlier preview, for instance at the weights before the slider moved.
    """
    mu = as_stack(measures)
    longest = max(mu.shape[1:])
    if longest > PREVIEW:
        shape = tuple(max(2, round(n * PREVIEW / longest)) for n in mu.shape[1:])
        mu = resample(mu, Domain(shape))
    return barycenter(
        mu, weights, start=start, settings=PREVIEW_SETTINGS, threads=1, primal_iterations=2, upper_bound=False
    )


def weight_path(stations: ArrayLike, steps: int) -> Field:
    """Weight vectors along straight lines from station to station.

    Args:
        stations: (s, m), at least two.
        steps: from one station to the next.

    Returns:
        ((s - 1) steps + 1, m)
    """
    corners = np.asarray(stations, np.float64)
    if corners.ndim != 2 or len(corners) < 2 or steps < 1:
        raise ImageError("a path needs at least two weight vectors and at least one step between them")
    corners = corners / corners.sum(axis=1, keepdims=True)
    t = np.arange(steps)[:, None] / steps
    legs = [a + t * (b - a) for a, b in pairwise(corners)]
    return np.concatenate([*legs, corners[-1:]])


def weights_along(stations: ArrayLike, count: int) -> Field:
    """So many weight vectors at equal steps along the straight lines from station to station: (count, m).

    Args:
        stations: (s, m), at least two.

    Raises:
        ImageError: fewer stations or fewer frames than two, or a station that is no weight vector.
    """
    corners = np.asarray(stations, np.float64)
    if corners.ndim != 2 or len(corners) < 2 or count < 2:
        raise ImageError("a path needs at least two weight vectors and two frames")
    corners = np.stack([as_weights(c, corners.shape[1]) for c in corners])
    t = np.linspace(0, len(corners) - 1, count)
    k = np.minimum(t.astype(int), len(corners) - 2)
    share = (t - k)[:, None]
    return (1 - share) * corners[k] + share * corners[k + 1]


def interpolation(
    measures: Sequence[ArrayLike] | NDArray,
    path: Field,
    *,
    settings: Settings = FRAME_SETTINGS,
    threads: int = 0,
    watch: Callable[[int, Barycenter], object] | None = None,
) -> Field:
    """Densities along a path of weights, each started from the one before: (frames, n_1, ..., n_d).

    Args:
        path: (frames, m), for instance from `weight_path`.
        watch: sees every frame.
    """
    frames = []
    for k, found in enumerate(
        barycenters(measures, path, settings=settings, threads=threads, primal_iterations=1, upper_bound=False)
    ):
        frames.append(found.density)
        if watch:
            watch(k, found)
    return np.stack(frames)


def write_frames(
    folder: Path, frames: Sequence[Field], *, film: FilmFormat | None = "gif", seconds: float = 0.05
) -> list[Path]:
    """Write frames as PNG files, and a film that goes there and back. One grey scale for all of them.

    Args:
        frames: (n_1, n_2) each.
        film: "gif", "mp4" (needs ffmpeg), or "png" or None for the pictures alone.
        seconds: per frame of the film.

    Raises:
        ImageError: ffmpeg is missing, or it failed.
    """
    from PIL import Image

    require_encoder(film or "")
    folder.mkdir(parents=True, exist_ok=True)
    peak = float(np.percentile([frame.max() for frame in frames], 75))
    pictures = [to_pixels(frame, peak=peak) for frame in frames]
    paths = [folder / f"frame-{k:04d}.png" for k in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        Image.fromarray(picture).save(path)
    if film in ("gif", "mp4"):
        write_film(folder / f"film.{film}", pictures, seconds)
        paths.append(folder / f"film.{film}")
    return paths
