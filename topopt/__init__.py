"""Structures: what a part must do goes in, the form that does it comes out, as a body that can be made.

from topopt import presets, optimize
result = optimize(presets.mbb_beam(60, 20))
result.export("beam.stl")
"""

from topopt import presets
from topopt.density import Continuation, Settings, optimize
from topopt.problem import Problem

__all__ = ["Continuation", "Problem", "Settings", "optimize", "presets"]
