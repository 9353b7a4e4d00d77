"""The pictures of a run that is started here, at once: the worker would write the same ones when it begins."""

from collections.abc import Sequence

from jobs.store import Run
from jobs.templates import barycenter_looks
from ui.barycenter.preview import Preview, mass_of
from ui.images import ImageCard


def leave_looks(run: Run, preview: Preview, cards: Sequence[ImageCard], invert: bool) -> None:
    """Write the pictures into the run folder.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    barycenter_looks.leave_looks(run, preview.density, [mass_of(card, invert) for card in cards])
