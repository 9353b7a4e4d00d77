"""The form answers: images that come and go, the preview that follows them, and the run that is started."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from jobs.errors import JobError, RunFolderError
from jobs.launch import start
from transport.errors import TransportError
from ui import images
from ui.barycenter import setup
from ui.barycenter.asked import Asked, found
from ui.barycenter.checks import checked_job
from ui.barycenter.form import MOST
from ui.barycenter.looks import leave_looks
from ui.barycenter.preview import previewed
from ui.structure.plain import update
from ui.structure.shown import Shown
from ui.words import escape

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


def wire_form(page: gr.Blocks, form: setup.Setup, root: Path, asked: Asked) -> None:
    """Connect everything that the form does by itself, and the preview that follows from it."""
    _row_events(form, root)
    page.load(asked.look, set(form.inputs), asked.outputs, **QUIET)
    gr.on(
        [c.change for c in form.inputs],
        asked.look,
        set(form.inputs),
        asked.outputs,
        trigger_mode="always_last",
        **QUIET,
    )


def _row_events(form: setup.Setup, root: Path) -> None:
    f, blocks = form.fields, form.blocks
    taken = [*form.row_parts, blocks["samples"], blocks["note"]]

    def rows(values: Mapping[Any, Any], ids: Sequence[str], weights: Sequence[float], note: str = "") -> list[Any]:
        """The rows for these images. A picture that was not there before comes with the weight in the middle."""
        pairs = [(images.image_card(root, name), weight) for name, weight in zip(ids, weights, strict=True)]
        cards, weights = [c for c, _ in pairs if c], [w for c, w in pairs if c]
        samples = [card.id.removeprefix(images.SAMPLE) for card in cards if card.id.startswith(images.SAMPLE)]
        told = f'<p class="run-error" role="alert">{escape(note)}</p>' if note else ""
        return [*setup.filled(cards, weights, form.read(values)["invert"]), samples, update(told)]

    def on_upload(values: Mapping[Any, Any]) -> list[Any]:
        read = form.read(values)
        paths = [Path(path) for path in values[blocks["upload"]] or []]
        room = MOST - len(read["ids"])
        answers = images.admit(root, paths[:room])
        new = [answer.id for answer in answers if isinstance(answer, images.ImageCard)]
        told = [f"{answer}." for answer in answers if isinstance(answer, TransportError)]
        if len(paths) > room:
            told.append(f"At most {MOST} images: {len(paths) - room} left out.")
        weights = [*read["weights"], *[setup.HALF] * len(new)]
        return [*rows(values, [*read["ids"], *new], weights, " ".join(told)), None]

    def on_samples(values: Mapping[Any, Any]) -> list[Any]:
        read, chosen = form.read(values), [images.SAMPLE + name for name in values[blocks["samples"]]]
        kept = [
            (name, weight)
            for name, weight in zip(read["ids"], read["weights"], strict=True)
            if not name.startswith(images.SAMPLE) or name in chosen
        ]
        new = [(name, setup.HALF) for name in chosen if name not in read["ids"]]
        note = f"At most {MOST} images: take one away first." if len(kept) + len(new) > MOST else ""
        pairs = [*kept, *new][:MOST]
        answer = rows(values, [name for name, _ in pairs], [weight for _, weight in pairs], note)
        if not note:
            answer[-2] = gr.skip()  # the cards as they are: another may have been clicked in the meantime
        return answer

    def on_reading(values: Mapping[Any, Any]) -> list[Any]:
        read = form.read(values)
        cards = [images.image_card(root, name) for name in read["ids"]]
        shown = [setup.thumb(card, read["invert"]) if card else "" for card in cards]
        return [shown[k] if k < len(shown) else gr.skip() for k in range(MOST)]

    asked = {*form.inputs, blocks["samples"]}
    blocks["upload"].upload(on_upload, {*asked, blocks["upload"]}, [*taken, blocks["upload"]], api_visibility="private")
    blocks["samples"].input(on_samples, asked, taken, trigger_mode="always_last", **QUIET)
    f["reading"].input(on_reading, asked, form.thumbs, **QUIET)
    for number, button in enumerate(form.drops):

        def drop(values: Mapping[Any, Any], number: int = number) -> list[Any]:
            read = form.read(values)
            kept = [k for k in range(len(read["ids"])) if k != number]
            return rows(values, [read["ids"][k] for k in kept], [read["weights"][k] for k in kept])

        button.click(drop, asked, taken, **QUIET)


def wire_run(form: setup.Setup, root: Path, button: gr.Button, error: gr.HTML, shown: Shown) -> None:
    """Run: check the form, start a worker, and show its folder."""

    def run(values: Mapping[Any, Any]) -> list[Any]:
        read = form.read(values)
        cards = found(root, read)
        try:
            job, preview = checked_job(read, cards), previewed(read, cards)
            started = start(job, root)
            leave_looks(started, preview, cards, read["invert"])
        except (JobError, RunFolderError, TransportError) as trouble:
            told = f'<p class="run-error" role="alert">{escape(trouble)}</p>'
            return [update(told), gr.skip(), gr.skip(), *shown.unchanged()]
        run_id = started.folder.name
        return [update(""), run_id, gr.Tabs(selected="run"), *shown.look(run_id, "")]

    button.click(run, set(form.inputs), [error, shown.run_id, shown.tabs, *shown.outputs], **QUIET)
