"""Structures: what a part must do goes in, the form that does it comes out, as a body that can be made.

from topopt import presets, optimize
result = optimize(presets.mbb_beam(60, 20))
result.export("beam.stl")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topopt import presets
    from topopt.density import Continuation, Settings, optimize
    from topopt.problem import Problem

__all__ = ["Continuation", "Problem", "Settings", "optimize", "presets"]

_PLACES = {"Continuation": "density", "Settings": "density", "optimize": "density", "Problem": "problem"}


def __getattr__(name: str) -> Any:
    # Only when asked for: the small processes that read, cut or mesh a body need no solver, and start in a third of
    # the time without one.
    if name == "presets":
        return import_module("topopt.presets")
    if name in _PLACES:
        return getattr(import_module(f"topopt.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'topopt' has no attribute {name!r}")
