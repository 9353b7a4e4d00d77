"""Barycenters with known answers, and what must hold for any input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from tests.transport import cases
from transport import Domain, PublishedSettings, Settings, TransportError, barycenter, barycenters
from transport.ascent import Ascent, State
from transport.barycenter import objective_parts
from transport.densities import as_weights, require_memory
from transport.legendre import c_transform
from transport.sweeps import means_of_products, recentre

FAST = Settings((8, 30, 60))
SQUARE = (1.0, 1.0)


def blurred_error(a, b):
    return np.abs(gaussian_filter(a, 1) - gaussian_filter(b, 1)).mean()


@pytest.mark.parametrize("make", [cases.t1, cases.t1w, cases.t2, cases.t2w, cases.t3, cases.t3w, cases.t4, cases.t6])
def test_t1_to_t6(make):
    case = make((256, 256))
    # The residual says how far the images of the measures are apart; slabs and rectangles need more steps.
    found = barycenter(case.measures, case.weights, settings=Settings((30, 40, 60, 100)), primal_iterations=3)
    assert abs(found.dual_value / case.value - 1) < 1e-3
    assert blurred_error(found.density, case.answer) < 0.08
    assert found.density.mean() == pytest.approx(1, abs=1e-12)
    assert np.abs(np.tensordot(found.weights, found.potentials, 1)).max() < 1e-12
    assert np.abs(found.images.mean(axis=(1, 2)) - 1).max() < 1e-12


def test_t5_turned_gaussians():
    case = cases.t5((256, 256))
    found = barycenter(case.measures, case.weights, primal_iterations=3)
    assert abs(found.dual_value / case.value - 1) < 1e-3
    assert blurred_error(found.density, case.answer) < 0.08


def test_the_objective_at_the_answer_is_near_the_bound_and_near_the_truth():
    case = cases.t1((128, 128))
    found = barycenter(case.measures, case.weights, settings=Settings((60, 60, 100)), primal_iterations=150)
    assert found.dual_value <= found.primal_value
    assert found.primal_value == pytest.approx(case.value, rel=1e-3)
    assert 0 <= found.gap < 0.03
    per_input = [0.0353929, 0.0285769, 0.0275201, 0.0179225]
    assert found.distances == pytest.approx(per_input, rel=2e-3)


def test_t8_equal_measures_and_a_single_weight():
    mu = cases.t1((64, 64)).measures
    same = barycenter([mu[1]] * 3, settings=FAST)
    assert np.abs(same.density - mu[1]).max() < 1e-10
    assert abs(same.dual_value) < 1e-14
    single = barycenter(mu, [0, 0, 3, 0], settings=FAST)
    assert np.abs(single.density - mu[2]).max() < 1e-10
    assert single.distances[2] == pytest.approx(0, abs=1e-12)


def test_a_measure_of_weight_zero_does_not_count():
    mu = cases.t1((64, 64)).measures
    kept = barycenter(mu, [1, 2, 0, 1], settings=FAST)
    dropped = barycenter(mu[[0, 1, 3]], [1, 2, 1], settings=FAST)
    # The step looks at all measures, so the iterates differ, but not what they go to.
    assert kept.dual_value == pytest.approx(dropped.dual_value, rel=1e-3)
    assert blurred_error(kept.density, dropped.density) < 0.08
    # The measure that does not count is followed too: its image is the barycenter.
    assert blurred_error(kept.images[2], kept.density) < 0.2


@pytest.mark.parametrize("shape", [(96, 128), (160, 100)])
def test_cells_that_are_not_square(shape):
    case = cases.t2(shape)
    found = barycenter(case.measures, case.weights, lengths=SQUARE, primal_iterations=3)
    assert abs(found.dual_value / case.value - 1) < 1e-3
    assert blurred_error(found.density, case.answer) < 0.08


def test_box_that_is_not_square_has_square_cells():
    # The same pictures in a longer box: nothing changes but the unit, which is the longest side.
    mu = cases.t2((64, 64)).measures
    longer = np.pad(mu, [(0, 0), (0, 64), (0, 0)])
    first = barycenter(mu, settings=Settings((200, 100)), primal_iterations=1)
    second = barycenter(longer, settings=Settings((200, 100)), primal_iterations=1)
    assert second.domain.lengths == (1.0, 0.5)
    assert 4 * second.dual_value == pytest.approx(first.dual_value, rel=1e-4)


def test_gaussians_and_slabs_in_three_dimensions():
    # Mass goes from point to point of the grid. A move that is t of a cell longer than whole cells costs
    # t (1 - t) h^2 / 2 more, h^2 / 12 per axis in the mean: the error falls with the square of h.
    sides = np.array([12, 16, 24, 32])
    errors = np.abs([_three_dimensions(n) for n in sides])
    assert (errors < 3 / 12 / sides[:, None] ** 2).all()
    order = -np.polyfit(np.log(sides), np.log(errors), 1)[0]
    assert (order > 1.7).all()


def _three_dimensions(n):
    """Errors of the dual value for two Gaussians and for two slabs."""
    shape, c = (n, n, n), np.array([0.5, 0.5, 0.5])
    quick = {"settings": Settings((80, 60), coarsest=8), "primal_iterations": 1, "upper_bound": False}
    s = [np.array([0.06, 0.10, 0.08]), np.array([0.10, 0.06, 0.08])]
    shift = np.array([0.1, 0.0, 0.05])
    mu = [cases.gaussian(shape, c - shift, np.diag(s[0] ** 2)), cases.gaussian(shape, c + shift, np.diag(s[1] ** 2))]
    found = barycenter(mu, **quick)
    # Commuting covariances: 1/2 W2^2 = 1/2 |m_1 - m_2|^2 + 1/2 sum (s_1 - s_2)^2, and a quarter of that is F.
    exact = 0.25 * 0.5 * ((2 * shift) ** 2).sum() + 0.25 * 0.5 * ((s[0] - s[1]) ** 2).sum()
    first = found.dual_value - exact
    answer = cases.gaussian(shape, c, np.diag(((s[0] + s[1]) / 2) ** 2))
    assert n < 32 or blurred_error(found.density, answer) < 0.08

    slabs = [cases.raster(shape, lambda x, y, z, a=a, b=b: (y > a) & (y < b)) for a, b in ((0, 0.25), (0.5, 1))]
    found = barycenter(slabs, **quick)
    # Centres .125 and .75, half-widths .125 and .25: the slab from .25 to .625.
    exact = 0.125 * 0.625**2 + 0.125 * 0.25**2 / 12
    answer = cases.raster(shape, lambda x, y, z: (y > 0.25) & (y < 0.625))
    assert n < 32 or blurred_error(found.density, answer) < 0.08
    return first, found.dual_value - exact


@settings(max_examples=10)
@given(st.integers(0, 2**31), st.integers(2, 3))
def test_weak_duality_for_random_measures(seed, count):
    rng = np.random.default_rng(seed)
    domain = Domain((7, 9))
    mu = rng.random((count, *domain.shape)) ** 4
    mu /= mu.mean(axis=(1, 2), keepdims=True)
    w = as_weights(rng.random(count) + 0.05, count)
    found = barycenter(mu, w, settings=Settings((25,)))
    nu = rng.random(domain.shape)
    nu /= nu.mean()
    # F from exact linear programming, one measure at a time.
    for density in (nu, found.density):
        exact = w @ [_exact_cost(density, m, domain) for m in mu]
        assert found.dual_value <= exact + 1e-12
    # What is reported as F never exceeds the truth, nor falls below the bound.
    assert found.dual_value <= found.primal_value <= exact + 1e-9


def _exact_cost(nu, mu, domain):
    """1/2 W2^2 between densities on a small grid by linear programming (HiGHS)."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    axes = [(np.arange(n) + 0.5) * h for n, h in zip(domain.shape, domain.steps, strict=True)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, domain.dim)
    cost = 0.5 * ((x[:, None] - x[None]) ** 2).sum(-1)
    n = len(x)
    rows = sp.vstack([sp.kron(sp.eye(n), np.ones((1, n))), sp.kron(np.ones((1, n)), sp.eye(n))], format="csr")
    right = np.r_[nu.ravel(), mu.ravel()] / n
    solution = linprog(cost.ravel(), A_eq=rows[:-1], b_eq=right[:-1], method="highs")
    assert solution.status == 0
    return solution.fun


