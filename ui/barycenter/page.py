"""The page for barycenters, at /barycenter."""

from pathlib import Path
from typing import Any

import gradio as gr

from jobs.launch import start
from jobs.store import Run
from ui.barycenter import setup
from ui.barycenter.asked import Asked, found
from ui.barycenter.checks import checked_job
from ui.barycenter.events import wire_form
from ui.barycenter.looks import leave_looks
from ui.barycenter.preview import previewed
from ui.frame import frame


def add(pages: gr.Blocks, root: Path) -> None:
    """Make it a further page of an application, over the runs under `root`."""
    form = setup.Setup()
    with pages.route("Barycenter", "barycenter", show_in_navbar=False) as page:
        frame(page, "Barycenter", root, form, draw=setup.build, ask=Asked, begin=begin, tab="preview")
        wire_form(form, root)


def begin(asked: dict[str, Any], root: Path) -> Run:
    """Start what the form asks for, and leave its pictures in the run folder.

    Raises:
        JobError: it is not complete. TransportError: an image cannot be a measure. RunFolderError: the folder of the
        run cannot be written.
    """
    cards = found(root, asked)
    job, preview = checked_job(asked, cards), previewed(asked, cards)
    run = start(job, root)
    leave_looks(run, preview, cards, asked["invert"])
    return run
