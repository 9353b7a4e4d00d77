"""A small MBB half on a regular triangulation, made without a mesher."""

import numpy as np
import pytest

from topopt.features import FeatureProblem
from topopt.features.layout import squares
from topopt.features.mesh import Mesh
from topopt.features.plate import TrianglePlate


def crossed(nx: int, ny: int, width: float, height: float) -> Mesh:
    """nx x ny rectangles, each cut into four triangles."""
    x, y = np.linspace(0, width, nx + 1), np.linspace(0, height, ny + 1)
    corner = np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2)
    middle = np.stack(np.meshgrid((x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, indexing="ij"), -1).reshape(-1, 2)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij"))
    a, b, c, d = (ii * (ny + 1) + jj for ii, jj in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
    m = len(corner) + i * ny + j
    cells = np.concatenate([np.stack(t, 1) for t in ((a, b, m), (b, c, m), (c, d, m), (d, a, m))])
    return Mesh(np.concatenate([corner, middle]), cells)


def mbb(nx: int = 36, ny: int = 12) -> TrianglePlate:
    """The half beam of 1.2 x 0.4 mm of task 3."""
    mesh = crossed(nx, ny, 1.2, 0.4)
    x, y = mesh.nodes.T
    fixed = np.stack([x < 1e-9, (x > 1.2 - 1e-9) & (y < 1e-9)], 1)
    forces = np.zeros((len(x), 2))
    forces[(x < 1e-9) & (y > 0.4 - 1e-9), 1] = -0.0025
    return TrianglePlate(mesh, fixed, forces)


@pytest.fixture(scope="session")
def plate() -> TrianglePlate:
    return mbb()


@pytest.fixture(scope="session")
def problem(plate) -> FeatureProblem:
    return FeatureProblem(plate, 0.5, squares(plate, 4, 2))