@given(st.integers(0, 2**31))
def test_recentring_never_lowers_the_dual(seed):
    rng = np.random.default_rng(seed)
    steps = Domain((14, 9)).steps
    mu = rng.random((3, 14, 9))
    w = as_weights(rng.random(3), 3)
    f = 0.05 * rng.normal(size=mu.shape)
    recentre(f, w, 1)

    def dual(f):
        return w @ means_of_products(c_transform(f, steps), mu, 1)

    before = dual(f)
    f = c_transform(c_transform(f, steps), steps)
    recentre(f, w, 1)
    assert dual(f) >= before - 1e-15
    assert np.abs(np.tensordot(w, f, 1)).max() < 1e-15


def test_permutation_reflection_and_quarter_turn():
    case = cases.t1w((64, 64))
    reference = barycenter(case.measures, case.weights, settings=FAST)
    order = [2, 0, 3, 1]
    permuted = barycenter(case.measures[order], case.weights[order], settings=FAST)
    mirrored = barycenter(case.measures[:, ::-1], case.weights, settings=FAST)
    turned = barycenter(np.rot90(case.measures, axes=(1, 2)), case.weights, settings=FAST)
    for other, back in (
        (permuted.density, lambda a: a),
        (mirrored.density, lambda a: a[::-1]),
        (turned.density, lambda a: np.rot90(a, -1)),
    ):
        # Rounding may decide a tie between two equally near points, and the image then differs a little.
        assert blurred_error(back(other), reference.density) < 2e-2
    for other in (permuted, mirrored, turned):
        assert other.dual_value == pytest.approx(reference.dual_value, rel=1e-5)


