"""Design with features: voids and bars that leave as the lines, arcs and ellipses they were optimised as.

from topopt.features import optimize, tasks
result = optimize(tasks.problem(3))
wires = [shape.wires() for shape in result.shapes]
"""

from topopt.features.backend import Backend, heaviside
from topopt.features.design import FeatureDesign, optimize
from topopt.features.finish import Result
from topopt.features.problem import FeatureProblem, Settings
from topopt.features.restarts import Restarts, Series
from topopt.features.shapes import Capsule, Ellipse, Quadrilateral, RoundedPolygon, Slot, Triangle
from topopt.features.state import Info, State

__all__ = [
    "Backend",
    "Capsule",
    "Ellipse",
    "FeatureDesign",
    "FeatureProblem",
    "Info",
    "Quadrilateral",
    "Restarts",
    "Result",
    "RoundedPolygon",
    "Series",
    "Settings",
    "Slot",
    "State",
    "Triangle",
    "heaviside",
    "optimize",
]
