"""Shipped problems with the state in sight, as the hybrid and the surrogates need them (`pde.functional.StateProblem`).

`pde.problems.inversion` is such a problem as it stands.
"""
