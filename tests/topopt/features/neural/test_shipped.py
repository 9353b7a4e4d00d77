"""The weights that are shipped: accepted on fresh data, described truly by their card, and fit for design."""

import json

import numpy as np
import pytest

from topopt.features.design import optimize
from topopt.features.distance import signed_distance
from topopt.features.mesh import Mesh
from topopt.features.neural import card, codes, fitting, outlines, samples
from topopt.features.neural.backend import Neural
from topopt.features.neural.codes import Kind
from topopt.features.neural.model import SHIPPED, shipped
from topopt.features.plate import TrianglePlate
from topopt.features.problem import FeatureProblem
from topopt.features.shapes import Ellipse, Quadrilateral, square
from topopt.features.validity import Rules, violations

CARD = json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
LINE = np.linspace(-1, 1, 60)  # the base edge of polygons lies between two rows
GRID = np.stack(np.meshgrid(LINE, LINE, indexing="ij"), -1).reshape(-1, 2)


def field_of(z):
    """H on a grid over the square, for one latent point."""
    return Neural(published=False).heaviside(GRID, np.r_[0, 0, 1, 0, z], 20.0)[0]


def test_accepted_on_data_that_nobody_has_seen():
    errors = card.acceptance(shipped(), count=80, points=200, seed=31)
    assert errors["field"] <= 4e-4
    assert errors["code"] <= 3e-4


def test_the_card_tells_the_truth():
    assert CARD["bytes"] == SHIPPED.stat().st_size < 10e6
    sizes = {
        "encoder": shipped().encoder,
        "heaviside decoder": shipped().heaviside,
        "code decoder": shipped().code,
    }
    assert CARD["parameters"] == {name: sum(p.numel() for p in net.parameters()) for name, net in sizes.items()}
    assert CARD["latent limits"] == pytest.approx(shipped().limits.numpy())
    assert card.accepted(CARD["mean squared errors"])
    some = card.acceptance(shipped(), count=60, points=200)
    assert some["field"] == pytest.approx(CARD["mean squared errors"]["field"], rel=0.4)
    assert some["code"] == pytest.approx(CARD["mean squared errors"]["code"], rel=0.4)


@pytest.mark.parametrize("kind", list(Kind))
def test_codes_come_back_from_the_latent_space(kind):
    drawn = samples.draw_codes(np.random.default_rng(11), 200, kind)
    z = shipped().encode(drawn)
    low, high = shipped().bounds
    assert (low <= z).all() and (z <= high).all()
    again = shipped().decode(z)
    assert {codes.kind_of(code) for code in again} == {kind}
    assert np.abs(again - drawn).mean() < 0.01
    # Encoding what was decoded leads back to where it began.
    valid = np.array([outlines.nearest_code(code) for code in again])
    assert np.sqrt(((shipped().encode(valid) - z) ** 2).mean()) < 0.1


@pytest.mark.parametrize("kind", list(Kind))
def test_half_level_is_the_outline(kind):
    for code in samples.draw_codes(np.random.default_rng(12), 8, kind):
        exact = signed_distance(GRID, [outlines.outline(np.array([0.0, 0.0, 1.0, 0.0]), code)])[0] > 0
        found = field_of(shipped().encode(code[None])[0]) > 0.5
        assert (exact != found).mean() < 0.02
        assert found.mean() == pytest.approx(exact.mean(), rel=0.06)


def test_an_ellipse_turns_into_a_quadrilateral_on_its_way():
    start = codes.pack_ellipse(1.0)
    end = outlines.placed(square((0.0, 0.0), 1.0, 0.2))[1]
    z0, z1 = shipped().encode(np.array([start, end]))
    way = [z0 + t * (z1 - z0) for t in np.linspace(0, 1, 21)]
    backend = Neural()
    first, last = (backend.shapes(np.r_[0, 0, 1, 0, z])[0] for z in (way[0], way[-1]))
    assert isinstance(first, Ellipse)
    assert isinstance(last, Quadrilateral)
    assert all(codes.is_valid(outlines.nearest_code(code)) for code in shipped().decode(np.array(way)))
    for z in way[::4]:  # half-way the class is that of a triangle, whose number lies between; the outline still fits
        outline = backend.shapes(np.r_[0, 0, 1, 0, z])[0]
        home = backend.heaviside(fitting.grid(), np.r_[0, 0, 1, 0, z], 20.0)[0]
        assert fitting.misfit(outline, home) < 2e-4
    fields = np.array([field_of(z) for z in way])
    assert np.abs(np.diff(fields, axis=0)).max() < 0.5  # no jump, whatever class a point decodes to
    assert fields[:, np.abs(GRID).max(1) < 0.2].min() > 0.5  # and there is always a void in the middle


