"""Selectors on the real geometry, and the patches they give: areas, samples, distances, all against exact values."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from topopt.cad.closest import TriangleTree
from topopt.cad.patch import Patch
from topopt.cad.read import read_body
from topopt.cad.select import clip_triangles, select
from topopt.errors import DesignError

PARTS = Path(__file__).parents[3] / "assets" / "parts"
BOTTOM = {"faces": {"normal": [0, 0, -1]}}
BOLTS = {"cylinder": {"radius": 5}}
BORE = {"cylinder": {"radius": 15}}
HALF = {"box": {"min": [-100, -100, 38], "max": [100, 100, 100]}}


@pytest.fixture(scope="module", params=["step", "stl"])
def bracket(request):
    if request.param == "step":
        pytest.importorskip("OCP", reason="STEP needs OpenCASCADE")
    return read_body(PARTS / f"bracket.{request.param}")


@pytest.fixture(scope="module")
def hinge():
    return read_body(PARTS / "hinge.stl")


def test_faces_by_normal(bracket):
    patch = select(bracket, BOTTOM)
    assert patch.area == pytest.approx(120 * 80 - 4 * np.pi * 25, rel=1e-4)
    np.testing.assert_allclose(patch.centroid, [0, 0, 0], atol=1e-5)
    up = select(bracket, {"faces": {"normal": [0, 0, 1]}})
    assert up.area == pytest.approx(120 * 80 - 4 * np.pi * 25, rel=1e-4)  # plate beside the block, and its top


def test_a_slanted_normal_needs_a_wide_tolerance(bracket):
    tilted = [0, np.sin(np.radians(7)), -np.cos(np.radians(7))]
    with pytest.raises(DesignError, match="selects nothing"):
        select(bracket, {"faces": {"normal": tilted}})
    assert select(bracket, {"faces": {"normal": tilted, "tol_deg": 8}}).area > 9000


def test_normals_do_not_pick_strips_of_holes(bracket):
    patch = select(bracket, {"faces": {"normal": [0, 0, -1], "tol_deg": 30}})
    assert patch.triangles[..., 2].max() == pytest.approx(0, abs=1e-6)


def test_cylinders_by_radius_are_exact(bracket):
    bolts = select(bracket, BOLTS)
    assert len(bolts.cylinders) == 4
    assert bolts.area == pytest.approx(4 * 2 * np.pi * 5 * 15, rel=1e-6)
    assert bolts.cylinder is None
    bore = select(bracket, BORE).cylinder
    assert bore is not None
    assert (bore.radius, bore.hollow) == (pytest.approx(15, rel=1e-6), True)
    np.testing.assert_allclose(np.abs(bore.direction), [0, 1, 0], atol=1e-6)
    assert bore.high - bore.low == pytest.approx(80, abs=1e-5)


@pytest.mark.parametrize(("selector", "count"), [
    ({"cylinder": {"axis": "y"}}, 1),
    ({"cylinder": {"axis": [0, 0, -2]}}, 4),
    ({"cylinder": {"center": [48, 28, 99]}}, 1),
    ({"cylinder": {"hollow": True}}, 5),
    ({"cylinder": {"radius": 5.3, "tol": 0.4}}, 4),
    ({"cylinder": {"radius": 5, "axis": "z", "center": [-48, 28, 0], "hollow": True}}, 1),
    ({"cylinder": {"axis": "z"}, "box": {"min": [0, -100, -1], "max": [100, 100, 99]}}, 2),
    ({"cylinder": {"axis": "z"}, "nearest": [-50, -30, 0]}, 1),
])  # fmt: skip
def test_any_subset_of_the_keys_of_a_cylinder(bracket, selector, count):
    assert len(select(bracket, selector).cylinders) == count


def test_outer_cylinders_are_told_from_holes(hinge):
    assert select(hinge, {"cylinder": {"axis": "x", "hollow": False}}).area == pytest.approx(np.pi * 30 * 16, rel=1e-3)
    with pytest.raises(DesignError, match=r"outer cylinders of radius 30 mm"):
        select(hinge, {"cylinder": {"radius": 20}})


def test_a_fillet_is_no_full_cylinder(hinge):
    fillet = select(hinge, {"cylinder": {"radius": 12}})
    assert fillet.cylinders == ()
    assert fillet.area == pytest.approx(np.pi / 2 * 12 * 60, rel=1e-3)


def test_a_box_cuts_faces_exactly(bracket):
    patch = select(bracket, {**BOTTOM, "box": {"min": [-20.5, -30, -1], "max": [10, 12.25, 1]}})
    assert patch.area == pytest.approx(30.5 * 42.25, rel=1e-9)
    short = select(bracket, {**BOLTS, "box": {"min": [0, 0, 2], "max": [99, 99, 12]}})
    assert short.cylinder is not None
    assert (short.area, short.centroid[2]) == (pytest.approx(2 * np.pi * 5 * 10, rel=1e-6), pytest.approx(7))


def test_half_a_bore_is_not_taken_for_a_whole_one(bracket):
    upper = select(bracket, {**BORE, **HALF})
    assert upper.cylinders == ()
    assert upper.area == pytest.approx(np.pi * 15 * 80, rel=1e-3)
    assert upper.centroid[2] == pytest.approx(38 + 2 * 15 / np.pi, abs=0.01)


def test_nearest_takes_the_face_under_the_finger(bracket):
    assert select(bracket, {"nearest": [60.3, 3, 7]}).area == pytest.approx(80 * 15, rel=1e-6)
    assert select(bracket, {"nearest": [0, 0, 50]}).cylinder is not None


def test_all_is_the_whole_boundary(bracket):
    assert select(bracket, {"all": True}).area == pytest.approx(bracket.surface.areas.sum(), rel=1e-9)


@pytest.mark.parametrize(("selector", "told"), [
    ({"cylindre": {"radius": 5}}, "unknown key `cylindre`; did you mean `cylinder`"),
    ({"faces": {"norml": [0, 0, 1]}}, "unknown key `norml`; did you mean `normal`"),
    ({"cylinder": {"radius": 6}}, "holes of radius 5, 15 mm"),
    ({"cylinder": {}}, "cylinder is empty"),
    ({"cylinder": {"radius": -5}}, "`radius` must be positive"),
    ({"cylinder": {"axis": "w"}}, "`axis` must be x, y, z or three numbers"),
    ({"cylinder": {"hollow": "yes"}}, "`hollow` must be true or false"),
    ({"cylinder": 5}, "selector cylinder must be a mapping"),
    ({"faces": {"normal": [0, 0, 0]}}, "`normal` must be a direction"),
    ({"faces": {"normal": [0, 0, float("nan")]}}, "`normal` must be 3 finite numbers"),
    ({"faces": {"tol_deg": 3}}, "`normal` is missing"),
    ({"box": {"min": [0, 0, 0], "max": [1, -1, 1]}}, "`min` must be below `max`"),
    ({"box": {"min": [70, 0, 0], "max": [71, 1, 1]}}, "selects nothing on bracket"),
    ({"nearest": "bolt"}, "`nearest` must be 3 finite numbers"),
    ({"all": False}, "`all` can only be true"),
    ({}, "selector is empty: give at least one of faces, cylinder, box, nearest, all"),
    ("all", "selector must be a mapping"),
])  # fmt: skip
def test_refusals(bracket, selector, told):
    with pytest.raises(DesignError, match=told):
        select(bracket, selector)


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.integers(-9, 9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["faces", "cylinder", "box", "nearest", "all", "normal", "radius", "min", "max", "axes"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(junk)
def test_whatever_is_written_gives_a_patch_or_one_sentence(selector):
    body = tetrahedron()
    try:
        patch = select(body, selector)
    except DesignError as refusal:
        assert str(refusal)
        assert "\n" not in str(refusal)
    else:
        assert patch.area > 0


def tetrahedron():
    from topopt.cad.body import Body, Surface
    from topopt.cad.recognise import recognise

    corners = np.array([[1.0, 2.0, 3.0], [11.0, 2.0, 3.0], [1.0, 9.0, 3.0], [1.0, 2.0, 8.0]])
    surface = Surface(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    return Body("tetrahedron", surface, recognise(surface), surface.volume)


@pytest.mark.parametrize("selector", [BOTTOM, BOLTS, BORE, {**BORE, **HALF}])
@pytest.mark.parametrize("spacing", [0.7, 3.0, 50.0])
def test_samples_carry_the_area_and_its_first_moment(bracket, selector, spacing):
    patch = select(bracket, selector)
    points, areas, normals = patch.sample(spacing)
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(patch.area, rel=1e-9)
    np.testing.assert_allclose(areas @ points / areas.sum(), patch.centroid, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-9)
    again = patch.sample(spacing)
    assert all(np.array_equal(a, b) for a, b in zip((points, areas, normals), again, strict=True))


def test_samples_are_as_dense_as_asked_and_lie_on_the_patch(bracket):
    patch = select(bracket, BOTTOM)
    points, _, normals = patch.sample(1.0)
    assert 0.9 * patch.area < len(points) < 1.2 * patch.area
    # The centroid of what a cube holds may lie in a hole next to it, by less than the cube; never off the plane.
    assert np.abs(points[:, 2]).max() < 1e-6
    np.testing.assert_allclose(normals, np.broadcast_to([0, 0, -1], normals.shape), atol=1e-6)
    with pytest.raises(DesignError, match="spacing"):
        patch.sample(0)


def test_normals_of_a_hole_point_at_its_axis(bracket):
    patch = select(bracket, BORE)
    for points, normals in (patch.sample(2.0)[::2], (patch.triangles.mean(axis=1), patch.normals)):
        radial = (points - [0, 0, 38]) * [1, 0, 1]
        cosine = np.einsum("ij,ij->i", radial, normals) / np.linalg.norm(radial, axis=1)
        assert cosine.max() < -0.99


def test_distance_to_a_bore_is_that_to_the_exact_cylinder(bracket):
    points = np.random.default_rng(1).uniform(-60, 60, (2000, 3))
    distance, normal = select(bracket, BORE).distance(points)
    radius = np.hypot(points[:, 0], points[:, 2] - 38)
    beyond = np.maximum(np.abs(points[:, 1]) - 40, 0)
    np.testing.assert_allclose(distance, np.hypot(radius - 15, beyond), atol=1e-5)
    np.testing.assert_allclose(normal[:, 1], 0, atol=1e-6)


def test_a_point_on_the_axis_is_a_radius_away(bracket):
    distance, normal = select(bracket, BORE).distance(np.array([[0.0, 0.0, 38.0]]))
    assert distance[0] == pytest.approx(15)
    assert np.linalg.norm(normal[0]) == pytest.approx(1)


def test_distance_to_a_plane_with_holes(bracket):
    patch = select(bracket, BOTTOM)
    distance, normal = patch.distance(np.array([[0, 0, -3.0], [10, 5, 2.0], [48, 28, 0], [60, 40, -4], [63, 44, 0]]))
    np.testing.assert_allclose(distance, [3, 2, 5, 4, 5], atol=0.01)
    np.testing.assert_allclose(normal, np.broadcast_to([0, 0, -1], normal.shape), atol=1e-6)


@given(arrays(float, (5, 3, 3), elements=st.floats(-5, 5)), arrays(float, (7, 3), elements=st.floats(-8, 8)))
def test_closest_points_are_the_closest_of_a_dense_sampling(triangles, points):
    foot, which = TriangleTree.of(triangles).closest(points)
    u = np.linspace(0, 1, 15)
    weights = np.array([(a, b, 1 - a - b) for a in u for b in u if a + b <= 1 + 1e-12])
    samples = np.einsum("wk,tkd->twd", weights, triangles).reshape(-1, 3)
    reach = np.linalg.norm(samples[None] - points[:, None], axis=2).min(axis=1)
    distance = np.linalg.norm(foot - points, axis=1)
    assert (distance <= reach + 1e-9).all()
    assert (distance >= reach - np.ptp(triangles, axis=1).max() / 7 - 1e-9).all()
    # The foot lies on the triangle that is named.
    on_it = Patch(triangles, "t")
    for n, triangle in enumerate(which):
        alone = TriangleTree.of(on_it.triangles[triangle : triangle + 1]).closest(foot[n : n + 1])[0]
        np.testing.assert_allclose(alone[0], foot[n], atol=1e-9)


def test_many_distances_equal_those_without_a_tree(bracket):
    patch = select(bracket, BOTTOM)
    points = np.random.default_rng(2).uniform(-80, 80, (300, 3))
    each = [TriangleTree.of(t[None]).closest(points)[0] for t in patch.triangles]
    least = np.min([np.linalg.norm(points - foot, axis=1) for foot in each], axis=0)
    np.testing.assert_allclose(patch.distance(points)[0], least, atol=1e-12)


def test_inside_of_a_body(bracket):
    points = np.random.default_rng(3).uniform(-62, 62, (5000, 3))
    x, y, z = points.T
    plate = (abs(x) < 60) & (abs(y) < 40) & (z > 0) & (z < 15)
    block = (abs(x) < 35) & (abs(y) < 40) & (z >= 15) & (z < 60)
    holes = np.any([np.hypot(x - a, y - b) < 5 for a in (-48, 48) for b in (-28, 28)], axis=0)
    inside = (plate & ~holes | block) & (np.hypot(x, z - 38) >= 15)
    wrong = TriangleTree.of(bracket.surface.corners).inside(points) != inside
    assert wrong.sum() <= 1  # a point between a chord and its arc


@given(
    arrays(float, (4, 3, 3), elements=st.floats(-3, 3, width=32)),
    arrays(float, 3, elements=st.floats(-2, 0, width=32)),
    arrays(float, 3, elements=st.floats(0.5, 2, width=32)),
)
def test_clipping_splits_the_area(triangles, low, high):
    inside = clip_triangles(triangles, low, high)
    assert (inside >= low - 1e-9).all()
    assert (inside <= high + 1e-9).all()
    # Cutting at one plane gives two parts that are the whole.
    far = np.full(3, 10.0)
    parts = [clip_triangles(triangles, -far, np.array([high[0], 10, 10])),
             clip_triangles(triangles, np.array([high[0], -10, -10]), far)]  # fmt: skip
    flat = (triangles[..., 0] == high[0]).all(axis=1).any()
    if not flat:
        assert sum(map(area, parts)) == pytest.approx(area(triangles), rel=1e-9, abs=1e-9)


def area(triangles: np.ndarray) -> float:
    vectors = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return float(np.linalg.norm(vectors, axis=1).sum() / 2)
