"""Pixels to the region they cover."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import label

from pde.grid import Grid
from topopt.cad.pixel_outline import region_of_pixels
from topopt.errors import ExportError


def test_an_l_with_a_hole_has_ten_straight_sides():
    mask = np.ones((6, 6), bool)
    mask[3:, 3:] = False
    mask[1, 1] = False
    region = region_of_pixels(mask, Grid((6, 6), (2.0, 0.5), (10.0, 20.0)))
    assert (len(region.outer.edges), [len(hole.edges) for hole in region.holes]) == (6, [4])
    assert region.area == pytest.approx(26 * 2 * 0.5, rel=1e-12)
    assert region.outer.vertices.min(0).tolist() == [10, 20]
    assert region.outer.vertices.max(0).tolist() == [22, 23]


@given(arrays(bool, (5, 4)))
@settings(max_examples=60, deadline=None)
def test_the_area_is_that_of_the_pixels(mask):
    _, bodies = cast(tuple[np.ndarray, int], label(mask))
    if bodies == 1:
        assert region_of_pixels(mask, Grid((5, 4))).area == pytest.approx(mask.sum(), rel=1e-12)
    else:
        with pytest.raises(ExportError, match=f"form {bodies} bodies"):
            region_of_pixels(mask, Grid((5, 4)))


@given(st.integers(1, 4), st.integers(1, 4))
def test_a_mask_of_another_grid_is_refused(nx, ny):
    with pytest.raises(ExportError, match="must have the shape"):
        region_of_pixels(np.ones((nx, ny), bool), Grid((5, 5)))
