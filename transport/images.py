"""Pictures, volumes, bodies and designs as densities, and back.

A density is indexed `field[ix, iy(, iz)]`, x to the right, y up. Grey means mass: white (or opaque) is full, black is
empty; `invert` for dark shapes on white. A colour picture counts by its luminance (Rec. 709 weights on stored values)
times its opacity.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transport.domain import Domain
from transport.errors import ImageError
from transport.levels import resample

Field = NDArray[np.float64]

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
MOST_PIXELS = 178_000_000
SUFFIXES = (".png", ".tif", ".tiff", ".npy", ".vti", ".stl")


def read_field(path: Path, *, invert: bool = False, size: int = 128) -> Field:
    """What a file holds, as values not negative: PNG, TIFF, NPY, VTI, STL, or the folder of a finished run.

    Args:
        invert: pictures only: dark is mass.
        size: bodies (STL) only: voxels along the longest side, padding included.

    Returns:
        (n_1, n_2) or (n_1, n_2, n_3), not scaled.

    Raises:
        ImageError: missing, of another kind, animated, too large, or without a field.
    """
    path = Path(path)
    if not path.exists():
        raise ImageError(f"{path} does not exist: check the path")
    if path.is_dir():
        from transport.designs import read_run

        return read_run(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        values = _read_npy(path)
    elif suffix == ".vti":
        values = _read_vti(path)
    elif suffix == ".stl":
        from transport.designs import read_body

        return read_body(path, size)
    elif suffix in (".png", ".tif", ".tiff", ".gif"):
        values = _read_picture(path)
        values = values.max() - values if invert and values.ndim == 3 else values
        values = 1 - values if invert and values.ndim == 2 else values
    else:
        raise ImageError(f"{path.name}: files of kind {suffix or 'unknown'} cannot be read; use {', '.join(SUFFIXES)}")
    return values


def prepare(
    fields: Sequence[Field],
    names: Sequence[str] = (),
    *,
    size: int | None = None,
    resize: bool = False,
    padding: float = 0.0,
    floor: float = 0.0,
) -> Field:
    """Fields as densities of one shape and mean one: (m, n_1, ..., n_d).

    Args:
        names: of the fields, for messages.
        size: cells along the longest axis. Default: as the largest field.
        resize: allow fields of different shapes; each is centred, empty at its sides, in a box of common proportions.
        padding: empty border, as a part of the longest side.
        floor: uniform mass that is added, as a part of the whole. It is real mass, and it is moved.

    Raises:
        ImageError: different shapes without `resize`, different dimensions, a field that is no density, a size below 8.
    """
    from transport.densities import as_density

    names = list(names) or [f"density {i + 1}" for i in range(len(fields))]
    if len(fields) < 2:
        raise ImageError("a barycenter needs at least two densities: give another one")
    if size is not None and size < 8:
        raise ImageError(f"size {size} is too small: at least 8 cells along the longest side are needed")
    if not (0 <= padding < 1 and 0 <= floor < 1):
        raise ImageError("padding and floor are parts of the whole, from 0 to below 1")
    densities = [as_density(f, name) for f, name in zip(fields, names, strict=True)]
    shapes = {d.shape for d in densities}
    if len({len(s) for s in shapes}) > 1:
        raise ImageError("pictures and volumes cannot be mixed: give densities with the same number of axes")
    if len(shapes) > 1 and not resize:
        other = next(i for i, d in enumerate(densities) if d.shape != densities[0].shape)
        raise ImageError(
            f"{names[0]} has {_by(densities[0].shape)} cells, {names[other]} {_by(densities[other].shape)}: "
            "scale them to one size first, or say --resize"
        )
    target = _target([d.shape for d in densities], size, padding)
    fitted = np.stack([_fit(d, target, padding) for d in densities])
    fitted /= fitted.mean(axis=tuple(range(1, fitted.ndim)), keepdims=True)
    return (fitted + floor) / (1 + floor)


def threshold(density: Field, fraction: float) -> NDArray[np.bool_]:
    """A black-and-white design of given volume: the densest cells.

    Args:
        fraction: of the cells that are solid, above 0 and at most 1; met to half a cell.

    Raises:
        ImageError: another fraction, or fewer cells with mass than that.
    """
    solid = round(fraction * density.size)
    if not 0 < fraction <= 1 or solid == 0:
        raise ImageError(f"a volume fraction of {fraction:g} leaves nothing: it must be above 0 and at most 1")
    if np.count_nonzero(density) < solid:
        raise ImageError(f"a volume fraction of {fraction:g} asks for more cells than have mass: lower it")
    out = np.zeros(density.size, bool)
    # A stable sort: of cells that are equally dense, the first ones are taken, always the same.
    out[np.argsort(-density, axis=None, kind="stable")[:solid]] = True
    return out.reshape(density.shape)


def smooth(density: Field, cells: float = 1.0) -> Field:
    """A Gaussian blur that keeps the mass.

    The grid leaves a faint plaid in exact barycenters; a blur of one cell takes it away and hardly changes F.
    """
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(density, cells, mode="reflect")


def to_pixels(density: Field, *, peak: float | None = None, bits: int = 8, invert: bool = False) -> NDArray:
    """A 2-D density as grey values (rows from the top), 8 or 16 bit.

    Args:
        peak: the density that is white. Default: the largest. Frames of one film need a common one.
    """
    if density.ndim != 2:
        raise ImageError("a volume has no single picture: write .npy or .vti, or take a slice")
    white = (1 << bits) - 1
    grey = np.rint(np.clip(density / (peak or density.max()), 0, 1) * white)
    grey = white - grey if invert else grey
    return np.ascontiguousarray(grey.T[::-1]).astype(np.uint16 if bits == 16 else np.uint8)


def write_field(path: Path, density: Field, *, domain: Domain | None = None, peak: float | None = None) -> None:
    """Write a density as PNG or TIFF (16 bit grey), NPY (float64) or VTI (cell data `density`).

    Raises:
        ImageError: another kind of file, or a volume as a picture.
    """
    suffix = path.suffix.lower()
    if suffix == ".npy":
        np.save(path, density, allow_pickle=False)
    elif suffix == ".vti":
        _write_vti(path, density, domain or Domain(density.shape))
    elif suffix in (".png", ".tif", ".tiff"):
        from PIL import Image

        Image.fromarray(to_pixels(density, peak=peak, bits=16)).save(path)
    else:
        raise ImageError(f"{path.name}: densities are written as .png, .tif, .npy or .vti")


def _read_picture(path: Path) -> Field:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            frames = getattr(image, "n_frames", 1)
            if frames > 1 and image.format != "TIFF":
                raise ImageError(f"{path.name} is animated ({frames} frames): save the one frame you mean as PNG")
            if image.format == "GIF":
                raise ImageError(f"{path.name} is a GIF: save it as PNG")
            pages = []
            for page in range(frames):
                image.seek(page)
                pages.append(_mass(image, path))
    except Image.DecompressionBombError as error:
        raise ImageError(f"{path.name} has more than {MOST_PIXELS // 1_000_000} million pixels: scale it down first") from error  # fmt: skip  # noqa: E501
    except UnidentifiedImageError as error:
        raise ImageError(f"{path.name} is not a picture that can be read: save it as PNG") from error
    except (OSError, SyntaxError) as error:
        raise ImageError(f"{path.name} is damaged or cut short: save it again") from error
    if len({p.shape for p in pages}) > 1:
        raise ImageError(f"{path.name} has pages of different sizes: give a volume, or one page")
    return pages[0] if len(pages) == 1 else np.stack(pages, axis=2)


def _mass(image, path: Path) -> Field:
    if image.mode in ("P", "1", "CMYK", "YCbCr", "PA"):
        image = image.convert("RGBA" if image.mode in ("P", "PA") else "RGB")
    values = np.asarray(image)
    full = {"u": np.iinfo(values.dtype).max, "i": 65535}.get(values.dtype.kind, 1) if values.dtype.kind in "ui" else 1.0
    values = values.astype(np.float64) / full
    if values.ndim == 3:
        opacity = values[..., -1] if values.shape[2] in (2, 4) else 1.0
        colour = values[..., :3] @ LUMINANCE if values.shape[2] >= 3 else values[..., 0]
        values = colour * opacity
    if values.ndim != 2:
        raise ImageError(f"{path.name} has {values.ndim} axes: a grey or colour picture is needed")
    return np.ascontiguousarray(values[::-1].T)


def _read_npy(path: Path) -> Field:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ImageError(f"{path.name} is not a plain array of numbers (.npy)") from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf" or values.ndim not in (2, 3):
        raise ImageError(f"{path.name} must hold one array of real numbers with two or three axes")
    return values.astype(np.float64)


def _read_vti(path: Path) -> Field:
    import pyvista

    # VTK's reader says on stderr what it dislikes and returns an empty image, so look before.
    with path.open("rb") as file:
        if b"ImageData" not in file.read(1024):
            raise ImageError(f"{path.name} is not a VTK image (.vti)")
    image = pyvista.read(path)
    for data, shape in (
        (image.cell_data, [max(n - 1, 1) for n in getattr(image, "dimensions", ())]),
        (image.point_data, list(getattr(image, "dimensions", ()))),
    ):
        names = [k for k in data.keys() if data[k].ndim == 1]  # noqa: SIM118 - pyvista's own mapping
        if shape and names:
            name = "density" if "density" in names else names[0]
            values = np.asarray(data[name], np.float64).reshape(shape, order="F")
            return values[..., 0] if shape[2] == 1 else values
    raise ImageError(f"{path.name} holds no scalar field")


def _write_vti(path: Path, density: Field, domain: Domain) -> None:
    import pyvista

    spacing = (*domain.steps, 1.0)[:3]
    image = pyvista.ImageData(dimensions=[n + 1 for n in (*density.shape, 1)[:3]], spacing=spacing)
    image.cell_data["density"] = density.ravel(order="F")
    image.save(path)


def _target(shapes: Sequence[tuple[int, ...]], size: int | None, padding: float) -> tuple[int, ...]:
    box = np.max([np.array(s) / max(s) for s in shapes], axis=0) if len(set(shapes)) > 1 else np.array(shapes[0], float)
    longest = size or round(max(max(s) for s in shapes) * (1 + 2 * padding))
    # With padding the border is the same on all sides, so the proportions change a little.
    box = box / box.max() + 2 * padding
    return tuple(int(max(2, round(longest * b / box.max()))) for b in box)


def _fit(density: Field, target: tuple[int, ...], padding: float) -> Field:
    inner = max(target) / (1 + 2 * padding)
    here = tuple(int(min(t, max(2, round(inner * n / max(density.shape))))) for n, t in zip(density.shape, target, strict=True))  # fmt: skip  # noqa: E501
    scaled = resample(density[None], Domain(here))[0]
    room = [t - n for t, n in zip(target, here, strict=True)]
    return np.pad(scaled, [(r // 2, r - r // 2) for r in room])


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
