"""Triangles that fit a region of lines and arcs, by gmsh in a process of its own.

gmsh gets the curves themselves, not chords: quadratic triangles lie on the arcs with all six nodes. Every edge is
divided evenly into as many pieces as come nearest to h, so a straight side that no void has touched gets the same nodes
in every design.
"""

import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topopt.cad.edges import Arc, Edge, EllipseArc, Line, Point, Points
from topopt.cad.region import Region
from topopt.errors import ReanalysisError

SECONDS = 120.0
_QUARTER = math.pi / 2
_CENTRE, _MAJOR = 1_000_000, 2_000_000  # where the numbers of auxiliary points begin
_BENT = 0.1  # least Jacobian of a curved triangle over that of the straight one
_FEWEST = math.pi / 3  # the longest turn that one side of a triangle spans


@dataclass(frozen=True)
class PlanarMesh:
    """Linear or quadratic triangles.

    Attributes:
        nodes: (n, 2), mm.
        triangles: (m, 3) or (m, 6) int64: corners counter-clockwise, then the middles of sides 12, 23, 31.
        border: (k, 2) or (k, 3) int64, sides on the border: ends, then the middle.
    """

    nodes: Points
    triangles: NDArray[np.int64]
    border: NDArray[np.int64]

    @property
    def order(self) -> int:
        """1 or 2."""
        return 1 if self.triangles.shape[1] == 3 else 2

    @cached_property
    def areas(self) -> NDArray[np.float64]:
        """Of the straight triangles through the corners, (m,), mm2."""
        a, b, c = np.moveaxis(self.nodes[self.triangles[:, :3]], 1, 0)
        return ((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])) / 2

    @property
    def components(self) -> int:
        """Number of connected pieces."""
        n = len(self.nodes)
        rows, columns = np.repeat(self.triangles[:, 0], 2), self.triangles[:, 1:3].ravel()
        graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
        _, label = connected_components(graph, directed=False)
        return len(np.unique(label[self.triangles[:, 0]]))


def mesh_region(
    region: Region, h: float, *, order: int = 1, anchors: Sequence[Point] = (), seconds: float = SECONDS
) -> PlanarMesh:
    """Fill a region with triangles of side h.

    Args:
        h: mm; edges of the outline that are shorter get one side each, and smaller triangles near them.
        order: 1 or 2.
        anchors: points on the border that must become nodes, such as the ends of a load; others are ignored.
        seconds: on the clock.

    Raises:
        ReanalysisError: h or the order is of no use, gmsh is not installed, cannot mesh the region or takes too long,
            or the mesh does not have the region's area.
    """
    if not (math.isfinite(h) and h > 0) or order not in (1, 2):
        raise ReanalysisError(f"the size h of triangles must be positive and their order 1 or 2, not {h} and {order}")
    mesh = _straightened(_gmsh(_script(region, h, anchors), order, seconds))
    # The sides of linear triangles are chords of arcs that turn by at most 60 degrees.
    miss, most = mesh.areas.sum() / region.area - 1, 2e-3 + 0.1 * h * region.length / region.area
    if not (mesh.areas > 0).all() or abs(miss) > most:
        raise ReanalysisError(f"the triangles have {miss:+.2%} too much area: mesh with a smaller h")
    return mesh


def _straightened(mesh: PlanarMesh) -> PlanarMesh:
    """Curved sides that bend a triangle almost inside out become chords. They are sides of coarse arcs near others."""
    if mesh.order == 1:
        return mesh
    x = mesh.nodes[mesh.triangles]
    worst = jacobians(x).min(axis=1) / (2 * mesh.areas)
    nodes = mesh.nodes.copy()
    for middle, (a, b) in ((3, (0, 1)), (4, (1, 2)), (5, (2, 0))):
        poor = worst < _BENT
        nodes[mesh.triangles[poor, middle]] = (x[poor, a] + x[poor, b]) / 2
    return PlanarMesh(nodes, mesh.triangles, mesh.border)


