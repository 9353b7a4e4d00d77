"""The same numbers on one, two and four processes."""

import importlib.util
from pathlib import Path

import pytest

from tests.pde.parallel import compare, figures, mpirun

pytestmark = pytest.mark.fem

CASE = Path(__file__).with_name("parallel_case.py")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    if mpirun() is None:
        pytest.skip("needs mpirun")
    found = figures(CASE, 1, tmp_path_factory.mktemp("mpi"))
    assert found["slope"] == pytest.approx(found["square"], rel=1e-12)  # Riesz
    assert found["pulled"] == pytest.approx(found["pushed"] ** 2, rel=1e-10)
    assert found["failure"].startswith("the adjoint solve with 'hasty-cg'")
    assert found["folded"] == float("inf")
    return found


def test_two_processes(alone, tmp_path):
    compare(alone, figures(CASE, 2, tmp_path))


@pytest.mark.slow
def test_four_processes(alone, tmp_path):
    compare(alone, figures(CASE, 4, tmp_path))
