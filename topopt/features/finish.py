"""The end of a run: features that vanished go, the rest become valid for good, and the volume meets the goal.

It does so twice: by the count of cells, and, within a small misfit, by the area of the outlines; see `balance`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topopt.features.balance import balanced, outline_share
from topopt.features.bridges import bridges, widened
from topopt.features.distance import signed_distance
from topopt.features.merging import merged
from topopt.features.offset import grown
from topopt.features.problem import FeatureProblem, Settings
from topopt.features.shapes import Shape
from topopt.features.state import Info, State
from topopt.features.validity import corrected, violations

if TYPE_CHECKING:
    from topopt.features.design import FeatureDesign

Field = NDArray[np.float64]

ROUNDS = 4
BRIDGE_ROUNDS = 12
MISFIT = 1e-3  # of the domain: so far the area of the outlines may be from the goal that their cells meet
FORGIVEN = 0.96  # of the limits on lengths: the last change of volume may take so much


@dataclass(frozen=True)
class Result:
    """A finished design.

    Attributes:
        shapes: voids, or bars, as exact outlines; those that no cell felt are gone.
        rho: (m,) smooth densities. u: (cases, nodes, 2) displacements of that field.
        smooth, volume: compliance (N mm) and volume fraction of the smooth field.
        thresholded, thresholded_volume: of the cells whose points lie in the material of the outlines.
        thickness: mm, where it was a variable.
        invalid: number of a shape -> what is wrong with it; empty for a design that may leave.
    """

    problem: FeatureProblem
    settings: Settings
    shapes: tuple[Shape, ...]
    rho: Field
    u: Field
    smooth: float
    volume: float
    thresholded: float
    thresholded_volume: float
    invalid: dict[int, list[str]]
    thickness: float | None = None
    history: tuple[Info, ...] = field(default=(), repr=False)

    @property
    def iterations(self) -> int:
        return len(self.history)


def finished(design: "FeatureDesign", state: State, features: Field, thickness: float | None) -> Result:
    """See `FeatureDesign.finish`."""
    p, s = design.problem, design.settings
    scale = 1.0 if thickness is None or p.thickness is None else thickness / p.thickness[1]
    stiffer = 1.0 if thickness is None else thickness / p.plate.thickness
    shapes = _settled(design, cleaned(p, design.backend.shapes(features), s.fewest), p.goal / scale)
    if s.tidy and not p.solid:
        shapes = _tidied(design, shapes, p.goal / scale)
    solid = material(p, shapes)
    sharp = p.plate.response(np.where(solid, 1.0, 0.0))
    h = design.problem.plate.h
    k = s.k(max(state.iteration, s.sharp), h)
    exact = 1 / (1 + np.exp(-np.clip(k * signed_distance(p.plate.points, shapes), -700, 700)))
    rho = np.where(p.kept, 1.0, design.union.density(exact))
    smooth = p.plate.response(rho)
    wrong = {i: why for i, shape in enumerate(shapes) if (why := violations(shape, design.rules, FORGIVEN))}
    if not p.solid:
        for bridge in bridges(shapes, design.border, FORGIVEN * s.bridge):
            other = "the border" if bridge.second < 0 else f"feature {bridge.second}"
            reason = f"{bridge.width:.4g} mm to {other}, {s.bridge:g} mm is the least"
            wrong.setdefault(bridge.first, []).append(reason)
    return Result(
        p,
        s,
        shapes,
        rho,
        smooth.u,
        smooth.compliance / stiffer,
        scale * float(design.share @ rho),
        sharp.compliance / stiffer,
        scale * float(design.share @ solid),
        wrong,
        thickness,
        state.history,
    )


def _settled(design: "FeatureDesign", shapes: Sequence[Shape], goal: float) -> tuple[Shape, ...]:
    """Valid for good, and at the goal."""
    p, s = design.problem, design.settings
    shapes = tuple(shapes)
    for _ in range(BRIDGE_ROUNDS if s.bridge else ROUNDS):
        shapes = corrected(shapes, design.rules, 2000)
        if s.bridge and not p.solid:
            shapes = widened(shapes, design.border, s.bridge, 30)
        shapes = met(p, shapes, goal)
        if not _wrong(design, shapes):
            break
    return _evened(design, shapes, goal)


def _evened(design: "FeatureDesign", shapes: tuple[Shape, ...], goal: float) -> tuple[Shape, ...]:
    """The same where area and count agree; else with single features changed until they do, if all stay valid."""
    p, s = design.problem, design.settings
    found, best = shapes, abs(outline_share(p, shapes) - goal)
    for _ in range(ROUNDS):
        if best <= MISFIT:
            break
        found = corrected(balanced(p, found, goal), design.rules, 2000)
        if s.bridge and not p.solid:
            found = widened(found, design.border, s.bridge, 30)
        found = met(p, found, goal)
        miss = abs(outline_share(p, found) - goal)
        if miss < best and (not _wrong(design, found) or _wrong(design, shapes)):
            shapes, best = found, miss
    return shapes


def _wrong(design: "FeatureDesign", shapes: Sequence[Shape]) -> bool:
    s = design.settings
    if not design.problem.solid and bridges(shapes, design.border, FORGIVEN * s.bridge):
        return True
    return any(violations(shape, design.rules, FORGIVEN) for shape in shapes)


def _tidied(design: "FeatureDesign", shapes: tuple[Shape, ...], goal: float) -> tuple[Shape, ...]:
    """Overlapping voids made one where the thresholded plate stays as stiff; see `merging`."""
    p, s = design.problem, design.settings

    def settle(proposed: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return _settled(design, cleaned(p, proposed, s.fewest), goal)

    def judge(proposed: tuple[Shape, ...]) -> float:
        if _wrong(design, proposed) and not _wrong(design, shapes):
            return np.inf
        return p.plate.response(np.where(material(p, proposed), 1.0, 0.0)).compliance

    return merged(p, shapes, design.rules, s.tidy, settle, judge)


def material(problem: FeatureProblem, shapes: Sequence[Shape]) -> NDArray[np.bool_]:
    """Which cells (m,) hold material, by their points."""
    inside = (signed_distance(problem.plate.points, shapes) > 0).any(0)
    return problem.kept | (inside if problem.solid else ~inside)


def cleaned(problem: FeatureProblem, shapes: Sequence[Shape], fewest: int = 3) -> tuple[Shape, ...]:
    """Without the features that hold fewer points than `fewest`, or only points that another one holds too."""
    inside = signed_distance(problem.plate.points, shapes) > 0
    keep = inside.sum(1) >= fewest
    for i in np.argsort(inside.sum(1), kind="stable"):
        others = inside[keep & (np.arange(len(shapes)) != i)]
        if keep[i] and len(others) and not (inside[i] & ~others.any(0)).any():
            keep[i] = False
    return tuple(shape for shape, stays in zip(shapes, keep, strict=True) if stays)


def met(problem: FeatureProblem, shapes: Sequence[Shape], goal: float) -> tuple[Shape, ...]:
    """All features grown by the same amount so that the cells with material make up the goal, or just less."""
    share = problem.plate.areas / problem.plate.areas.sum()
    sign = -1.0 if problem.solid else 1.0

    def volume(by: float) -> float:
        return float(share @ material(problem, [grown(shape, sign * by) for shape in shapes]))

    reach = 0.25 * problem.plate.h
    low, high = -reach, reach  # too much material at low, little enough at high
    if not shapes or volume(low) <= goal:
        return tuple(grown(shape, sign * low) for shape in shapes)
    for _ in range(20):
        if volume(high) <= goal:
            break
        low, high = high, 2 * high
    for _ in range(40):
        middle = 0.5 * (low + high)
        if volume(middle) > goal:
            low = middle
        else:
            high = middle
    return tuple(grown(shape, sign * high) for shape in shapes)


def bodies(problem: FeatureProblem, shapes: Sequence[Shape], triangles: NDArray[np.int64], fewest: int = 3) -> int:
    """How many pieces of at least so many cells those with material form, joined across edges. triangles : (m, 3)

    Single cells beside an edge of a void are a matter of the mesh, not of the outline.
    """
    solid = np.flatnonzero(material(problem, shapes))
    edges = np.sort(triangles[solid][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), 1)
    _, edge = np.unique(edges, axis=0, return_inverse=True)
    cell = np.repeat(np.arange(len(solid)), 3)
    graph = coo_array((np.ones(len(cell)), (cell, len(solid) + edge)), shape=(len(solid) + edge.max() + 1,) * 2)
    _, label = connected_components(graph, directed=False)
    return int((np.bincount(label[: len(solid)]) >= fewest).sum())
