"""What can be said about a barycenter before it runs; one sentence each, with its field."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.errors import JobError
from jobs.spec import Job, parse_job
from transport.densities import bytes_per_cell
from transport.errors import TransportError
from ui.barycenter.form import LEAST, METHODS, job_data, share_text, shares
from ui.findings import Finding, first_missing, sentence
from ui.images import ImageCard
from ui.words import bytes_text, figure


def checked_job(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> Job:
    """The job that Run starts.

    Raises:
        JobError: the first thing that is wrong, in one sentence.
    """
    if wrong := first_missing(findings(form, cards)):
        raise JobError(wrong.text)
    return parse_job(job_data(form, cards))


def findings(form: Mapping[str, Any], cards: Sequence[ImageCard], trouble: str = "") -> list[Finding]:
    """What is in order, what to know, and what is missing, in the order of the form.

    Args:
        trouble: why the preview could not be made, if it could not.
    """
    if len(cards) < LEAST:
        more = "two images at least" if not cards else "one image more"
        return [Finding("missing", f"A barycenter needs {more}: upload files, or take samples.", "images")]
    return [*_images(form, cards), *_weights(form, cards), *_solve(form, cards), *_other(form, trouble)]


def _images(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> list[Finding]:
    other = next((card for card in cards if card.shape != cards[0].shape), None)
    if other is None:
        return [Finding("good", f"{len(cards)} images of {_by(cards[0].shape)} pixels.", "images")]
    sizes = f"{cards[0].name} has {_by(cards[0].shape)} pixels, {other.name} {_by(other.shape)}"
    if not form["resize"]:
        return [Finding("missing", f"{sizes}: scale them to one size, or allow different sizes.", "picture")]
    return [Finding("note", f"{sizes}: each is centred in a frame of common proportions.", "picture")]


def _weights(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> list[Finding]:
    parts = shares(form["weights"])
    if not any(parts):
        return [Finding("missing", "All weights are zero: raise at least one of them.", "images")]
    counted = [card.name for card, part in zip(cards, parts, strict=True) if part > 0]
    if len(counted) == 1:
        return [Finding("note", f"Only {counted[0]} has weight: the barycenter is that image itself.", "images")]
    idle = len(cards) - len(counted)
    line = "Weights add up to one: " + ", ".join(map(share_text, parts)) + "."
    kind = [Finding("good", line, "images")]
    return kind + ([Finding("note", "Images of weight zero are followed, but do not count.", "images")] if idle else [])


def _solve(form: Mapping[str, Any], cards: Sequence[ImageCard]) -> list[Finding]:
    size, finest = int(form["size"]), max(max(card.shape) for card in cards)
    memory = bytes_per_cell(len(cards)) * size**2
    text = f"Full solve with {figure(size, 9)} cells along the longest side, up to {bytes_text(memory)} of memory."
    lines = [Finding("good", text, "picture")]
    if size > 2 * finest:
        text = f"The finest image has {finest} pixels along a side: {size} cells show no more than {finest} do."
        lines.append(Finding("note", text, "picture"))
    if form["method"] != "accelerated":
        lines.append(Finding("note", f"{METHODS[form['method']]}: {_about(form['method'])}.", "advanced"))
    return lines


def _about(method: str) -> str:
    if method == "debiased":
        return "rounds corners; it is not the exact barycenter, and it is labelled so"
    return "300 iterations on the full grid, for comparison"


def _other(form: Mapping[str, Any], trouble: str) -> list[Finding]:
    try:
        _readable(form)
        _installed(form)
    except (JobError, TransportError) as error:
        return [Finding("missing", sentence(str(error)), "advanced")]
    return [Finding("missing", f"{trouble}.", "images")] if trouble else []


def _readable(form: Mapping[str, Any]) -> None:
    """Raises JobError where a field of "Advanced" cannot be."""
    stand_in = [ImageCard("", "a.png", (8, 8), True)] * LEAST
    parse_job(job_data({**form, "weights": [1.0] * LEAST}, stand_in))


def _installed(form: Mapping[str, Any]) -> None:
    """Raises TransportError where the method or the film needs a program that is not here."""
    from transport.debiased import require_pot
    from transport.pictures import require_encoder

    if form["method"] == "debiased":
        require_pot()
    require_encoder(form.get("film") or "")


def _by(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))
