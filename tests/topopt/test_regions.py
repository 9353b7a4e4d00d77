"""Regions: what they contain, how far away they are, and the solids they become, against exact values."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topopt.cad.closed import check_closed
from topopt.cad.read import read_body
from topopt.errors import BodyError, DesignError
from topopt.regions import region

PARTS = Path(__file__).parents[2] / "assets" / "parts"
POINTS = np.random.default_rng(0).uniform(-20, 20, (4000, 3))

# name -> (region, volume of its solid)
SIMPLE = {
    "box": ({"box": {"min": [0, 0, 0], "max": [4, 5, 6]}}, 120),
    "cylinder": ({"cylinder": {"axis": "z", "center": [1, 2, 3], "radius": 4, "length": 10}}, np.pi * 160),
    "ranged": ({"cylinder": {"axis": "-x", "center": [9, 2, 3], "radius": 4, "range": [-3, 5]}}, np.pi * 128),
    "slanted": ({"cylinder": {"axis": [1, 1, 1], "center": [1, 2, 3], "radius": 3, "length": 8}}, np.pi * 72),
    "sphere": ({"sphere": {"center": [1, -2, 3], "radius": 6}}, 4 / 3 * np.pi * 216),
}


@pytest.fixture(scope="module")
def bracket():
    return read_body(PARTS / "bracket.stl")


@pytest.mark.parametrize("name", SIMPLE)
def test_solids_are_closed_and_of_exact_volume(name):
    spec, volume = SIMPLE[name]
    surface = region(spec, PARTS).surface()
    assert surface is not None
    check_closed(surface, name)
    assert surface.volume == pytest.approx(volume, rel=1e-9)


@pytest.mark.parametrize("name", SIMPLE)
def test_contained_volume_is_that_of_the_solid(name):
    spec, volume = SIMPLE[name]
    axis = np.arange(-20, 20, 0.25) + 0.125
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    assert region(spec, PARTS).contains(points).sum() * 0.25**3 == pytest.approx(volume, rel=0.01)


@pytest.mark.parametrize("name", SIMPLE)
def test_signed_distance_is_exact(name):
    """Against the boundary itself: a point at distance d, moved by d against the gradient, lies on it."""
    built = region(SIMPLE[name][0], PARTS)
    distance = built.signed_distance(POINTS)
    np.testing.assert_array_equal(built.contains(POINTS), distance <= 1e-9)
    step = 1e-6
    f = built.signed_distance
    gradient = np.stack([(f(POINTS + step * e) - f(POINTS - step * e)) / (2 * step) for e in np.eye(3)], axis=1)
    smooth = (
        np.abs(np.linalg.norm(gradient, axis=1) - 1) < 1e-3
    )  # away from the ridges where two faces are equally near
    assert smooth.mean() > 0.95
    feet = (POINTS - distance[:, None] * gradient)[smooth]
    np.testing.assert_allclose(built.signed_distance(feet), 0, atol=1e-4)


def test_range_is_measured_in_coordinates_along_the_axis():
    built = region({"cylinder": {"axis": "z", "center": [0, 0, 100], "radius": 5, "range": [0, 15]}}, PARTS)
    np.testing.assert_array_equal(
        built.contains(np.array([[0, 0, 0.1], [0, 0, 14.9], [0, 0, 15.1], [0, 0, 100]])), [1, 1, 0, 0]
    )


def test_a_cylinder_without_length_has_no_end():
    built = region({"cylinder": {"axis": "y", "center": [0, 0, 0], "radius": 5}}, PARTS)
    np.testing.assert_array_equal(built.contains(np.array([[4.9, 9000, 0], [5.1, 0, 0]])), [True, False])


def test_a_plane_means_the_slab_behind_it():
    built = region({"plane": {"point": [0, 0, 10], "normal": "z", "thickness": 4}}, PARTS)
    points = np.array([[500, 500, 9.0], [0, 0, 6.1], [0, 0, 5.9], [0, 0, 10.1]])
    np.testing.assert_array_equal(built.contains(points), [True, True, False, False])
    np.testing.assert_allclose(built.signed_distance(points), [-1, -0.1, 0.1, 0.1])
    surface = built.surface()
    assert surface is not None
    check_closed(surface, "slab")
    np.testing.assert_allclose(np.sort(np.unique(surface.vertices[:, 2].round(9))), [6, 10])
    assert surface.volume > 0


def test_a_body_from_a_file_lies_beside_the_job():
    built = region({"body": "bracket.stl"}, PARTS)
    points = np.array([[0, 0, 5.0], [0, 0, 38], [48, 28, 7], [48, 20, 7], [70, 0, 5]])
    np.testing.assert_array_equal(built.contains(points), [True, False, False, True, False])
    np.testing.assert_allclose(built.signed_distance(points), [-5, 15, 5, -3, 10], atol=0.01)
    with pytest.raises(BodyError, match="there is no file"):
        region({"body": "nothing.stl"}, PARTS)


def test_a_collar_goes_round_every_hole_it_is_put_on(bracket):
    built = region({"around": {"on": {"cylinder": {"radius": 5}}, "thickness": 4}}, PARTS, bracket)
    points = np.array([[48 + 8.9, 28, 7], [48 + 9.1, 28, 7], [48, 28, 7], [-48, -28 - 8.9, 1], [48, 34, 16], [0, 0, 5]])
    np.testing.assert_array_equal(built.contains(points), [True, False, False, True, False, False])
    surface = built.surface()
    assert surface is not None
    check_closed(surface, "collars")
    assert surface.volume == pytest.approx(4 * np.pi * (81 - 1) * 15, rel=1e-5)


def test_a_thick_collar_fills_the_hole(bracket):
    built = region({"around": {"on": {"cylinder": {"radius": 5}}, "thickness": 6}}, PARTS, bracket)
    assert built.contains(np.array([[48.0, 28.0, 7.0]])).all()
    surface = built.surface()
    assert surface is not None
    assert surface.volume == pytest.approx(4 * np.pi * 121 * 15, rel=1e-5)


def test_around_anything_else_is_a_distance(bracket):
    built = region({"around": {"on": {"faces": {"normal": [0, 0, -1]}}, "thickness": 3}}, PARTS, bracket)
    assert built.surface() is None
    np.testing.assert_array_equal(
        built.contains(np.array([[0, 0, 2.9], [0, 0, 3.1], [62, 0, 1], [63, 0, 1]])), [1, 0, 1, 0]
    )


@pytest.mark.parametrize(("spec", "told"), [
    ({"ball": {"radius": 1}}, "unknown key `ball`"),
    ({"spere": {"radius": 1}}, "unknown key `spere`; did you mean `sphere`"),
    ({"box": {"min": [0, 0, 0], "max": [1, 1, 1]}, "sphere": {}}, "make two regions of it"),
    ({"sphere": {"radius": 1}}, "`center` is missing"),
    ({"sphere": {"center": [0, 0], "radius": 1}}, "`center` must be 3 finite numbers"),
    ({"cylinder": {"axis": "z", "center": [0, 0, 0], "radius": 1, "length": 2, "range": [0, 1]}}, "not both"),
    ({"cylinder": {"axis": "z", "center": [0, 0, 0], "radius": 1, "range": [1, 0]}}, "low < high"),
    ({"plane": {"point": [0, 0, 0], "normal": "z"}}, "`thickness` is missing"),
    ({"around": {"on": {"cylinder": {"radius": 5}}, "thickness": 4}}, "no part whose boundary"),
    ({"body": 5}, "give the name of a file"),
    ({}, "region is empty"),
    (None, "region must be a mapping"),
])  # fmt: skip
def test_refusals(spec, told):
    with pytest.raises(DesignError, match=told):
        region(spec, PARTS)


def test_around_refuses_what_cannot_be_selected(bracket):
    with pytest.raises(DesignError, match="holes of radius 5, 15 mm"):
        region({"around": {"on": {"cylinder": {"radius": 7}}, "thickness": 4}}, PARTS, bracket)
    with pytest.raises(DesignError, match="`on` is missing"):
        region({"around": {"thickness": 4}}, PARTS, bracket)


numbers = st.floats(allow_nan=True, width=32) | st.integers(-99, 99)
values = numbers | st.text(max_size=2) | st.lists(numbers, max_size=4) | st.none() | st.booleans()
names = st.sampled_from(
    ["axis", "center", "radius", "length", "range", "min", "max", "point", "normal", "thickness", "on"]
)


@given(
    st.dictionaries(
        st.sampled_from(["cylinder", "box", "sphere", "plane", "around", "cube"]),
        st.dictionaries(names, values, max_size=4) | values,
        max_size=2,
    )
)
def test_whatever_is_written_gives_a_region_or_one_sentence(spec):
    try:
        built = region(spec, PARTS)
    except DesignError as refusal:
        assert str(refusal)
        assert "\n" not in str(refusal)
    else:
        assert np.isfinite(built.signed_distance(POINTS[:5])).all()


@given(st.tuples(*[st.floats(-5, 5)] * 3), st.floats(0.1, 9), st.floats(0.1, 9))
def test_a_cylinder_holds_its_axis_and_nothing_beyond(center, radius, length):
    built = region({"cylinder": {"axis": "y", "center": list(center), "radius": radius, "length": length}}, PARTS)
    c = np.array(center)
    probes = c + np.array(
        [[0, 0, 0], [0, length * 0.49, 0], [radius * 0.99, 0, 0], [0, length * 0.51, 0], [0, 0, radius * 1.01]]
    )
    np.testing.assert_array_equal(built.contains(probes), [True, True, True, False, False])
