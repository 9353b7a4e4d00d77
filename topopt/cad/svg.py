"""SVG pictures of planar designs at true size: lines and elliptical arcs as SVG has them, no chords.

SVG's y points down; coordinates are turned here, not by a transformation, because some cutters ignore those.
"""

import math
from collections.abc import Sequence

from topopt.cad.drawing import Annotation
from topopt.cad.edges import Box, Edge, EllipseArc, Line, Point
from topopt.cad.region import Region
from topopt.cad.wires import Wire, bounds_of
from topopt.errors import ExportError

FILL = "#c8d3dc"
_MARGIN = 0.1  # of the larger side
_STROKE = 0.003
_TURN = 0.75 * math.pi


def svg_text(
    regions: Sequence[Region],
    annotation: Annotation | None = None,
    *,
    name: str = "part",
    fills: Sequence[str] = (FILL,),
) -> str:
    """The file's content. One user unit is a millimetre. Each region is one path with the id `outline-N`.

    Args:
        fills: colours of the first regions, in their order; the last one serves the rest.

    Raises:
        ExportError: there is nothing to draw.
    """
    if not regions:
        raise ExportError("there is no region to draw")
    lower, upper = bounds_of(region.outer for region in regions)
    side = max(upper[0] - lower[0], upper[1] - lower[1])
    page = _Page((lower, upper), _MARGIN * side)
    stroke = f'stroke="#1b2a36" stroke-width="{_number(_STROKE * side)}" stroke-linejoin="round"'
    colours = [fills[min(k, len(fills) - 1)] for k in range(len(regions))]
    paths = [
        f'<path id="outline-{k}" fill="{colour}" fill-rule="evenodd" {stroke} d="{page.path(region.wires)}"/>'
        for k, (region, colour) in enumerate(zip(regions, colours, strict=True), start=1)
    ]
    marks = page.marks(annotation, side) if annotation else []
    width, height = (_number(v) for v in page.size)
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}mm" height="{height}mm" '
            f'viewBox="0 0 {width} {height}">',
            f"<title>{_escaped(name)}</title>",
            *paths,
            *marks,
            "</svg>",
            "",
        ]
    )


class _Page:
    """Millimetres of the part to millimetres of the page."""

    def __init__(self, bounds: Box, margin: float) -> None:
        (x0, y0), (x1, y1) = bounds
        self.left, self.top = x0 - margin, y1 + margin
        self.size = (x1 - x0 + 2 * margin, y1 - y0 + 2 * margin)

    def at(self, point: Point) -> str:
        return f"{_number(point[0] - self.left)} {_number(self.top - point[1])}"

    def path(self, wires: Sequence[Wire]) -> str:
        return " ".join(
            f"M {self.at(wire.edges[0].start)} {' '.join(map(self._segment, wire.edges))} Z" for wire in wires
        )

    def marks(self, annotation: Annotation, side: float) -> list[str]:
        width = _number(2 * _STROKE * side)
        held = " ".join(f"M {self.at(p)} L {self.at(q)}" for p, q in annotation.supports)
        drawn = (
            [f'<path id="supports" fill="none" stroke="#2e8b57" stroke-width="{width}" d="{held}"/>'] if held else []
        )
        arrows = []
        for (x, y), (fx, fy) in annotation.loads:
            size = math.hypot(fx, fy)
            if size:
                dx, dy = 0.08 * side * fx / size, 0.08 * side * fy / size
                left, right = ((x - 0.3 * (dx - t * dy), y - 0.3 * (dy + t * dx)) for t in (0.5, -0.5))
                tail = self.at((x - dx, y - dy))
                arrows.append(f"M {tail} L {self.at((x, y))} M {self.at(left)} L {self.at((x, y))} L {self.at(right)}")
        if arrows:
            path = " ".join(arrows)
            drawn.append(f'<path id="loads" fill="none" stroke="#c0392b" stroke-width="{width}" d="{path}"/>')
        return drawn

    def _segment(self, edge: Edge) -> str:
        if isinstance(edge, Line):
            return f"L {self.at(edge.end)}"
        ellipse = isinstance(edge, EllipseArc)
        a, b = (edge.semi_major, edge.semi_minor) if ellipse else (edge.radius, edge.radius)
        turn = -math.degrees(edge.angle) if ellipse else 0.0
        # SVG finds the centre from both ends, which is ill-conditioned for a half turn; so no piece comes near one.
        n = math.ceil(abs(edge.sweep) / _TURN)
        ends = [edge.point(k / n) for k in range(1, n)] + [edge.end]
        shape = f"A {_number(a)} {_number(b)} {_number(turn)} 0 {int(not edge.ccw)}"
        return " ".join(f"{shape} {self.at(end)}" for end in ends)


def _number(value: float) -> str:
    return f"{value + 0.0:.10g}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
