"""The frame of every page: the form and Run on the left; what is asked, the run and all runs on the right.

Handlers read folders, write a job and start a worker; none of them computes. What the browser knows of a run is its id.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import gradio as gr

from jobs.store import Run
from jobs.user_errors import user_errors
from ui.plain import html, update
from ui.run_view.shown import QUIET, Shown, wire_watch
from ui.top import top
from ui.words import escape


class Form(Protocol):
    """The left side of a page."""

    @property
    def inputs(self) -> list[Any]:
        """Every component that says what is asked."""
        ...

    def read(self, form: Mapping[Any, Any]) -> dict[str, Any]:
        """Their values by name."""
        ...


class Asked(Protocol):
    """The tab that shows what is asked before it runs."""

    @property
    def outputs(self) -> list[Any]: ...

    def look(self, values: Mapping[Any, Any]) -> list[Any]:
        """Values of `outputs`: all that follows from the form."""
        ...


def frame[F: Form, A: Asked](
    page: gr.Blocks,
    name: str,
    root: Path,
    form: F,
    *,
    draw: Callable[[F], None],
    ask: Callable[[F, Path], A],
    begin: Callable[[dict[str, Any], Path], Run],
    tab: str = "problem",
) -> A:
    """Lay a page out inside `page`, over the runs under `root`; -> its first tab.

    Args:
        name: of the page, as in `ui.top.PAGES`.
        draw: draws the form. ask: draws the first tab, whose id is `tab`.
        begin: checks what the form holds and starts the run; what it raises of `user_errors` is told above the button.
    """
    html(top(name), elem_id="top")
    with gr.Row(elem_id="board"):
        with gr.Column(elem_id="left"):
            draw(form)
            with gr.Column(elem_id="run-bar"):
                error = html("", elem_id="run-error")
                button = gr.Button("Run", variant="primary", elem_id="run")
        with gr.Column(elem_id="right"):
            with gr.Tabs(selected=tab) as tabs:
                asked = ask(form, root)
                shown = Shown(root, tabs)
            shown.remember()
    _wire_asked(page, form, asked)
    _wire_run(form, root, button, error, shown, begin)
    wire_watch(page, shown)
    return asked


# The components of one change report it one by one, and answers to questions asked at once may overtake each other, an
# older one last. So the browser counts changes, waits until no further one comes, and asks once.
SETTLED = """async (settled) => {
    const mine = window.changes = (window.changes ?? 0) + 1;
    await new Promise(done => setTimeout(done, 60));
    return mine === window.changes ? mine : settled;
}"""


def _wire_asked(page: gr.Blocks, form: Form, asked: Asked) -> None:
    """The first tab follows the form."""
    settled = gr.Number(0, visible="hidden", label="Changes")
    page.load(asked.look, set(form.inputs), asked.outputs, **QUIET)
    gr.on([component.change for component in form.inputs], None, settled, settled, js=SETTLED, **QUIET)
    settled.change(asked.look, set(form.inputs), asked.outputs, trigger_mode="always_last", **QUIET)


def _wire_run(
    form: Form,
    root: Path,
    button: gr.Button,
    error: Any,
    shown: Shown,
    begin: Callable[[dict[str, Any], Path], Run],
) -> None:
    """Run: check the form, start a worker, and show its folder."""

    def run(values: Mapping[Any, Any]) -> list[Any]:
        try:
            run_id = begin(form.read(values), root).folder.name
        except user_errors() as wrong:
            told = f'<p class="run-error" role="alert">{escape(wrong)}</p>'
            return [update(told), gr.skip(), gr.skip(), *shown.unchanged()]
        return [update(""), run_id, gr.Tabs(selected="run"), *shown.look(run_id, "")]

    button.click(run, set(form.inputs), [error, shown.run_id, shown.tabs, *shown.outputs], **QUIET)
