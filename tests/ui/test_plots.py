"""The convergence plot: drawn points lie where their values say."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui import plots
from ui.words import bytes_text, duration, figure, lengths, percent


def rows(compliances: list[float]) -> list[dict[str, float]]:
    return [{"iteration": k, "compliance": c, "volume": 0.3, "grey": 0.5} for k, c in enumerate(compliances, start=1)]


def drawn(svg: str, key: str) -> np.ndarray:
    points = re.search(rf'class="line {key}" points="([^"]+)"', svg)
    assert points
    return np.array([[float(v) for v in p.split(",")] for p in points[1].split()])


def test_points_are_where_the_axis_says() -> None:
    svg = plots.convergence(rows([40.0, 30.0, 20.0, 10.0, 0.0]))
    points = drawn(svg, "compliance")
    # Equal steps of the values are equal steps of the line, and larger is higher up.
    assert np.allclose(np.diff(points[:, 1]), plots.HEIGHT / 4, atol=0.11)
    assert np.allclose(np.diff(points[:, 0]), (plots.WIDTH - plots.LEFT - plots.RIGHT) / 5, atol=0.11)
    assert points[0, 1] == pytest.approx(plots.TOP, abs=0.06)
    ElementTree.fromstring(svg)


def test_wild_start_does_not_flatten_the_rest() -> None:
    values = [5000.0, 900.0, *np.linspace(120, 100, 60)]
    points = drawn(plots.convergence(rows(values)), "compliance")
    settled = points[10:, 1]
    assert settled.max() - settled.min() > 0.2 * plots.HEIGHT


def test_too_little_to_draw_is_said() -> None:
    assert "<svg" not in plots.convergence([])
    assert "<svg" not in plots.convergence(rows([1.0]))


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=2, max_size=30))
def test_any_numbers_give_a_well_formed_picture(values: list[float]) -> None:
    text = plots.convergence(rows(values))
    ElementTree.fromstring(text)
    assert "nan" not in text and "inf" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.345678, "12.35"),
        (0.01382, "0.01382"),
        (334739.2, "334\u2009739"),
        (1.2e-7, "1.200e-07"),
        (0, "0"),
        (90, "90"),
        (-2000.0, "-2000"),
        (None, "–"),
        (float("nan"), "–"),
        (True, "–"),
    ],
)
def test_figures(value: object, text: str) -> None:
    assert figure(value) == text


def test_other_words() -> None:
    assert percent(0.0152, signed=True) == "+1.5\u2009%" and percent(None) == "–"
    assert (
        duration(8.4) == "8\u2009s"
        and duration(125) == "2\u2009min 05\u2009s"
        and duration(4800) == "1\u2009h 20\u2009min"
    )
    assert duration(float("inf")) == "–" and duration(-1) == "–"
    assert (
        bytes_text(820) == "820\u2009B"
        and bytes_text(599_000) == "599\u2009kB"
        and bytes_text(1_234_567) == "1.2\u2009MB"
    )
    assert lengths([120.0, 80.004, 0.5]) == "120 × 80 × 0.5"
