"""The six test problems of the feature literature, and a seventh for the density method, as presets.

Geometry, supports and loads are those of the published comparison (Heaviside-SDF topology optimisation, ICML 2025):
unit modulus, nu = 0.3, plane strain, linear triangles, and the total load shared evenly by the nodes of its region.
The meshes are our own, of the published sizes. Volume goals are the smaller one of the best published volume of that
method and that of the thresholded density design, so a comparison never rests on more material.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topopt.cad.outline import PlanarLoad, PlanarSupport
from topopt.cad.region import Region
from topopt.cad.wires import polygon, rectangle
from topopt.features.domain import Domain, within
from topopt.features.errors import FeatureError
from topopt.features.layout import squares
from topopt.features.mesh import Mesh
from topopt.features.problem import FeatureProblem

Field = NDArray[np.float64]
Box = tuple[tuple[float, float], tuple[float, float]]

MESHES = Path(__file__).parents[2] / "assets" / "features"
STRIP = 1.5  # thickness of a kept strip, in element sizes


@dataclass(frozen=True)
class Task:
    """A test problem.

    Attributes:
        outline: corners, mm; an edge is divided evenly, so the ends of loads are corners where they must be nodes.
        h: element size, mm. stored: name of the mesh file.
        held: boxes (lowest, highest corner) of supports, and which components they hold.
        loaded: box whose nodes share `load`, N.
        goal: volume fraction for features. volume: for the density method.
        grid: start grid of voids, cells along x and y. strip: box that stays solid, under a distributed load.
        published: the best published value of the feature method, N mm.
    """

    name: str
    outline: tuple[tuple[float, float], ...]
    h: float
    held: tuple[tuple[Box, tuple[bool, bool]], ...]
    loaded: Box
    load: tuple[float, float]
    goal: float
    volume: float
    grid: tuple[int, int]
    published: float
    strip: Box | None = None
    stored: str = ""

    @property
    def region(self) -> Region:
        """The domain."""
        return Region(polygon(self.outline))

    def domain(self, anchors: tuple[tuple[float, float], ...] = ()) -> Domain:
        """Face, supports, load and strip. anchors: of the load, for the mesh of a finished outline."""
        supports = tuple(PlanarSupport(within(box), components) for box, components in self.held)
        load = PlanarLoad(within(self.loaded), self.load, anchors)
        keep = () if self.strip is None else (rectangle(*self.strip),)
        return Domain(self.region, supports, ((load,),), keep=keep)

    def mesh(self) -> Mesh:
        """The stored mesh, or one made by gmsh as the stored one was."""
        stored = MESHES / f"{self.stored or self.name}.npz"
        return Mesh.load(stored) if stored.exists() else self.domain().mesh(self.h)

    def anchors(self, mesh: Mesh) -> tuple[tuple[float, float], ...]:
        """Places of the loaded nodes of a mesh."""
        return tuple(map(tuple, mesh.nodes[within(self.loaded)(mesh.nodes)].tolist()))


def problem(number: int, grid: tuple[int, int] | None = None) -> FeatureProblem:
    """Task 1 to 7 with square voids on its start grid, or on another one.

    Raises:
        FeatureError: there is no such task.
    """
    one = task(number)
    domain, mesh = one.domain(), one.mesh()
    plate = domain.plate(mesh)
    return domain.problem(plate, one.goal, squares(plate, *(grid or one.grid)), one.name)


BOTH = (True, True)
SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
UNIT_H = 1 / 67  # four nodes share the load of task 5, as in the published mesh


def _left(height: float) -> tuple[tuple[Box, tuple[bool, bool]], ...]:
    return ((((0, 0), (0, height)), BOTH),)


TASKS: dict[int, Task] = {
    1: Task(
        "tall_cantilever",
        ((0, 0), (0.25, 0), (0.25, 0.6), (0, 0.6)),
        0.6 / 121,  # an odd number of edges along the load's side: ten nodes share it, as in the published mesh
        _left(0.6),
        ((0.25, 0.275), (0.25, 0.325)),
        (0, -0.0025),
        goal=0.2540,
        volume=0.26,
        grid=(2, 5),
        published=3.814e-5,
    ),
    2: Task(
        "bracket",
        ((0, 0), (1.5, 0), (1.5, 0.5), (1.0, 0.5), (0.5, 0.5), (0.5, 1.5), (0, 1.5)),
        0.5 / 30,
        ((((0, 1.5), (0.5, 1.5)), BOTH),),
        ((1.0, 0.5), (1.5, 0.5)),
        (0, -0.0025),
        goal=0.3454,
        volume=0.36,
        grid=(6, 6),
        published=1.917e-3,
        strip=((1.0, 0.5 - STRIP * 0.5 / 30), (1.6, 0.6)),
    ),
    3: Task(
        "mbb",
        ((0, 0), (1.2, 0), (1.2, 0.4), (0, 0.4)),
        0.01,
        ((((0, 0), (0, 0.4)), (True, False)), (((1.2, 0), (1.2, 0)), (False, True))),
        ((0, 0.4), (0, 0.4)),
        (0, -0.0025),
        goal=0.4289,
        volume=0.44,
        grid=(6, 2),
        published=1.545e-3,
    ),
    4: Task(
        "distributed",
        ((0, 0), (1, 0), (1, 0.5), (0, 0.5)),
        0.01,
        _left(0.5),
        ((0, 0.5), (1, 0.5)),
        (0, 0.0025),
        goal=0.3376,
        volume=0.34,
        grid=(6, 3),
        published=1.519e-4,
        strip=((-0.1, 0.5 - STRIP * 0.01), (1.1, 0.6)),
    ),
    5: Task(
        "square_cantilever",
        SQUARE,
        UNIT_H,
        _left(1),
        ((1, 0.47), (1, 0.53)),
        (0, 1.0),
        goal=0.4045,
        volume=0.41,
        grid=(5, 3),
        published=15.298,
        stored="square",
    ),
    6: Task(
        "square_beam",
        SQUARE,
        UNIT_H,
        _left(1),
        ((1, 0), (1, 0)),
        (0, 1.0),
        goal=0.4015,
        volume=0.41,
        grid=(4, 4),
        published=23.321,
        stored="square",
    ),
    7: Task(
        "square_distributed",
        SQUARE,
        UNIT_H,
        _left(1),
        ((0, 1), (1, 1)),
        (0, 1.0),
        goal=0.378,
        volume=0.41,
        grid=(4, 4),
        published=5.142,
        strip=((-0.1, 1 - STRIP * UNIT_H), (1.1, 1.1)),
        stored="square",
    ),
}


@cache
def task(number: int) -> Task:
    """Task 1 to 7.

    Raises:
        FeatureError: there is no such task.
    """
    if number not in TASKS:
        raise FeatureError(f"there is no task {number}: choose one of {', '.join(map(str, TASKS))}")
    return TASKS[number]


def store_meshes() -> None:
    """Make the stored meshes anew: `python -m topopt.features.tasks`."""
    MESHES.mkdir(parents=True, exist_ok=True)
    for one in TASKS.values():
        one.domain().mesh(one.h).save(MESHES / f"{one.stored or one.name}.npz")


if __name__ == "__main__":
    store_meshes()