def test_one_and_two_threads_give_the_same_bits():
    case = cases.t1((300, 220))
    one, two = (
        barycenter(case.measures, case.weights, settings=Settings((4, 6, 10)), threads=n, primal_iterations=2)
        for n in (1, 2)
    )
    assert np.array_equal(one.density, two.density)
    assert np.array_equal(one.potentials, two.potentials)
    assert (one.dual_value, one.primal_value, one.history) == (two.dual_value, two.primal_value, two.history)


@pytest.mark.parametrize("stop", [5, 29, 33])
def test_resumed_runs_reach_the_same_bits(tmp_path, stop):
    case, file = cases.t1((64, 64)), tmp_path / "state.npz"
    whole = barycenter(case.measures, case.weights, settings=FAST)
    options = {"settings": FAST, "checkpoint": file, "checkpoint_every": 1}
    barycenter(case.measures, case.weights, callback=lambda row: row.iteration == stop, **options)
    assert State.load(file).iteration == stop
    rest = []
    resumed = barycenter(case.measures, case.weights, callback=rest.append, resume=True, **options)
    assert rest[0].iteration == stop + 1
    assert np.array_equal(resumed.density, whole.density)
    assert np.array_equal(resumed.potentials, whole.potentials)
    assert resumed.history == whole.history


def test_checkpoints_of_something_else_are_refused(tmp_path):
    case, file = cases.t1((64, 64)), tmp_path / "state.npz"
    file.write_bytes(b"nothing")
    with pytest.raises(TransportError, match="not a checkpoint"):
        barycenter(case.measures, checkpoint=file, resume=True)
    barycenter(case.measures[:2], settings=FAST, checkpoint=file)
    with pytest.raises(TransportError, match="another number or shape"):
        barycenter(case.measures, settings=FAST, checkpoint=file, resume=True)


