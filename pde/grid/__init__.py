"""Finite elements on regular pixels and voxels, matrix-free.

grid = Grid((60, 20))
system = System(grid, Elasticity(nu=0.3), fixed)
u = system.solve(modulus, forces).u
"""

from pde.grid.errors import GridError, SolverError
from pde.grid.grid import Grid
from pde.grid.physics import Anisotropic, Conduction, Elasticity, Physics, orthotropic
from pde.grid.system import Solution, System

__all__ = [
    "Anisotropic",
    "Conduction",
    "Elasticity",
    "Grid",
    "GridError",
    "Physics",
    "Solution",
    "SolverError",
    "System",
    "orthotropic",
]
