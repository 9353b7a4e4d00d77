"""The page for problems of PDE-constrained optimisation, at /pde."""

from pathlib import Path
from typing import Any

import gradio as gr

from jobs.launch import start, start_both
from jobs.store import Run
from ui.frame import frame
from ui.pde import setup
from ui.pde.asked import Asked
from ui.pde.checks import checked_jobs


def add(pages: gr.Blocks, root: Path) -> None:
    """Make it a further page of an application, over the runs under `root`."""
    form = setup.Setup()
    with pages.route("PDE", "pde", show_in_navbar=False) as page:
        frame(page, "PDE", root, form, draw=setup.build, ask=Asked, begin=begin)
        setup.wire_form(form)


def begin(asked: dict[str, Any], root: Path) -> Run:
    """Start what the form asks for; -> the run, or the first of the two that are compared.

    Raises:
        JobError: it is not complete. RunFolderError: the folder of the run cannot be written.
    """
    first, *second = checked_jobs(asked)
    return start_both(first, second[0], root)[0] if second else start(first, root)
