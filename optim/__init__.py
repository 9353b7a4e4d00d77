"""Optimizers. They know no physics, no files and no screen.

import optim
result = optim.minimize(fn, x0, bounds=(0, 1))
"""

from optim.checkpoint import pack, unpack
from optim.errors import OptimError
from optim.functions import Linear, constraint, smooth
from optim.minimize import minimize, start
from optim.problem import Constraint, Problem, Smooth
from optim.result import Info, Result, Snapshot, Stop
from optim.space import Euclidean, Hilbert, Weighted

__all__ = [
    "Constraint",
    "Euclidean",
    "Hilbert",
    "Info",
    "Linear",
    "OptimError",
    "Problem",
    "Result",
    "Smooth",
    "Snapshot",
    "Stop",
    "Weighted",
    "constraint",
    "minimize",
    "pack",
    "smooth",
    "start",
    "unpack",
]
