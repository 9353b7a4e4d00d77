"""The kernels are compiled once, and their absence is no end."""

import ctypes
import logging
import os
from pathlib import Path

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, GridError, System
from pde.grid.direct import Direct
from pde.grid.native import compiler
from pde.grid.native.engine import Native, available_threads
from tests.pde.grid.cases import clamped_block

SOURCE = "double twice(double x) { return 2 * x; }"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "formgrad"


def test_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = compiler.load_library(SOURCE)
    library.twice.restype, library.twice.argtypes = ctypes.c_double, [ctypes.c_double]
    assert library.twice(3.5) == 7
    assert [p.suffix for p in cache.iterdir()] == [".bin"]

    def refuse(*args: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiler, "_compile", refuse)
    compiler.load_library(SOURCE)


def test_source_that_does_not_compile(cache: Path) -> None:
    with pytest.raises(compiler.NoCompilerError, match="could not compile"):
        compiler.load_library("this is not C")
    assert not list(cache.iterdir())


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def nothing() -> str:
        raise compiler.NoCompilerError("no C compiler was found")

    case = clamped_block((12, 8, 6), Elasticity())
    expected = System(case.grid, case.physics, case.fixed, "direct").solve(np.ones((12, 8, 6)), case.force).u
    monkeypatch.setattr("pde.grid.native.operator.Hierarchy", lambda *args: nothing())
    with pytest.raises(GridError, match="no C compiler"):
        System(case.grid, case.physics, case.fixed, "native")
    with caplog.at_level(logging.WARNING):
        system = System(case.grid, case.physics, case.fixed)
    assert "portable kernels are used instead" in caplog.text
    u = system.solve(np.ones((12, 8, 6)), case.force, tol=1e-10).u
    assert np.abs(u - expected).max() <= 1e-8 * np.abs(expected).max()


def test_element_matrix_of_another_kind(caplog: pytest.LogCaptureFixture) -> None:
    """A conductor that is twice as conductive along the diagonal: no box symmetry, so it is factorised."""

    class Oblique:
        def dofs_per_node(self, dim: int) -> int:
            return 1

        def element_matrix(self, spacing: tuple[float, ...]) -> np.ndarray:
            along = np.array([-1.0, 0, 0, 1])
            return Conduction().element_matrix(spacing) + np.outer(along, along)

    case = clamped_block((80, 60), Conduction())
    with pytest.raises(GridError, match="symmetry of a box"):
        System(case.grid, Oblique(), case.fixed, "native")
    with caplog.at_level(logging.WARNING):
        system = System(case.grid, Oblique(), case.fixed)
    assert isinstance(system.engine, Direct)
    assert "symmetry of a box" in caplog.text


def test_what_auto_takes() -> None:
    for shape, kind in (((8, 6), Direct), ((80, 60), Native), ((4, 3, 3), Direct), ((16, 8, 8), Native)):
        case = clamped_block(shape, Elasticity())
        assert isinstance(System(case.grid, case.physics, case.fixed).engine, kind)
    with pytest.raises(GridError, match="unknown backend"):
        System(case.grid, case.physics, case.fixed, "petsc")  # type: ignore[arg-type]


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert 1 <= available_threads() <= (os.cpu_count() or 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert available_threads() == 1
