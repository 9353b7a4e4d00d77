"""The entropic barycenter of POT as a labelled method."""

import importlib.util

import numpy as np
import pytest

from tests.transport import cases
from transport import AscentError, DebiasedSettings, TransportError, barycenter
from transport.densities import centroids

N = (64, 64)
SHORT = DebiasedSettings(iterations=100)


def blobs():
    return np.stack([cases.bump(N, (0.35, 0.4), 0.08), cases.bump(N, (0.65, 0.6), 0.1)])


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.75, 0.25)])
def test_smooth_blobs_come_out_nearly_exact(weights):
    pytest.importorskip("ot")
    w = np.array(weights)
    found = barycenter(blobs(), weights, "debiased", settings=SHORT, threads=1)
    answer = cases.bump(N, w @ [(0.35, 0.4), (0.65, 0.6)], w @ [0.08, 0.1])
    assert np.abs(found.density - answer).mean() < 0.02
    assert found.entropic and found.method == "debiased" and found.history == ()
    # The bounds are those of its own evaluation: rigorous, and around the true value.
    exact = w[0] * w[1] * (0.5 * (0.3**2 + 0.2**2) + 0.5 * 0.02**2 * 1.152)
    assert found.dual_value == pytest.approx(exact, rel=3e-2)
    assert found.dual_value <= found.primal_value <= found.upper_value
    assert found.primal_value == pytest.approx(exact, rel=2e-3)
    assert np.abs(np.tensordot(w, found.potentials, 1)).max() < 1e-12


def test_boxes_that_are_not_square_and_inputs_far_apart():
    pytest.importorskip("ot")
    mu = cases.t2((48, 48)).measures[[0, 3]]
    # The kernel between these disks is exp(-100); with POT's own guard the answer lies elsewhere.
    found = barycenter(
        np.pad(mu, [(0, 0), (0, 16), (0, 0)]), [3, 1], "debiased", primal_iterations=1, upper_bound=False
    )
    centre = centroids(found.density[None], found.domain)[0]
    assert centre == pytest.approx([0.375 * 0.75, 0.375 * 0.75], abs=1e-3)
    assert found.density.shape == (64, 48) and found.density.mean() == pytest.approx(1, abs=1e-12)


def test_what_it_cannot_do_is_refused(monkeypatch, tmp_path):
    pytest.importorskip("ot")
    mu = blobs()
    with pytest.raises(AscentError, match="raise it"):
        barycenter(mu, method="debiased", settings=DebiasedSettings(1e-5, 30), threads=1)
    with pytest.raises(TransportError, match="no volumes"):
        barycenter(np.ones((2, 4, 4, 4)), method="debiased")
    with pytest.raises(TransportError, match="square cells"):
        barycenter(mu, method="debiased", lengths=(1.0, 2.0))
    with pytest.raises(TransportError, match="one piece"):
        barycenter(mu, method="debiased", checkpoint=tmp_path / "a.npz")
    with pytest.raises(TransportError, match="positive"):
        DebiasedSettings(0.0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TransportError, match=r"install it with `pip install formgrad\[pot\]`"):
        barycenter(mu, method="debiased")