def test_derivatives_of_the_shipped_network():
    backend = Neural(double=True)
    rng = np.random.default_rng(13)
    points = rng.uniform(0, 1, (80, 2))
    x = backend.variables([square((0.4, 0.5), 0.3), Ellipse((0.6, 0.4), 0.2, 0.15, 0.5)])
    weights = rng.standard_normal((2, 80))
    exact = backend.pullback(points, x, 40.0, weights)
    for i in range(0, len(x), 3):
        e = 1e-6 * np.eye(len(x))[i]
        ahead, behind = (float((weights * backend.heaviside(points, x + s * e, 40.0)).sum()) for s in (1, -1))
        assert exact[i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-5), i


@pytest.mark.parametrize("sharpness", [8.0, 60.0])
def test_points_that_are_not_asked_make_no_difference(sharpness):
    plain, fast = Neural(double=True), Neural()
    rng = np.random.default_rng(15)
    points = rng.uniform(0, 1, (3000, 2))
    x = plain.variables([square((0.4, 0.5), 0.5), Ellipse((0.6, 0.4), 0.2, 0.15, 0.5)])
    h = plain.heaviside(points, x, sharpness)
    assert fast.heaviside(points, x, sharpness) == pytest.approx(h, abs=2.5e-3)
    weights = rng.standard_normal(h.shape)
    exact = plain.pullback(points, x, sharpness, weights)
    assert np.linalg.norm(fast.pullback(points, x, sharpness, weights) - exact) < 5e-3 * np.linalg.norm(exact)


def test_corrections_keep_a_valid_feature_where_it_is():
    backend = Neural()
    x = backend.variables([square((0.5, 0.5), 0.4)])
    rules, now = Rules(edge=0.03, radius=0.01), x
    for _ in range(30):
        now = backend.corrected(now, rules)
    points = np.random.default_rng(14).uniform(0, 1, (2000, 2))
    before, after = (backend.heaviside(points, v, 50.0)[0] > 0.5 for v in (x, now))
    assert (before != after).mean() < 0.01


def test_the_last_correction_nearly_obeys_the_rules():
    backend, rules = Neural(), Rules(edge=0.12, radius=0.04)
    sharp = Quadrilateral(((0.3, 0.3), (0.7, 0.3), (0.66, 0.7), (0.6, 0.7)), 0.1)
    assert violations(sharp, rules)
    mended = backend.shapes(backend.corrected(backend.variables([sharp]), rules, last=True))
    assert violations(mended[0], rules, share=0.8) == []  # radii come back from the latent space to a hundredth or two


def test_a_short_design():
    n = 20
    nodes = np.stack(np.meshgrid(np.arange(2 * n + 1), np.arange(n + 1), indexing="ij"), -1).reshape(-1, 2) / n
    lower = (np.arange(2 * n)[:, None] * (n + 1) + np.arange(n)).ravel()
    quads = np.stack([lower, lower + n + 1, lower + n + 2, lower + 1], 1)
    mesh = Mesh(nodes, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))
    fixed = np.repeat((nodes[:, :1] == 0), 2, axis=1)
    forces = np.zeros((1, len(nodes), 2))
    forces[0, (nodes[:, 0] == 2) & (np.abs(nodes[:, 1] - 0.5) < 0.03), 1] = -1.0
    plate = TrianglePlate(mesh, fixed, forces)
    start = tuple(square((x, y), 0.3) for x in (0.4, 1.0, 1.6) for y in (0.28, 0.72))
    problem = FeatureProblem(plate, 0.6, start)
    seen = []
    found = optimize(
        problem,
        backend=Neural(),
        callback=lambda state, info: seen.append(info),
        iterations=24,
        soft=5,
        sharp=14,
        steady=10,
        edge=1.5,
        radius=0.3,
    )
    assert found.thresholded_volume <= 0.6
    assert found.thresholded_volume == pytest.approx(0.6, abs=0.01)
    assert found.invalid == {}
    # Squares of the same volume, where they began, are the design to beat.
    grown = [square((s.bounds.mean(0)[0], s.bounds.mean(0)[1]), np.sqrt(0.8 / 6) * 0.995) for s in start]
    inside = (signed_distance(plate.points, grown) > 0).any(0)
    plain = plate.response(np.where(inside, 1e-3, 1.0)).compliance
    assert found.thresholded < 0.8 * plain
