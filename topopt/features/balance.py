"""Outlines and the cells that they leave brought to the same volume.

The volume of a design is that of its cells, each in or out by one point. Cells beside a straight border of the domain
stand in rows; where a long edge of a void runs along such rows it may pass just beyond one of them, and the outline
then holds up to half a row more than is counted (or less), along its whole length. No uniform change cures that, since
it moves the count by whole rows. So single features are grown or shrunk a little, those along rows and others against
them, until the area of the outlines and the count are both near the goal.

The area is measured at the same points by a ramp in place of a step,

    A = sum_e a_e clip(1/2 - d_e / w, 0, 1),   w = sqrt(3)/2 h

whose width is the distance of the rows of equilateral triangles: over rows so far apart it is exact for every place of
an edge along them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topopt.features.distance import signed_distance
from topopt.features.offset import grown
from topopt.features.problem import FeatureProblem
from topopt.features.shapes import Shape

Field = NDArray[np.float64]

ROWS = float(np.sqrt(3) / 2)  # distance of rows, in element sizes
REACH = 0.35  # of an element: how far an edge may move
STEPS = 15  # places that are tried for each feature, an odd number
SWEEPS = 6
EFFORT = 1e-8  # of a move by one element, against squares of volume fractions


def outline_share(problem: FeatureProblem, shapes: Sequence[Shape]) -> float:
    """Share of the domain that the outlines leave, whatever row an edge passes."""
    return _share(problem, _inside(problem, signed_distance(problem.plate.points, shapes).max(0, initial=-np.inf)))


def balanced(problem: FeatureProblem, shapes: Sequence[Shape], goal: float) -> tuple[Shape, ...]:
    """The shapes, each grown or shrunk by at most a third of an element, with area and count as near `goal` as found.

    Coordinate descent over the features on the squares of both misses; the same for the same input.
    """
    offsets = np.linspace(-REACH, REACH, STEPS) * problem.plate.h
    forms = [[grown(shape, float(by)) for by in offsets] for shape in shapes]
    d = np.array([signed_distance(problem.plate.points, row) for row in forms])  # (n, STEPS, m)
    effort = EFFORT * (offsets / problem.plate.h) ** 2
    chosen = np.full(len(shapes), STEPS // 2)
    for _ in range(SWEEPS):
        before = chosen.copy()
        for i in range(len(shapes)):
            others = np.arange(len(shapes)) != i
            rest = d[others, chosen[others]].max(0, initial=-np.inf)
            misses = [_misses(problem, np.maximum(rest, row), goal) for row in d[i]]
            chosen[i] = int(np.argmin(np.array(misses) + effort))
        if (chosen == before).all():
            break
    return tuple(row[k] for row, k in zip(forms, chosen, strict=True))


def _misses(problem: FeatureProblem, d: Field, goal: float) -> float:
    """Squares of what area and count are away from the goal. d : (m,), positive within a feature."""
    count = _weighted(problem, _inside(problem, d) > 0)
    return (_share(problem, _inside(problem, d)) - goal) ** 2 + (count - goal) ** 2


def _inside(problem: FeatureProblem, d: Field) -> Field:
    """Signed distance that is positive within the material, (m,)."""
    return d if problem.solid else -d


def _share(problem: FeatureProblem, d: Field) -> float:
    return _weighted(problem, np.clip(0.5 + d / (ROWS * problem.plate.h), 0, 1))


def _weighted(problem: FeatureProblem, part: NDArray) -> float:
    areas = problem.plate.areas
    return float(areas @ np.where(problem.kept, 1.0, part) / areas.sum())