def test_a_warm_start_begins_where_a_cold_one_ends():
    case = cases.t1((128, 128))
    cold = barycenter(case.measures, case.weights, primal_iterations=1)
    warm = barycenter(case.measures, [0.3, 0.25, 0.25, 0.2], start=cold.potentials, primal_iterations=1)
    fresh = barycenter(case.measures, [0.3, 0.25, 0.25, 0.2], primal_iterations=1)
    assert warm.dual_value == pytest.approx(fresh.dual_value, rel=2e-4)
    assert warm.history[0].dual > fresh.history[0].dual


def test_many_weight_vectors():
    case = cases.t2((64, 64))
    vectors = np.array([[1, 1, 1, 1], [4, 1, 1, 0], [0, 0, 0, 1]])
    found = list(barycenters(case.measures, vectors, settings=FAST, primal_iterations=1))
    assert [f.weights.tolist() for f in found] == (vectors / vectors.sum(axis=1, keepdims=True)).tolist()
    assert np.abs(found[2].density - case.measures[3]).max() < 1e-10
    alone = barycenter(case.measures, vectors[1], settings=FAST, primal_iterations=1)
    assert found[1].dual_value == pytest.approx(alone.dual_value, rel=1e-3)


def test_the_mask_keeps_mass_out_and_the_bound_below():
    shape = (48, 48)
    mu = [cases.disk(shape, (0.25, 0.5), 0.12), cases.disk(shape, (0.75, 0.5), 0.12)]
    free = barycenter(mu, settings=Settings((60,)))
    mask = np.ones(shape, bool)
    mask[18:30, 18:30] = False  # the middle, where the barycenter would be
    found = barycenter(mu, mask=mask, settings=Settings((60,)), primal_iterations=60)
    assert found.density[~mask].max() == 0
    assert found.density.mean() == pytest.approx(1, abs=1e-12)
    # Less freedom costs: mass must go round a block of a quarter of the side.
    assert found.dual_value > free.primal_value + 1e-4
    w = np.full(2, 0.5)
    elsewhere = cases.disk(shape, (0.5, 0.8), 0.12) * mask
    F = w @ objective_parts(elsewhere / elsewhere.mean(), np.stack(mu), Domain(shape), iterations=60)
    assert found.dual_value <= F
    everywhere = barycenter(mu, mask=np.ones(shape, bool), settings=Settings((60,)))
    assert np.array_equal(everywhere.density, free.density)


@pytest.mark.parametrize("method", ["wdha", "sga"])
def test_the_published_methods_reach_the_same_barycenter(method):
    # Smooth and spread out, where their fixed steps are safe.
    shape = (48, 48)
    mu = [cases.bump(shape, (0.4, 0.45), 0.13), cases.bump(shape, (0.6, 0.55), 0.09)]
    answer, exact = cases.bump(shape, (0.5, 0.5), 0.11), 0.125 * (0.2**2 + 0.1**2) + 0.125 * 0.04**2 * 1.152
    found = barycenter(mu, method=method, settings=PublishedSettings(200, 0.1))
    assert found.method == method and len(found.history) == 200
    assert blurred_error(found.density, answer) < 0.08
    assert found.dual_value == pytest.approx(exact, abs=2 / 48**2 / 12)  # of the grid
    ours = barycenter(mu)
    assert found.dual_value <= ours.primal_value + 1e-9
    assert np.abs(np.tensordot(found.weights, found.potentials, 1)).max() < 1e-12


