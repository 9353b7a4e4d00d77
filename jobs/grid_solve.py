"""`formgrad solve problem.yaml`: K(E) u = f on pixels or voxels from a file; under `mpirun` on many ranks.

    solve: elasticity                      # or conduction
    grid: {shape: [64, 32, 32], spacing: 1.0}
    material: {E: 210000, nu: 0.3, element: standard}
    modulus: modulus.npy                   # share of E per element, (*shape,); left away: 1 everywhere
    supports: [{box: {min: [0, 0, 0], max: [0, 32, 32]}, fix: all}]
    loads: [{box: {min: [64, 0, 0], max: [64, 32, 0]}, force: [0, 0, -1]}]     # in all, shared by the nodes in the box
    tolerance: 1e-8

Boxes hold nodes, mm. Every rank reads the file; rank 0 writes the answer and speaks.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from jobs.errors import JobError
from jobs.spec import read_yaml, refuse_unknown_keys, sentence
from jobs.strict import Finite, Positive, Strict
from pde.grid import Conduction, Elasticity, Grid, Solution, System

Mask = NDArray[np.bool_]


class BoxSpec(Strict):
    """Nodes with min <= coordinates <= max, mm."""

    min: list[Finite]
    max: list[Finite]


class GridSpec(Strict):
    shape: list[Annotated[int, Field(ge=1)]]
    spacing: Positive | list[Positive] = 1.0
    origin: list[Finite] = []


class SolidSpec(Strict):
    """E: Young's modulus, MPa (or the conductivity)."""

    E: Positive = 1.0
    nu: Annotated[float, Field(gt=-1, lt=0.5)] = 0.3
    element: Literal["incompatible", "standard"] = "incompatible"
    plane: Literal["stress", "strain"] = "stress"


class HeldSpec(Strict):
    """Held nodes. fix: all, or some axes."""

    box: BoxSpec
    fix: Literal["all"] | list[Literal["x", "y", "z"]] = "all"


class PullSpec(Strict):
    """Loaded nodes. force: one number per axis (one for conduction), in all."""

    box: BoxSpec
    force: list[Finite]


class GridProblem(Strict):
    """One linear problem on a grid; see the module."""

    solve: Literal["elasticity", "conduction"] = "elasticity"
    grid: GridSpec
    material: SolidSpec = SolidSpec()
    modulus: Path | None = None
    supports: list[HeldSpec]
    loads: list[PullSpec]
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-8
    backend: Literal["auto", "native", "numba", "direct", "jax"] = "auto"


def load_problem(path: Path) -> GridProblem:
    """Read and check a problem file.

    Raises:
        JobError: missing or unreadable, an unknown key, a value that cannot be.
    """
    data = read_yaml(path)
    refuse_unknown_keys(data, GridProblem, ())
    try:
        problem = GridProblem.model_validate(data)
    except ValidationError as error:
        raise JobError(sentence(error)) from error
    if problem.modulus is not None:
        problem = problem.model_copy(update={"modulus": (path.parent / problem.modulus).resolve()})
    return problem


def solve_problem(problem: GridProblem) -> tuple[Solution, float]:
    """The solution and its compliance f . u (N mm); together with the other ranks under MPI.

    Raises:
        JobError: a box without nodes, moduli of another shape. GridError, SolverError: see `pde.grid`.
    """
    g = problem.grid
    spacing = tuple(g.spacing) if isinstance(g.spacing, list) else g.spacing
    grid = Grid(tuple(g.shape), spacing, tuple(g.origin))
    m = problem.material
    physics = Elasticity(m.nu, m.element, m.plane) if problem.solve == "elasticity" else Conduction()
    shape = (*grid.node_shape, physics.dofs_per_node(grid.dim))
    fixed, force = np.zeros(shape, bool), np.zeros(shape)
    for number, held in enumerate(problem.supports):
        nodes = _nodes(grid, held.box, f"supports.{number}")
        for axis in range(shape[-1]):
            fixed[..., axis] |= nodes & (held.fix == "all" or "xyz"[axis] in held.fix)
    for number, load in enumerate(problem.loads):
        nodes = _nodes(grid, load.box, f"loads.{number}")
        if len(load.force) != shape[-1]:
            raise JobError(f"loads.{number}.force: give {shape[-1]} numbers, not {len(load.force)}")
        force[nodes] += np.array(load.force) / nodes.sum()
    modulus = m.E * _modulus(problem, grid)
    if ranks() > 1:
        from pde.grid.distributed import solve_on_ranks

        found = solve_on_ranks(grid, physics, fixed, modulus, force, problem.tolerance)
    else:
        found = System(grid, physics, fixed, problem.backend).solve(modulus, force, tol=problem.tolerance)
    return found, float(np.vdot(force, found.u))


def ranks() -> int:
    """How many processes `mpirun` started together with this one; 1 without it."""
    return int(os.environ.get("PMI_SIZE") or os.environ.get("OMPI_COMM_WORLD_SIZE") or 1)


def first_rank() -> bool:
    return int(os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or 0) == 0


def summary(problem: GridProblem, found: Solution, compliance: float) -> dict[str, Any]:
    """What is printed."""
    return {
        "elements": int(np.prod(problem.grid.shape)),
        "ranks": ranks(),
        "compliance": compliance,
        "largest": float(np.linalg.norm(found.u, axis=-1).max()),
        "iterations": found.iterations,
        "relative_residual": found.relative_residual,
    }


def _nodes(grid: Grid, box: BoxSpec, where: str) -> Mask:
    if len(box.min) != grid.dim or len(box.max) != grid.dim:
        raise JobError(f"{where}.box: min and max need {grid.dim} numbers each")
    slack = 1e-9 * float(grid.steps.max())
    axes = [(x >= a - slack) & (x <= b + slack) for x, a, b in zip(grid.node_axes(), box.min, box.max, strict=True)]
    nodes = np.logical_and.reduce(np.meshgrid(*axes, indexing="ij"))
    if not nodes.any():
        raise JobError(f"{where}.box holds no node: it must reach a corner of an element; compare it with the grid")
    return nodes


def _modulus(problem: GridProblem, grid: Grid) -> NDArray[np.float64]:
    if problem.modulus is None:
        return np.ones(grid.shape)
    try:
        values = np.asarray(np.load(problem.modulus, allow_pickle=False), float)
    except (OSError, ValueError) as error:
        raise JobError(f"modulus: {problem.modulus} is no .npy file of numbers that can be read") from error
    if values.shape != grid.shape:
        raise JobError(f"modulus: {problem.modulus.name} has shape {values.shape}, the grid {grid.shape}")
    return values
