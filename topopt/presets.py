"""The textbook's problems, with the literature's conventions, so that their published values can be met.

Unit elements and unit modulus, nu = 0.3; y points up in two dimensions. Section numbers in the docs name the sources:
Sigmund (2001), Andreassen et al. (2011), Liu and Tovar (2014), Bendsoe and Sigmund (2003).
"""

from collections.abc import Callable, Sequence

import numpy as np

from pde.grid import Conduction, Elasticity, Grid
from topopt.errors import DesignError
from topopt.problem import Problem

# Stiffness of void where the literature's value is not 1e-9.
E_MIN = {"heat_sink": 1e-3}

STANDARD = Elasticity(nu=0.3, element="standard")


def mbb_beam(nx: int = 60, ny: int = 20, volume_fraction: float = 0.5) -> Problem:
    """Half of the MBB beam: symmetry on the left edge, a roller at the lower right corner, a unit load down at the
    upper left corner."""
    grid = Grid((nx, ny))
    fixed, forces = _blank(grid)
    fixed[0, :, 0] = True
    fixed[nx, 0, 1] = True
    forces[0, 0, ny, 1] = -1.0
    return Problem("mbb_beam", grid, STANDARD, fixed, forces, volume_fraction)


def cantilever(nx: int = 60, ny: int = 20, volume_fraction: float = 0.4, load_at: str = "middle") -> Problem:
    """Left edge clamped, a unit load down on the right edge, at the `middle` or at the `bottom`."""
    if load_at not in ("middle", "bottom"):
        raise DesignError(f"load_at is {load_at!r}: choose 'middle' or 'bottom'")
    grid = Grid((nx, ny))
    fixed, forces = _blank(grid)
    fixed[0] = True
    forces[0, nx, ny // 2 if load_at == "middle" else 0, 1] = -1.0
    return Problem("cantilever", grid, STANDARD, fixed, forces, volume_fraction)


def l_bracket(n: int = 50, arm: int = 20, volume_fraction: float = 0.4) -> Problem:
    """An L of n x n elements with arms `arm` wide: top edge clamped, a unit load down, spread over the upper three
    nodes of the right end."""
    if not 2 <= arm < n:
        raise DesignError(f"arm is {arm}: it must be at least 2 and smaller than n = {n}")
    grid = Grid((n, n))
    fixed, forces = _blank(grid)
    fixed[: arm + 1, n] = True
    forces[0, n, arm - 2 : arm + 1, 1] = -1 / 3
    void = np.zeros(grid.shape, bool)
    void[arm:, arm:] = True
    return Problem("l_bracket", grid, STANDARD, fixed, forces, volume_fraction, void=void)


def bridge(nx: int = 120, ny: int = 40, volume_fraction: float = 0.3) -> Problem:
    """A deck along the bottom that carries one unit of load evenly, and stays; pinned at both lower corners."""
    grid = Grid((nx, ny))
    fixed, forces = _blank(grid)
    fixed[0, 0] = True
    fixed[nx, 0] = True
    share = np.full(nx + 1, 1.0 / nx)
    share[[0, -1]] /= 2
    forces[0, :, 0, 1] = -share
    keep = np.zeros(grid.shape, bool)
    keep[:, : max(1, ny // 20)] = True
    return Problem("bridge", grid, STANDARD, fixed, forces, volume_fraction, keep=keep)


def cantilever_3d(nx: int = 60, ny: int = 20, nz: int = 4, volume_fraction: float = 0.3) -> Problem:
    """Face x = 0 clamped, a unit load down (-y) on every node of the lower edge at the far end."""
    grid = Grid((nx, ny, nz))
    fixed, forces = _blank(grid)
    fixed[0] = True
    forces[0, nx, 0, :, 1] = -1.0
    return Problem("cantilever_3d", grid, STANDARD, fixed, forces, volume_fraction)


def heat_sink(nx: int = 40, ny: int = 40, volume_fraction: float = 0.4, sink: Sequence[int] | None = None) -> Problem:
    """Every node heated by 0.01, kept at zero temperature at the nodes `sink` of the left edge (default: the middle
    five, rows 18 to 22 of 40)."""
    grid = Grid((nx, ny))
    fixed, forces = _blank(grid, dofs=1)
    rows = list(range(ny // 2 - 2, ny // 2 + 3)) if sink is None else list(sink)
    fixed[0, rows] = True
    forces[...] = 0.01
    return Problem("heat_sink", grid, Conduction(), fixed, forces, volume_fraction)


PRESETS: dict[str, Callable[..., Problem]] = {
    f.__name__: f for f in (mbb_beam, cantilever, l_bracket, bridge, cantilever_3d, heat_sink)
}


def _blank(grid: Grid, dofs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    shape = (*grid.node_shape, grid.dim if dofs is None else dofs)
    return np.zeros(shape, bool), np.zeros((1, *shape))
