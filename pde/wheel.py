"""What must be so before PETSc and DOLFINx are imported from their wheel.

h5py brings an HDF5 of its own, which must come first: the other way round it finds foreign types. `dolfinx_solver`
loads MPI and refuses a foreign PETSc; a conda installation has no such package and needs none. UCX, the transport under
the wheel's MPI, is kept to shared memory and TCP: looking for fabrics that are not there costs seconds. PETSc's handler
of signals would end the process when a program that it writes to closes its pipe.
"""

import contextlib
import importlib
import importlib.util
import os

QUIET = "-no_signal_handler"


def prepare() -> None:
    """Raises: ImportError, the wheel is there and cannot be loaded."""
    os.environ.setdefault("UCX_TLS", "self,sm,tcp")
    options = os.environ.get("PETSC_OPTIONS", "")
    if QUIET not in options:
        os.environ["PETSC_OPTIONS"] = f"{options} {QUIET}".strip()
    with contextlib.suppress(ImportError):
        importlib.import_module("h5py")
    if importlib.util.find_spec("dolfinx_solver"):
        importlib.import_module("dolfinx_solver")
