"""Finite elements on unstructured meshes through DOLFINx and PETSc (Baratta et al. 2023; Balay et al. 2024).

Importing this package does not import DOLFINx; the first solve does, through `pde.fem.dolfinx_import`.
"""

from pde.fem.errors import FemError, FemSolverError, FemUnavailable

__all__ = ["FemError", "FemSolverError", "FemUnavailable"]
