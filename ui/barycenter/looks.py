"""Small pictures that a run started here keeps, so that there is something to see before the worker is done.

looks/preview.png   the answer on 64 cells          looks/input-1.png ...   what was put in, as mass
"""

from collections.abc import Sequence

from jobs.store import Run, readable_errors
from ui.barycenter.preview import Preview, bright, mass_of, png_bytes
from ui.images import ImageCard


def leave_looks(run: Run, preview: Preview, cards: Sequence[ImageCard], invert: bool) -> None:
    """Write the pictures into the run folder.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    with readable_errors(run.folder):
        folder = run.folder / "looks"
        folder.mkdir(exist_ok=True)
        (folder / "preview.png").write_bytes(png_bytes(preview.density, bright(preview.density)))
        for number, card in enumerate(cards, start=1):
            (folder / f"input-{number}.png").write_bytes(png_bytes(mass_of(card, invert)))
