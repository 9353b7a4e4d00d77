"""The one place that imports DOLFINx; see `pde.wheel` for what must come before it."""

import importlib
import importlib.util
import os
import shlex
import shutil
import sysconfig
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from pde.fem.errors import FemUnavailable
from pde.wheel import prepare

_INSTALL = (
    "this step needs DOLFINx, which is not installed here: `pip install 'formgrad[fem]'` on Linux x86-64 with "
    "Python 3.12 or newer, or `conda install -c conda-forge fenics-dolfinx` elsewhere"
)
_COMPILER = (
    "DOLFINx compiles its forms with a C compiler and found none ({}): install one (`apt install gcc`), or set the "
    "environment variable CC to the one to use"
)


@dataclass(frozen=True)
class Dolfinx:
    """The modules that an equation is written with."""

    MPI: Any
    PETSc: Any
    basix: ModuleType
    ufl: ModuleType
    mesh: ModuleType
    fem: ModuleType
    petsc: ModuleType
    la: ModuleType


def require() -> None:
    """Ask, without importing anything heavy, whether `load` can work.

    Raises:
        FemUnavailable: DOLFINx or a C compiler is missing.
    """
    if importlib.util.find_spec("dolfinx") is None:
        raise FemUnavailable(_INSTALL)
    # The question that FFCx's build step will ask later, asked while it can still be answered in one sentence.
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        raise FemUnavailable(_COMPILER.format(compiler))


@cache
def load() -> Dolfinx:
    """DOLFINx, PETSc and UFL, imported on the first call.

    Raises:
        FemUnavailable: one of them, or a C compiler, is missing.
    """
    require()
    try:
        prepare()
        MPI = importlib.import_module("mpi4py.MPI")
        PETSc = importlib.import_module("petsc4py.PETSc")
        names = ("basix", "ufl", "dolfinx.mesh", "dolfinx.fem", "dolfinx.fem.petsc", "dolfinx.la")
        modules = [importlib.import_module(name) for name in names]
        importlib.import_module("basix.ufl")
    except ImportError as reason:
        raise FemUnavailable(f"{_INSTALL} ({reason})") from reason
    return Dolfinx(MPI, PETSc, *modules)
