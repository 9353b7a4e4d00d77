"""From what the form holds to a job of kind `barycenter`."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.errors import JobError
from ui.images import ImageCard
from ui.job_file import job_file

LEAST, MOST = 2, 8  # pictures
METHODS = {
    "accelerated": "Accelerated, with levels",
    "wdha": "WDHA, as published",
    "sga": "SGA, as published",
    "debiased": "Debiased entropic (POT): smooth",
}
FILMS = {"": "No film", "gif": "GIF", "mp4": "MP4 (needs ffmpeg)", "png": "PNG pictures"}


def job_data(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> dict[str, Any]:
    """The job as plain data, with only what differs from the defaults.

    Args:
        form: values by name, see `ui.barycenter.setup`; `weights` are those of `cards`.

    Raises:
        JobError: something is missing that the job cannot be written without.
    """
    if len(cards) < LEAST:
        raise JobError("images: at least two are needed; upload PNG, TIFF or NPY files, or take samples")
    name = (form.get("name") or "").strip() or "barycenter"
    data: dict[str, Any] = {"job": "barycenter", "name": name, "inputs": [card.file for card in cards]}
    data["weights"] = [round(float(weight), 4) for weight in form["weights"]]
    data["size"] = int(form["size"])
    data |= {key: True for key in ("resize", "invert") if form[key]}
    data |= {key: share for key in ("padding", "floor") if (share := _share(form[key], key))}
    if form["method"] != "accelerated":
        data["method"] = form["method"]
    if (volume := _share(form["volume_percent"], "black and white")) > 0:
        data["volume_fraction"] = volume
    if form.get("film"):
        data["path"] = {
            "to": _last_only(data["weights"]),
            "frames": int(form.get("frames") or 24),
            "format": form["film"],
        }
    return data


def _last_only(weights: Sequence[float]) -> list[float]:
    """Where the film of the page ends: at the last image alone."""
    return [*[0.0] * (len(weights) - 1), 1.0]


def job_text(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> str:
    """The job file that does the same on the command line; a comment while it cannot be written."""
    try:
        data = job_data(form, cards)
    except JobError as error:
        return f"# {error}\n"
    data["inputs"] = [file.rpartition("/")[2] for file in data["inputs"]]
    how = [
        "Save as job.yaml (the pictures beside it), then:  formgrad run job.yaml",
        "In Python:  from transport import barycenter; from transport.images import prepare, read_field",
        f"            barycenter(prepare([read_field(path) for path in paths], size={data['size']}), weights)",
    ]
    return job_file(data, how)


def shares(weights: Sequence[float]) -> list[float]:
    """Weights of sum one; zeros where all are zero."""
    whole = sum(weights)
    return [weight / whole if whole > 0 else 0.0 for weight in weights]


def share_text(part: float) -> str:
    """A part of the whole in per cent, three digits: 33.3 %, 25 %."""
    return f"{100 * part:.3g} %"


def _share(percent: Any, name: str) -> float:
    """A percentage of the form as a part of the whole; left empty, it is zero."""
    if percent is None or isinstance(percent, bool):
        return 0.0
    if not 0 <= percent < 100:
        raise JobError(f"{name}: {percent:g} % cannot be; choose between 0 and 99 %")
    return round(percent / 100, 4)
