"""Body-fitted tetrahedra: right volume, right way round, and an end to waiting."""

import numpy as np
import pytest

from pde.child_process import ChildTimeout
from topopt.cad import tetrahedra
from topopt.cad.body import Surface
from topopt.cad.tetrahedra import Tetrahedra, tetrahedralise
from topopt.errors import ReanalysisError

pytest.importorskip("pytetwild", reason="needs fTetWild: pip install 'formgrad[mesh]'")

CORNERS = np.array([[x, y, z] for x in (0.0, 30.0) for y in (0.0, 20.0) for z in (0.0, 10.0)])
FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)
BLOCK = Surface(CORNERS, FACES)
REGULAR = np.array([[1.0, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]])


def test_block_is_filled():
    mesh = tetrahedralise(BLOCK, edge=10.0)
    assert BLOCK.volume == pytest.approx(6000)
    assert (mesh.volumes > 0).all()
    assert mesh.volumes.sum() == pytest.approx(6000, rel=2e-3)
    assert mesh.epsilon_mm == pytest.approx(1e-3 * np.sqrt(1400))
    assert np.array_equal(np.unique(mesh.cells), np.arange(len(mesh.vertices)))
    outside = np.maximum(mesh.vertices - [30, 20, 10], -mesh.vertices).max()
    assert outside <= mesh.epsilon_mm
    assert mesh.quality.min() > 0.3


def test_quality_is_one_for_a_regular_tetrahedron_and_small_for_a_sliver():
    cells = np.array([[0, 1, 2, 3]])
    assert Tetrahedra(3.7 * REGULAR, cells, 0.0).quality == pytest.approx([1.0], rel=1e-12)
    # Flattened by 1000 along z, the volume falls as 1000 and the longest edge stays.
    flat = Tetrahedra(REGULAR * [1, 1, 1e-3], cells, 0.0).quality
    assert flat == pytest.approx([0.1], rel=1e-5)


def test_time_out_is_told_after_an_easier_try(monkeypatch):
    tries = []

    def slow(module, arrays, seconds):
        tries.append((float(arrays["edge"]), float(arrays["epsilon"]), float(arrays["stop_energy"])))
        raise ChildTimeout("too slow")

    monkeypatch.setattr(tetrahedra, "call", slow)
    with pytest.raises(ReanalysisError, match=r"12 triangles\): simplify the surface"):
        tetrahedralise(BLOCK, edge=4.0)
    assert tries == [(4.0, 1e-3, 30.0), (5.0, 2e-3, 50.0)]


def test_a_real_time_out():
    with pytest.raises(ReanalysisError, match="no tetrahedra within twice 0 s of CPU time"):
        tetrahedralise(BLOCK, edge=0.5, seconds=0.2)


def answer_with(monkeypatch, vertices, cells):
    monkeypatch.setattr(tetrahedra, "call", lambda *_: {"vertices": vertices, "cells": cells})


def test_wrong_volume_is_refused(monkeypatch):
    answer_with(monkeypatch, REGULAR, np.array([[0, 1, 2, 3]]))
    with pytest.raises(ReanalysisError, match=r"volume"):
        tetrahedralise(BLOCK)


def test_inside_out_cells_are_turned_and_crumbs_dropped(monkeypatch):
    # A tetrahedron of volume 8/3 as the body, a crumb of 1e-9 of it beside, both in fTetWild's order.
    body = Surface(REGULAR, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    crumb = REGULAR * 1e-3 + 9
    inverted = np.array([[0, 1, 3, 2], [4, 5, 7, 6]])
    assert (Tetrahedra(np.vstack([REGULAR, crumb]), inverted, 0.0).volumes < 0).all()
    answer_with(monkeypatch, np.vstack([REGULAR, crumb]), inverted)
    mesh = tetrahedralise(body)
    assert mesh.volumes == pytest.approx([8 / 3])
    assert len(mesh.vertices) == 4


def test_a_body_in_two_pieces_is_refused(monkeypatch):
    answer_with(monkeypatch, np.vstack([REGULAR, REGULAR + 9]), np.array([[0, 1, 2, 3], [4, 5, 6, 7]]))
    with pytest.raises(ReanalysisError, match="2 pieces"):
        tetrahedralise(BLOCK)


@pytest.mark.parametrize("wrong", [{"edge": 0.0}, {"epsilon": -1e-3}, {"seconds": 0.0}])
def test_arguments_must_be_positive(wrong):
    with pytest.raises(ReanalysisError, match="must be positive"):
        tetrahedralise(BLOCK, **wrong)
