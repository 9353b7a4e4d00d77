"""The page for designs made of features, at /features."""

from pathlib import Path
from typing import Any

import gradio as gr

from jobs.launch import start
from jobs.store import Run
from ui.features import setup
from ui.features.asked import Asked
from ui.features.checks import checked_job
from ui.features.fields import Setup
from ui.features.uploads import with_card
from ui.frame import frame


def add(pages: gr.Blocks, root: Path) -> None:
    """Make it a further page of an application, over the runs under `root`."""
    form = Setup()
    with pages.route("Features", "features", show_in_navbar=False) as page:
        frame(page, "Features", root, form, draw=setup.build, ask=Asked, begin=begin)
        setup.wire_form(form, root)


def begin(asked: dict[str, Any], root: Path) -> Run:
    """Start what the form asks for.

    Raises:
        JobError: it is not complete. RunFolderError: the folder of the run cannot be written.
    """
    return start(checked_job(with_card(asked, root)), root)
