"""Finite elements on unstructured meshes through DOLFINx and PETSc (Baratta et al. 2023; Balay et al. 2024).

Importing this package does not import DOLFINx; the first solve does, through `pde.fem.dolfinx_import`.
"""

from typing import TYPE_CHECKING, Any

from pde.fem.errors import FemError, FemSolverError, FemUnavailable

if TYPE_CHECKING:
    from pde.fem.reduced import Reduced
    from pde.fem.state_map import StateMap
    from pde.fem.transient import Transient

__all__ = ["FemError", "FemSolverError", "FemUnavailable", "Reduced", "StateMap", "Transient"]

_IN = {"Reduced": "reduced", "StateMap": "state_map", "Transient": "transient"}


def __getattr__(name: str) -> Any:
    """The three functionals, once asked for: the errors alone cost nothing."""
    if name not in _IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"pde.fem.{_IN[name]}"), name)
