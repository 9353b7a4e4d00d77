"""Overlapping voids made one: the polygon around them, when they are taken, and what it may cost."""

from dataclasses import replace

import numpy as np
import pytest

from topopt.features import Ellipse, Settings, optimize
from topopt.features.merging import around, merged
from topopt.features.shapes import RoundedPolygon
from topopt.features.validity import Rules, violations

RULES = Rules(edge=0.03, radius=0.01)


def box(x0: float, y0: float, x1: float, y1: float, radius: float) -> RoundedPolygon:
    return RoundedPolygon.with_radii(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), radius)


def test_two_boxes_in_line_become_the_box_around_them():
    one = around([box(0, 0, 1, 1, 0.2), box(0.8, 0, 1.8, 1, 0.2)], RULES)
    assert one is not None and len(one.vertices) == 4
    assert one.area == pytest.approx(1.8 - (4 - np.pi) * 0.2**2, rel=1e-9)
    assert one.radii == pytest.approx([0.2] * 4)
    assert violations(one, RULES) == []


@pytest.mark.parametrize("seed", range(5))
def test_what_is_put_around_holds_the_corners_of_the_hull_and_is_valid(seed):
    draw = np.random.default_rng(seed)
    boxes = []
    for _ in range(3):
        (x, y), (width, height) = draw.uniform(0, 0.5, 2), draw.uniform(0.4, 1, 2)
        boxes.append(box(x, y, x + width, y + height, 0.1))
    one = around(boxes, RULES)
    assert one is not None and violations(one, RULES) == []
    assert one.area >= max(b.area for b in boxes)
    low, high = np.min([b.bounds[0] for b in boxes], 0), np.max([b.bounds[1] for b in boxes], 0)
    assert (one.bounds[0] <= low + 1e-9).all() and (one.bounds[1] >= high - 1e-9).all()


def test_voids_that_overlap_are_taken_and_others_are_not(problem):
    left, right = box(0.3, 0.1, 0.6, 0.3, 0.03), box(0.5, 0.1, 0.8, 0.3, 0.03)
    far, round_ = box(0.95, 0.1, 1.1, 0.3, 0.03), Ellipse((0.2, 0.2), 0.05, 0.05)
    shapes = (left, right, far, round_)
    found = merged(problem, shapes, RULES, 0.01, tuple, lambda proposed: 1.0)
    assert len(found) == 3 and found[:2] == (far, round_)
    assert found[2].area == pytest.approx(0.5 * 0.2 - (4 - np.pi) * 0.03**2, rel=1e-9)


def test_a_plate_that_would_be_weaker_stays_as_it_was(problem):
    shapes = (box(0.3, 0.1, 0.6, 0.3, 0.03), box(0.5, 0.1, 0.8, 0.3, 0.03))
    stiffness = {2: 1.0, 1: 1.02}
    assert merged(problem, shapes, RULES, 0.01, tuple, lambda s: stiffness[len(s)]) == shapes


def test_a_tidy_design_is_simpler_valid_and_costs_no_more_than_was_allowed(problem):
    settings = Settings(iterations=50, soft=5, sharp=35, steady=25)
    plain = optimize(problem, settings)
    tidy = optimize(problem, replace(settings, tidy=0.02))
    assert len(tidy.shapes) < len(plain.shapes)
    assert tidy.invalid == {}
    assert tidy.thresholded <= 1.02 * plain.thresholded
    assert tidy.thresholded_volume == pytest.approx(problem.goal, rel=2e-3)