def jacobians(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Determinants of quadratic triangles at corners and middles of sides. x : (m, 6, 2) -> (m, 6), twice an area"""
    r, s = np.array([(0, 0), (1, 0), (0, 1), (0.5, 0), (0.5, 0.5), (0, 0.5)]).T
    t, nil = 1 - r - s, np.zeros(6)
    along_r = np.array([1 - 4 * t, 4 * r - 1, nil, 4 * (t - r), 4 * s, -4 * s])
    along_s = np.array([1 - 4 * t, nil, 4 * s - 1, -4 * r, 4 * r, 4 * (t - s)])
    u, v = (np.einsum("kq,mka->mqa", slopes, x) for slopes in (along_r, along_s))
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def _script(region: Region, h: float, anchors: Sequence[Point]) -> str:
    """The region in gmsh's own language."""
    points, curves, loops, number = [], [], [], 0
    for wire in region.wires:
        edges = [piece for edge in wire.edges for piece in _pieces(edge, anchors, 1e-9 * region.size)]
        first = number + 1
        for k, edge in enumerate(edges):
            start, end = first + k, first + (k + 1) % len(edges)
            points.append(f"Point({start}) = {{{edge.start[0]!r}, {edge.start[1]!r}, 0, {h!r}}};")
            if isinstance(edge, Line):
                curves.append(f"Line({start}) = {{{start}, {end}}};")
            else:
                points.append(f"Point({_CENTRE + start}) = {{{edge.centre[0]!r}, {edge.centre[1]!r}, 0, {h!r}}};")
                curves.append(_curve(edge, start, end, points, h))
            turn = 0.0 if isinstance(edge, Line) else abs(edge.sweep)
            sides = max(1, round(edge.length / h), math.ceil(turn / _FEWEST - 1e-9))
            curves.append(f"Transfinite Curve {{{start}}} = {sides + 1};")
        number += len(edges)
        loops.append(f"Curve Loop({len(loops) + 1}) = {{{first}:{number}}};")
    names = ", ".join(str(k + 1) for k in range(len(loops)))
    settings = [
        f"Mesh.MeshSizeMax = {h!r};",
        "Mesh.Algorithm = 6;",
        "Mesh.RandomSeed = 1;",
        "Mesh.MshFileVersion = 2.2;",
    ]
    return "\n".join([*points, *curves, *loops, f"Plane Surface(1) = {{{names}}};", *settings]) + "\n"


def _curve(edge: Arc | EllipseArc, start: int, end: int, points: list[str], h: float) -> str:
    centre = _CENTRE + start
    if isinstance(edge, Arc):
        return f"Circle({start}) = {{{start}, {centre}, {end}}};"
    x = edge.centre[0] + edge.semi_major * math.cos(edge.angle)
    y = edge.centre[1] + edge.semi_major * math.sin(edge.angle)
    points.append(f"Point({_MAJOR + start}) = {{{x!r}, {y!r}, 0, {h!r}}};")
    return f"Ellipse({start}) = {{{start}, {centre}, {_MAJOR + start}, {end}}};"


def _pieces(edge: Edge, anchors: Sequence[Point], near: float) -> list[Edge]:
    """The edge cut at its anchors if it is a line, and into quarter turns if it is an arc."""
    if isinstance(edge, Line):
        (x0, y0), (x1, y1) = edge.start, edge.end
        ux, uy = (x1 - x0) / edge.length, (y1 - y0) / edge.length
        cuts = []
        for x, y in anchors:
            along, beside = (x - x0) * ux + (y - y0) * uy, (x - x0) * uy - (y - y0) * ux
            if abs(beside) <= near and near < along < edge.length - near:
                cuts.append((along, (float(x), float(y))))
        stops = [edge.start, *(point for _, point in sorted(set(cuts))), edge.end]
        return [Line(p, q) for p, q in pairwise(stops)]
    n = max(1, math.ceil(abs(edge.sweep) / _QUARTER - 1e-9))
    stops = [edge.point(k / n) for k in range(n)] + [edge.end]
    if isinstance(edge, Arc):
        return [Arc(p, q, edge.centre, edge.radius, edge.ccw) for p, q in pairwise(stops)]
    axes = edge.semi_major, edge.semi_minor, edge.angle
    return [EllipseArc(p, q, edge.centre, *axes, edge.ccw) for p, q in pairwise(stops)]


def _gmsh(script: str, order: int, seconds: float) -> PlanarMesh:
    with tempfile.TemporaryDirectory(prefix="formgrad-") as folder:
        source, target = Path(folder) / "region.geo", Path(folder) / "region.msh"
        source.write_text(script, encoding="utf-8")
        command = [*_program(), str(source), "-2", "-order", str(order), "-nt", "1", "-v", "1", "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired as reason:
            raise ReanalysisError(f"the outline was not meshed within {seconds:.0f} s: take a larger h") from reason
        if done.returncode or not target.exists():
            words = [line for line in (done.stdout + done.stderr).splitlines() if "Error" in line] or [
                "no reason given"
            ]
            raise ReanalysisError(f"gmsh could not mesh the outline ({words[0].strip()}): take a smaller h")
        return _read(target.read_text(encoding="utf-8"))


def _program() -> list[str]:
    beside = Path(sys.executable).with_name("gmsh")
    if beside.exists():
        return [sys.executable, str(beside)]
    if found := shutil.which("gmsh"):
        return [found]
    raise ReanalysisError("meshing an outline needs gmsh, which is not installed here: pip install 'formgrad[mesh]'")


def _read(text: str) -> PlanarMesh:
    """A file of version 2.2. Sides are of type 1 and 8, triangles of type 2 and 9."""
    rows = _block(text, "Nodes")
    tags = np.array([int(row[0]) for row in rows])
    nodes = np.array([[float(v) for v in row[1:3]] for row in rows])
    number = np.zeros(tags.max() + 1, np.int64)
    number[tags] = np.arange(len(tags))
    rows = _block(text, "Elements")
    sides = [row[3 + int(row[2]) :] for row in rows if row[1] in ("1", "8")]
    cells = [row[3 + int(row[2]) :] for row in rows if row[1] in ("2", "9")]
    if not cells:
        raise ReanalysisError("gmsh found no area within the outline: check its wires")
    triangles, border = number[np.array(cells, int)], number[np.array(sides, int)]
    used, triangles = np.unique(triangles, return_inverse=True)
    place = np.full(len(nodes), -1)
    place[used] = np.arange(len(used))
    mesh = PlanarMesh(nodes[used], triangles.reshape(len(cells), -1), place[border])
    if (mesh.areas < 0).mean() > 0.5:
        swapped = mesh.triangles[:, [0, 2, 1]] if mesh.order == 1 else mesh.triangles[:, [0, 2, 1, 5, 4, 3]]
        return PlanarMesh(mesh.nodes, swapped, mesh.border)
    return mesh


def _block(text: str, name: str) -> list[list[str]]:
    found = re.search(rf"\${name}\s*\n\d+\s*\n(.*?)\${'End' + name}", text, re.DOTALL)
    if not found:
        raise ReanalysisError(f"gmsh wrote a mesh without {name.lower()}: check the outline")
    return [line.split() for line in found.group(1).splitlines()]
