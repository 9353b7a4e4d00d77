"""Compliance: the work of the loads, c = sum_k w_k f_k . u_k with K(rho) u_k = f_k.

The problem is self-adjoint, so the displacement is its own adjoint:

    dc/drho_e = sum_k w_k ( 2 u_k . df_k/drho_e - E'(rho_e) u_e^T K_e u_e )

The first term is there only with self-weight. Bendsoe and Sigmund (2003), section 1.2 and 1.6.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.grid import System
from topopt.interpolation import RAMP, SIMP
from topopt.problem import Problem

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """One look at a design.

    Attributes:
        compliance: weighted sum over the load cases; N mm for structures.
        gradient: (*shape,) its derivative with respect to the density of each element.
        u: (cases, *node_shape, dofs) displacements (mm) or temperatures.
        per_case: (cases,) compliance of each load case without its weight.
        iterations: CG iterations spent.
    """

    compliance: float
    gradient: Field
    u: Field
    per_case: tuple[float, ...]
    iterations: int


class Compliance:
    """The response of one problem; it owns the solver."""

    def __init__(self, problem: Problem, interpolation: SIMP | RAMP, system: System | None = None) -> None:
        self.problem, self.interpolation = problem, interpolation
        self.system = system or System(problem.grid, problem.physics, problem.fixed)

    def modulus(self, rho: Field) -> Field:
        """(*shape,) densities -> moduli, exactly zero where the body is not."""
        return self.problem.modulus * self.problem.filled * self.interpolation(rho)

    def forces(self, rho: Field) -> Field:
        """Loads including the weight of what is there. (cases, *node_shape, dofs), N."""
        p = self.problem
        if p.weight_forces is None:
            return p.forces
        return p.forces + to_nodes(p.weight_forces * (rho * p.filled)[..., None])

    def __call__(self, rho: Field, guess: Field | None = None, tol: float = 1e-8) -> Evaluation:
        """Evaluate a design. rho : (*shape,) physical densities; guess : displacements to start from."""
        p = self.problem
        forces = self.forces(rho)
        solution = self.system.solve(self.modulus(rho), forces, guess, tol)
        per_case = tuple(float(np.vdot(f, u)) for f, u in zip(forces, solution.u, strict=True))
        energies = sum(w * self.system.energies(u) for w, u in zip(p.weights, solution.u, strict=True))
        gradient = -p.modulus * p.filled * self.interpolation.derivative(rho) * energies
        if p.weight_forces is not None:
            work = sum(
                w * (g * to_elements(u)).sum(-1) for w, g, u in zip(p.weights, p.weight_forces, solution.u, strict=True)
            )
            gradient = gradient + 2 * p.filled * work
        compliance = float(np.dot(p.weights, per_case))
        return Evaluation(compliance, gradient, solution.u, per_case, solution.iterations)


def to_nodes(per_element: Field) -> Field:
    """Spread element forces evenly over their corners. (cases, *shape, dim) -> (cases, *node_shape, dim)"""
    cases, *shape, dim = per_element.shape
    nodes = np.zeros((cases, *(n + 1 for n in shape), dim))
    for corner in np.ndindex(*(2,) * len(shape)):
        where = tuple(slice(c, c + n) for c, n in zip(corner, shape, strict=True))
        nodes[(slice(None), *where)] += per_element / 2 ** len(shape)
    return nodes


def to_elements(u: Field) -> Field:
    """Mean of the corner values. (*node_shape, dim) -> (*shape, dim)"""
    shape = tuple(n - 1 for n in u.shape[:-1])
    corners = np.ndindex(*(2,) * len(shape))
    return sum(u[tuple(slice(c, c + n) for c, n in zip(k, shape, strict=True))] for k in corners) / 2 ** len(shape)
