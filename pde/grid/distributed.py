"""The same problem on many MPI ranks: a structured PETSc mesh, conjugate gradients, algebraic multigrid.

Each rank assembles the elements whose lower corner it owns; GAMG (smoothed aggregation) gets the rigid body motions.
Start a script that calls `solve_on_ranks` with `mpirun -n 4 python script.py`; on a cluster under its scheduler, one
rank per core. Moduli and forces are given whole on every rank. Needs DOLFINx's PETSc: `pip install 'formgrad[fem]'`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import GridError, SolverError
from pde.grid.grid import Grid
from pde.grid.petsc import load_petsc
from pde.grid.physics import Physics
from pde.grid.system import Solution

Field = NDArray[np.float64]


def solve_on_ranks(
    grid: Grid,
    physics: Physics,
    fixed: NDArray[np.bool_],
    modulus: Field,
    force: Field,
    tol: float = 1e-8,
    max_iterations: int = 1000,
) -> Solution:
    """Solve K(E) u = f together with the other ranks of MPI_COMM_WORLD; every rank gets the whole answer.

    Args:
        fixed: (*node_shape, dofs) bool, held at zero.
        modulus: (*shape,), positive everywhere: give void a small modulus.
        force: (*node_shape, dofs).

    Raises:
        GridError: a shape is wrong, an element without stiffness, or PETSc is missing.
        SolverError: the tolerance was not reached.
    """
    PETSc = load_petsc()
    dofs, nodal = physics.dofs_per_node(grid.dim), (*grid.node_shape, physics.dofs_per_node(grid.dim))
    if fixed.shape != nodal or force.shape != nodal or modulus.shape != grid.shape:
        raise GridError(f"this grid needs a modulus of shape {grid.shape}, supports and forces of shape {nodal}")
    if not (np.isfinite(modulus).all() and (modulus > 0).all()):
        raise GridError("modulus must be finite and positive in every element: give void a small modulus")
    mesh = PETSc.DMDA().create(
        dim=grid.dim,
        dof=dofs,
        sizes=grid.node_shape,
        stencil_type=PETSc.DMDA.StencilType.BOX,
        stencil_width=1,
        comm=PETSc.COMM_WORLD,
    )
    ends = [(o, u) for o, u in zip(grid.origin, grid.upper.tolist(), strict=True)]
    mesh.setUniformCoordinates(*[value for pair in ends for value in pair])
    matrix = _assembled(PETSc, mesh, grid, physics, modulus)
    natural = _natural_to_global(mesh, grid, dofs)
    held = np.flatnonzero(_natural(fixed))
    matrix.zeroRowsColumns(natural(held[_share(PETSc, held.size)]), diag=float(modulus.max()))
    b, x = mesh.createGlobalVec(), mesh.createGlobalVec()
    values = _natural(np.where(fixed, 0.0, force))
    some = _share(PETSc, values.size)
    b.setValues(natural(np.arange(values.size)[some]), values[some])
    b.assemble()
    solver = _solver(PETSc, mesh, matrix, dofs, tol, max_iterations)
    solver.solve(b, x)
    residual = float((matrix @ x - b).norm() / (b.norm() or 1.0))
    if solver.getConvergedReason() <= 0 or residual > 10 * tol:
        raise SolverError(
            f"no convergence on {PETSc.COMM_WORLD.size} ranks: relative residual {residual:.1e} after "
            f"{solver.getIterationNumber()} iterations, {tol:.1e} was asked",
            [residual],
        )
    u = _gathered(PETSc, mesh, x).reshape(*grid.node_shape[::-1], dofs)
    return Solution(u.transpose(*range(grid.dim)[::-1], grid.dim), solver.getIterationNumber(), residual)


def _assembled(PETSc: Any, mesh: Any, grid: Grid, physics: Physics, modulus: Field) -> Any:
    """Own elements by coordinates of global values; PETSc sends to other ranks what belongs there."""
    dofs, K = physics.dofs_per_node(grid.dim), physics.element_matrix(tuple(grid.steps.tolist()))
    owned, ghosted = mesh.getRanges(), mesh.getGhostRanges()
    own = [slice(lower, min(upper, n)) for (lower, upper), n in zip(owned, grid.shape, strict=True)]
    sizes = [upper - lower for lower, upper in ghosted]
    numbers = mesh.getLGMap().getIndices().reshape(*sizes[::-1], dofs)
    numbers = numbers.transpose(*range(grid.dim)[::-1], grid.dim)
    corners = [
        numbers[tuple(slice(s.start - g[0] + o, s.stop - g[0] + o) for s, g, o in zip(own, ghosted, c, strict=True))]
        for c in grid.corner_offsets
    ]
    where = np.concatenate([corner.reshape(-1, dofs) for corner in corners], axis=1).astype(np.int32)
    n = where.shape[1]
    matrix = mesh.createMatrix()
    matrix.setPreallocationCOO(np.repeat(where, n, axis=1).ravel(), np.tile(where, n).ravel())
    matrix.setValuesCOO((modulus[tuple(own)].ravel()[:, None] * K.ravel()).ravel(), addv=PETSc.InsertMode.ADD_VALUES)
    matrix.assemble()
    return matrix


def _natural(values: NDArray) -> NDArray:
    """(*node_shape, dofs) -> flat with x fastest and the values of a node together: PETSc's natural order."""
    dim = values.ndim - 1
    return values.transpose(*range(dim)[::-1], dim).ravel()


def _natural_to_global(mesh: Any, grid: Grid, dofs: int) -> Any:
    """A function from natural numbers to those of the matrix."""
    order = mesh.getAO()

    def convert(numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        return order.app2petsc(numbers.astype(np.int32))

    return convert


def _share(PETSc: Any, count: int) -> slice:
    """This rank's part of a list that all ranks have."""
    rank, size = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
    return slice(count * rank // size, count * (rank + 1) // size)


def _solver(PETSc: Any, mesh: Any, matrix: Any, dofs: int, tol: float, max_iterations: int) -> Any:
    if dofs > 1:
        matrix.setNearNullSpace(PETSc.NullSpace().createRigidBody(mesh.getCoordinates()))
    matrix.setOption(PETSc.Mat.Option.SPD, True)
    solver = PETSc.KSP().create(PETSc.COMM_WORLD)
    solver.setOperators(matrix)
    solver.setType(PETSc.KSP.Type.CG)
    solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    solver.getPC().setType(PETSc.PC.Type.GAMG)
    solver.setTolerances(rtol=tol, max_it=max_iterations)
    return solver


def _gathered(PETSc: Any, mesh: Any, x: Any) -> Field:
    natural = mesh.createNaturalVec()
    mesh.globalToNatural(x, natural)
    scatter, whole = PETSc.Scatter.toAll(natural)
    scatter.scatter(natural, whole, mode=PETSc.ScatterMode.FORWARD)
    return whole.getArray().copy()