def test_maps_go_there_and_back():
    shape = (64, 64)
    mu = [cases.disk(shape, (0.3, 0.5), 0.15), cases.disk(shape, (0.7, 0.5), 0.15)]
    found = barycenter(mu, settings=Settings((60, 60)))
    there, back = found.map_to_barycenter(0), found.map_to_input(1)
    assert there.shape == back.shape == (65, 65, 2)
    # Equal disks: the barycenter is a translation by .2 away from each.
    assert there[19, 32] == pytest.approx([19 / 64 + 0.2, 0.5], abs=0.01)
    assert back[32, 32] == pytest.approx([0.7, 0.5], abs=0.01)


def test_history_and_dual_value_agree():
    case = cases.t1((64, 64))
    rows = []
    found = barycenter(case.measures, callback=rows.append, settings=FAST)
    assert tuple(rows) == found.history
    assert [r.iteration for r in rows] == list(range(1, len(rows) + 1))
    assert found.dual_value == pytest.approx(max(r.dual for r in rows if r.shape == (64, 64)), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"weights": [0, 0]}, "sum to zero"),
        ({"weights": [1, -1]}, "not negative"),
        ({"weights": [1, 2, 3]}, "2 densities need 2 weights"),
        ({"weights": [1, np.nan]}, "finite"),
        ({"method": "magic"}, "method must be"),
        ({"mask": np.ones((3, 3), bool)}, "mask has shape"),
        ({"mask": np.zeros((16, 16), bool)}, "no cell"),
        ({"start": np.zeros((2, 3, 3))}, "warm start"),
        ({"lengths": (1.0,)}, "lengths"),
        ({"method": "sga", "settings": Settings()}, "PublishedSettings"),
        ({"method": "wdha", "mask": np.ones((16, 16), bool)}, "accelerated"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(TransportError, match=sentence) as caught:
        barycenter(np.ones((2, 16, 16)), **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("measures", "sentence"),
    [
        ([np.ones((8, 8)), np.zeros((8, 8))], "density 2 has no mass"),
        ([np.ones((8, 8)), -np.ones((8, 8))], "negative"),
        ([np.full((8, 8), np.nan), np.ones((8, 8))], "not finite"),
        ([np.ones((8, 8)), np.ones((8, 9))], "resize"),
        ([np.ones(8), np.ones(8)], "two or three axes"),
        ([np.array([["a", "b"], ["c", "d"]])], "real numbers"),
        ([], "no densities"),
    ],
)
def test_what_is_no_density_is_refused_in_one_sentence(measures, sentence):
    with pytest.raises(TransportError, match=sentence):
        barycenter(measures)


def test_a_problem_beyond_memory_is_refused_with_a_size_that_fits():
    with pytest.raises(
        TransportError, match=r"need 109\.5 GB, but 8\.0 GB are free: choose a size of at most (\d+)"
    ) as e:
        require_memory(4, Domain((16384, 16384)), 8e9)
    side = int(str(e.value).split()[-1])
    require_memory(4, Domain((side, side)), 8e9)


def test_settings_that_make_no_sense_are_refused():
    for bad in ({"iterations": ()}, {"step": 0.0}, {"coarsest": 1}):
        with pytest.raises(TransportError):
            Settings(**bad)
    with pytest.raises(TransportError):
        PublishedSettings(0)


def test_the_number_of_iterations_left_counts_down():
    ascent = Ascent(cases.t1((64, 64)).measures, np.full(4, 0.25), Domain((64, 64)), Settings((3, 5)))
    state, left = ascent.start(), []
    while not state.done:
        state = ascent.step(state)
        left.append(ascent.iterations_left(state))
    assert left == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (3, 2, 2)])
def test_the_smallest_grids(shape):
    rng = np.random.default_rng(5)
    mu = rng.random((2, *shape))
    found = barycenter(mu, settings=Settings((30,)))
    assert found.density.mean() == pytest.approx(1, abs=1e-12)
    assert found.dual_value <= found.primal_value
    same = barycenter([mu[0], mu[0]])
    assert np.abs(same.density - mu[0] / mu[0].mean()).max() < 1e-10
