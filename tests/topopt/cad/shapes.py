"""Random shapes for property tests."""

import math

import numpy as np
from hypothesis import strategies as st

from topopt.cad.wires import Wire, rounded_polygon


@st.composite
def rounded_polygons(draw: st.DrawFn, lower: float = 10.0, upper: float = 50.0) -> Wire:
    """Star-shaped polygons, convex or not, with arcs that take at most 90 % of every edge."""
    n = draw(st.integers(3, 7))
    jitter = np.array(draw(st.lists(st.floats(-0.3, 0.3), min_size=n, max_size=n)))
    radius = np.array(draw(st.lists(st.floats(lower, upper), min_size=n, max_size=n)))
    share = np.array(draw(st.lists(st.floats(0.05, 0.45), min_size=n, max_size=n)))
    angle = 2 * np.pi * (np.arange(n) + jitter) / n
    p = np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    out = np.roll(p, -1, axis=0) - p
    length = np.hypot(*out.T)
    back = -np.roll(out / length[:, None], 1, axis=0)
    t = np.arccos(np.clip((back * out / length[:, None]).sum(axis=1), -1, 1))
    reach = share * np.minimum(length, np.roll(length, 1))
    return rounded_polygon(p, np.where(t < math.pi - 1e-3, reach * np.tan(t / 2), 0.0))
