"""Errors that a user can mend: one sentence and exit code 2, never a stack trace.

An `except user_errors()` is evaluated when an error is on its way, and a package that was never loaded cannot have
raised it; so naming them costs no import.
"""

import sys

from jobs.errors import JobError, RunFolderError

PLACES = {
    "optim.errors": ("OptimError",),
    "pde.fem.errors": ("FemError", "FemSolverError", "FemUnavailable"),
    "pde.grid.errors": ("GridError", "SolverError"),
    "topopt.errors": ("DesignError", "ExportError", "ReanalysisError"),
    "transport.errors": ("AscentError", "TransportError"),
    "operators.errors": ("OperatorError", "TrainingError"),
}


def user_errors() -> tuple[type[Exception], ...]:
    """All of them, of the packages that are loaded."""
    loaded = [(sys.modules[place], names) for place, names in PLACES.items() if place in sys.modules]
    return (JobError, RunFolderError, *(getattr(module, name) for module, names in loaded for name in names))
