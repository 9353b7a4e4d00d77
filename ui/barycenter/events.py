"""The form answers: images that come and go."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from transport.errors import TransportError
from ui import images
from ui.barycenter import setup
from ui.barycenter.form import MOST
from ui.plain import update
from ui.run_view.shown import QUIET
from ui.words import escape


def wire_form(form: setup.Setup, root: Path) -> None:
    """Connect everything that the form does by itself."""
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
