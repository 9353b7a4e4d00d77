"""Grid problems need nothing of the DOLFINx wheel."""

import subprocess
import sys

# As on a machine without the wheel: its modules are not found.
HIDDEN = """
import sys
class Hidden:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, path=None, target=None):
        wheel = ('dolfinx', 'dolfinx_solver', 'petsc4py', 'mpi4py', 'basix', 'ufl', 'ffcx')
        return None if name.partition('.')[0] in wheel else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Hidden(finder) for finder in sys.meta_path]
"""
PROBLEMS = """
import numpy as np
from pde.grid import Elasticity, Grid, System
from pde.fem.dolfinx_import import require
from pde.fem.errors import FemUnavailable
try:
    require()
    raise SystemExit('DOLFINx is not hidden')
except FemUnavailable:
    pass
grid = Grid((6, 3, 3))
fixed, force = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
fixed[0, :, :, 0] = True
force[-1, :, :, 0] = np.outer(*2 * [[0.5, 1, 1, 0.5]]) / 9  # 1 in all, consistent with one pressure
fixed[:, 0, :, 1] = fixed[:, :, 0, 2] = True  # symmetry: the sides may shrink
for backend in ('native', 'numba', 'direct', 'jax'):
    solution = System(grid, Elasticity(), fixed, backend).solve(np.ones(grid.shape), force, tol=1e-10)
    print(backend, float(solution.u[-1, 1, 1, 0]))
"""


def test_a_bar_is_pulled_by_every_engine() -> None:
    """F L / (E A) = 1 * 6 / 9, uniaxial."""
    done = subprocess.run([sys.executable, "-c", HIDDEN + PROBLEMS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found.keys() == {"native", "numba", "direct", "jax"}
    for u in found.values():
        assert abs(float(u) - 6 / 9) <= 1e-8
