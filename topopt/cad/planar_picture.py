"""The picture of a planar part, made from the file that leaves: its STEP is opened again, triangulated and drawn."""

from pathlib import Path

from topopt.cad.picture import View, render
from topopt.cad.read import read_body

SIZE = (1600, 1000)


def step_picture(step: Path, png: Path, *, view: View = "iso", size: tuple[int, int] = SIZE) -> bool:
    """Draw a STEP file in mm, whatever its size. False where nothing can be drawn.

    Raises:
        BodyError: the file is no single valid solid.
    """
    return render(read_body(step, "mm").surface, png, view=view, size=size)
