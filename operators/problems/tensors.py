"""A problem in UFL as matrices and vectors, for those who cannot ask DOLFINx: where its numbers sit, and J.

Everything is assembled from the problem's own forms and spaces; no physics is written down again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from operators.errors import OperatorError
from operators.problems.fem import FemProblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Component:
    """A scalar of the state: numbers (k,) in the state vector, points (k, dimension), free (k,): no fixed value."""

    numbers: NDArray[np.intp]
    points: Vector
    free: NDArray[np.bool_]


def component(problem: FemProblem, *path: int) -> Component:
    """Part path[0] of the state, or part path[1] of that: of (velocity, pressure), (0, 1) is the second velocity.

    The state is of Lagrange elements; where it is one vector field, the path is the axis.
    """
    space = problem.state_space
    for part in path:
        space = space.sub(part)
    alone, numbers = space.collapse()
    numbers = np.asarray(numbers, np.intp).ravel()
    points = alone.tabulate_dof_coordinates()[: len(numbers), : space.mesh.geometry.dim]
    return Component(numbers, points, ~np.isin(numbers, problem.fixed))


def filter_matrix(problem: FemProblem) -> Vector:
    """m = F x : (n, n), from the design to the field that the equation sees."""
    return np.stack([problem.field(e) for e in np.eye(problem.n)], axis=1)


def bilinear_objective(problem: FemProblem) -> tuple[csr_array, Vector]:
    """A : (n, s) and b : (s,) of J(u, m) = m . A u + b . u, the field m being filtered already.

    Raises:
        OperatorError: J is something else.
    """
    n, s, rng = problem.n, problem.states, np.random.default_rng(0)
    A = problem.objective_mixed(np.zeros(s), np.zeros(n))
    b = problem.objective_slope(np.zeros(s), np.zeros(n)) - A.T @ problem.field(np.zeros(n))
    x, u = rng.uniform(0.2, 0.8, n), rng.standard_normal(s)
    true, found = problem.objective(u, x), float(problem.field(x) @ (A @ u) + b @ u)
    if abs(true - found) > 1e-9 * (abs(true) + float(np.abs(A @ u).sum())):
        raise OperatorError("the objective is not linear in the state and in the design: give its tensors yourself")
    return A, b


@dataclass(frozen=True)
class Quadrature:
    """Attributes: weights: (q,). field: (q, n), the field there. state: (q, s) for each number asked; both sparse."""

    weights: Vector
    field: csr_array
    state: tuple[csr_array, ...]


def quadrature(problem: FemProblem, degree: int, asked: Callable[[Any], Sequence[Any]]) -> Quadrature:
    """The points at which a form of this degree is summed, as matrices.

    Args: asked: state -> expressions that are linear in it, such as its components or strains, in UFL.
    """
    from pde.fem.dolfinx_import import load

    fe = load()
    ufl, mesh = fe.ufl, problem.state_space.mesh
    points = fe.fem.functionspace(mesh, fe.basix.ufl.quadrature_element(mesh.basix_cell(), degree=degree))
    q, dx = ufl.TestFunction(points), ufl.dx(metadata={"quadrature_degree": degree})
    weights = np.zeros(points.dofmap.index_map.size_local)
    fe.fem.assemble_vector(weights, fe.fem.form(q * dx))

    def there(trial: Any) -> csr_array:
        return csr_array(diags_array(1 / weights) @ problem.as_sparse(fe.fem.form(q * trial * dx)))

    state = tuple(there(trial) for trial in asked(ufl.TrialFunction(problem.state_space)))
    return Quadrature(weights, there(ufl.TrialFunction(problem.field_space)), state)
