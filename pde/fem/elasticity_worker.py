"""`solve_elasticity` in a process of its own: an abort inside PETSc or MPI must not end the run that asked."""

from dataclasses import fields

import numpy as np

from pde.child_process import Arrays, ChildError, call, serve
from pde.fem import errors
from pde.fem.elasticity import ElasticSolution, Field, solve_elasticity
from pde.fem.quadratic import QuadraticTetrahedra


def solve_elasticity_in_child(
    mesh: QuadraticTetrahedra,
    E: float,
    nu: float,
    held: np.ndarray,
    forces: Field,
    body_forces: Field | None = None,
    *,
    seconds: float = 300.0,
) -> ElasticSolution:
    """`solve_elasticity` with a limit on its CPU time; arguments, answer and errors are the same.

    Raises:
        FemSolverError: also when the child crashed or ran out of time.
    """
    body_forces = np.zeros((len(forces), 3)) if body_forces is None else body_forces
    arrays = {"vertices": mesh.vertices, "cells": mesh.cells, "E": E, "nu": nu}
    try:
        answer = call(
            "pde.fem.elasticity_worker",
            arrays | {"held": held, "forces": forces, "body_forces": body_forces},
            seconds,
        )
    except ChildError as reason:
        known = {"FemError": errors.FemError, "FemUnavailable": errors.FemUnavailable}
        raise known.get(reason.kind, errors.FemSolverError)(str(reason)) from reason
    return ElasticSolution(**answer)


def _solve(given: Arrays) -> Arrays:
    mesh = QuadraticTetrahedra(given["vertices"], given["cells"])
    solution = solve_elasticity(
        mesh, float(given["E"]), float(given["nu"]), given["held"], given["forces"], given["body_forces"]
    )
    return {field.name: getattr(solution, field.name) for field in fields(solution)}


if __name__ == "__main__":
    serve(_solve)
