"""Volume fractions against exact volumes, and the open surface that a volume check would miss."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pde.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.read import read_body
from topopt.errors import BodyError, DesignError
from topopt.solids import ball, cuboid
from topopt.voxels import _ray_offsets, grid_for, volume_fractions

PARTS = Path(__file__).parents[2] / "assets" / "parts"


@pytest.fixture(scope="module")
def bracket():
    return read_body(PARTS / "bracket.stl").surface


@pytest.mark.parametrize(("size", "bound"), [(4, 4e-4), (2, 2e-4), (1, 1e-4)])
def test_bracket_volume(bracket, size, bound):
    grid = grid_for(bracket, size=size)
    assert grid.shape == (120 // size, 80 // size, 60 // size)
    assert grid.origin == pytest.approx((-60, -40, 0))
    fractions = volume_fractions(bracket, grid, drop=0)
    assert fractions.sum() * grid.element_volume == pytest.approx(bracket.volume, rel=bound)


def test_more_rays_come_closer(bracket):
    grid = grid_for(bracket, size=4)
    few, many = (
        volume_fractions(bracket, grid, samples, drop=0).sum() * 64 / bracket.volume - 1 for samples in (2, 20)
    )
    assert abs(many) < 3e-4
    assert abs(few) > 10 * abs(many)


def test_symmetric_bodies_have_symmetric_fractions(bracket):
    fractions = volume_fractions(bracket, grid_for(bracket, size=3), drop=0)
    # To the ten-thousandth of a voxel by which the rays are moved, times the rays of a voxel that it may cost.
    np.testing.assert_allclose(fractions, fractions[::-1], atol=2e-3)
    np.testing.assert_allclose(fractions, fractions[:, ::-1], atol=2e-3)


def test_a_box_between_the_raster_gets_the_exact_fractions():
    low, high = np.array([0.25, 0.5, 0.3]), np.array([2.875, 2.0, 1.9])
    fractions = volume_fractions(cuboid(low, high), Grid((3, 2, 2)))
    x, y, z = [0.75, 1, 0.875], [0.5, 1.0], [0.7, 0.9]  # across, walls are seen to the eighth of a voxel
    np.testing.assert_allclose(fractions, np.einsum("i,j,k->ijk", x, y, z), atol=1e-12)


def test_axes_are_not_mixed_up():
    grid = Grid((5, 6, 7))
    fractions = volume_fractions(cuboid(np.array([1.0, 2, 3]), np.array([2.0, 4, 6])), grid)
    expected = np.zeros(grid.shape)
    expected[1:2, 2:4, 3:6] = 1
    np.testing.assert_array_equal(fractions, expected)


def test_the_all_solid_body_fills_the_grid_exactly():
    surface = cuboid(np.array([-3.0, 1, 2]), np.array([5.0, 5, 8]))
    np.testing.assert_array_equal(volume_fractions(surface, grid_for(surface, size=2)), np.ones((4, 2, 3)))


@given(st.integers(0, 10**6), st.integers(6, 40), st.floats(0.5, 1.5), st.integers(1, 4))
def test_random_convex_bodies(seed, count, size, samples):
    """Against the half-spaces of the hull: a ray is inside between the highest lower and the lowest upper plane."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(np.random.default_rng(seed).normal(size=(count, 3)) * [4, 3, 5])
    surface = outward(hull.points, hull.simplices)
    assert surface.volume == pytest.approx(hull.volume, rel=1e-9)
    grid = grid_for(surface, size=size)
    bottoms = grid.node_axes()[2][:-1]
    expected = np.zeros(grid.shape)
    for offset in _ray_offsets(samples):
        x, y = (o + size * (np.arange(n) + d) for o, n, d in zip(grid.origin, grid.shape, offset, strict=False))
        a, b, c, d = hull.equations.T[:, :, None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = -(a * x[:, None] + b * y + d) / c
        low, high = np.where(c < 0, z, -np.inf).max(axis=0), np.where(c > 0, z, np.inf).min(axis=0)
        filled = np.minimum(high[..., None], bottoms + size) - np.maximum(low[..., None], bottoms)
        expected += np.clip(filled, 0, None) / size / samples**2
    np.testing.assert_allclose(volume_fractions(surface, grid, samples, drop=0), expected, atol=1e-6)


def outward(points: np.ndarray, triangles: np.ndarray) -> Surface:
    used, compact = np.unique(triangles, return_inverse=True)
    surface = Surface(points[used], compact.reshape(-1, 3).astype(np.int64))
    inward = np.einsum("ij,ij->i", surface.normals, surface.corners.mean(axis=1) - surface.vertices.mean(axis=0)) < 0
    faces = surface.faces.copy()
    faces[inward] = faces[inward, ::-1]
    return Surface(surface.vertices, faces)


def test_a_cavity_stays_empty():
    outer, inner = ball(np.zeros(3), 8), ball(np.zeros(3), 5)
    shell = Surface(
        np.concatenate([outer.vertices, inner.vertices]),
        np.concatenate([outer.faces, inner.faces[:, ::-1] + len(outer.vertices)]),
    )
    fractions = volume_fractions(shell, Grid((18, 18, 18), 1.0, (-9, -9, -9)))
    assert fractions[9, 9, 9] == 0
    assert fractions.sum() == pytest.approx(4 / 3 * np.pi * (512 - 125), rel=2e-3)


def test_what_reaches_beyond_the_grid_is_cut_off():
    surface = cuboid(np.array([-10.0, -10, -10]), np.array([10.0, 10, 10]))
    np.testing.assert_array_equal(volume_fractions(surface, Grid((3, 3, 3))), np.ones((3, 3, 3)))


def test_vertices_on_the_raster_and_on_the_rays_do_no_harm():
    # Corners at the very places of the rays: (i + 1/2) / 8 of a voxel.
    surface = cuboid(np.array([0.0625, 0.1875, 0.0]), np.array([2.0625, 2.1875, 2.0]))
    fractions = volume_fractions(surface, Grid((3, 3, 2)))
    assert fractions.sum() == pytest.approx(8, abs=1e-9)


def test_slivers_are_dropped_to_exactly_nothing():
    surface = cuboid(np.zeros(3), np.array([1.0, 1.0, 1.019]))
    np.testing.assert_array_equal(volume_fractions(surface, Grid((1, 1, 2)))[0, 0], [1, 0])
    np.testing.assert_allclose(volume_fractions(surface, Grid((1, 1, 2)), drop=0)[0, 0], [1, 0.019])


def test_the_same_input_gives_the_same_bits(bracket):
    grid = grid_for(bracket, size=3.7)
    np.testing.assert_array_equal(volume_fractions(bracket, grid), volume_fractions(bracket, grid))


def test_an_open_surface_is_found_by_its_rays(bracket):
    up = np.argsort(-np.abs(bracket.normals[:, 2]))[:1]
    faces = np.delete(bracket.faces, up, axis=0)
    with pytest.raises(BodyError, match=r"open or has flipped triangles: \d+ of \d+ rays"):
        volume_fractions(Surface(bracket.vertices, faces), grid_for(bracket, size=2))


def test_a_flipped_triangle_is_found_by_its_rays(bracket):
    faces = bracket.faces.copy()
    large = np.argmax(np.abs(bracket.normals[:, 2]))
    faces[large] = faces[large, ::-1]
    with pytest.raises(BodyError, match="rays enter it more or less often"):
        volume_fractions(Surface(bracket.vertices, faces), grid_for(bracket, size=2))


def test_inside_out_and_overlapping_surfaces_are_refused():
    box = cuboid(np.zeros(3), np.full(3, 2.0))
    grid = Grid((2, 2, 2))
    with pytest.raises(BodyError, match="inside out"):
        volume_fractions(Surface(box.vertices, box.faces[:, ::-1]), grid)
    twice = Surface(np.concatenate([box.vertices] * 2), np.concatenate([box.faces, box.faces + 8]))
    with pytest.raises(BodyError, match="overlaps itself"):
        volume_fractions(twice, grid)


def test_grids_are_aligned_where_the_body_allows_it():
    surface = cuboid(np.array([1.0, 2, 3]), np.array([7.0, 5.5, 3.5]))
    grid = grid_for(surface, size=1)
    assert grid.shape == (6, 4, 1)
    assert grid.origin == pytest.approx((1, 1.75, 2.75))


@pytest.mark.parametrize("count", [500, 50_000])
def test_grids_by_count_fill_the_body_with_about_as_many(bracket, count):
    grid = grid_for(bracket, count=count)
    inside = bracket.volume / grid.element_volume
    assert inside == pytest.approx(count, rel=0.1)
    # Walls across x and y are seen to the eighth of a voxel, so each may be off by half of that.
    h = grid.steps[0]
    slack = np.abs(bracket.normals[:, :2]).sum() * h / 16 / h**3
    assert volume_fractions(bracket, grid).sum() == pytest.approx(inside, abs=slack)


@pytest.mark.parametrize(("wish", "told"), [
    ({}, "one of the two"),
    ({"size": 1, "count": 9}, "one of the two"),
    ({"size": 0}, "`size` must be positive"),
    ({"size": float("nan")}, "`size` must be positive"),
    ({"count": 0}, "`count` must be at least 1"),
    ({"size": 0.001}, "raise the voxel `size`"),
])  # fmt: skip
def test_refusals_of_grids(wish, told):
    with pytest.raises(DesignError, match=told):
        grid_for(cuboid(np.zeros(3), np.full(3, 10.0)), **wish)


def test_refusals_of_fractions():
    box = cuboid(np.zeros(3), np.ones(3))
    with pytest.raises(DesignError, match="three-dimensional"):
        volume_fractions(box, Grid((2, 2)))
    with pytest.raises(DesignError, match="one ray"):
        volume_fractions(box, Grid((2, 2, 2)), samples=0)


@pytest.mark.parametrize(("count", "size"), [(100_000, 20 / 13), (42_000, 2.0)])
def test_a_count_prefers_sizes_that_divide_the_body(count, size):
    """120 x 80 x 60 mm: 1.496 mm would give 100 000 voxels, 20/13 mm divides all three extents; so does 2 mm."""
    body = read_body(PARTS / "bracket.step")
    grid = grid_for(body.surface, count=count)
    assert grid.spacing == pytest.approx((size,) * 3)
    assert abs(body.volume / grid.element_volume / count - 1) < 0.1
