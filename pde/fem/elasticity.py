"""Linear isotropic elasticity on quadratic tetrahedra, several load cases at once.

    find u in V, u = 0 where held:   int sigma(u) : eps(v) dx = int b . v dx + sum_i f_i . v(x_i)   for all v in V

with eps(u) = (grad u + grad u^T) / 2 and sigma = lambda tr(eps) I + 2 mu eps. The cases share matrix and
preconditioner: CG with smoothed-aggregation multigrid (PETSc's GAMG), which is told the six rigid motions that cost no
energy (Vanek, Mandel and Brezina 1996).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pde.fem.dolfinx_import import Dolfinx, load
from pde.fem.errors import FemError, FemSolverError
from pde.fem.quadratic import CELL_EDGES, QuadraticTetrahedra

Field = NDArray[np.float64]

TOLERANCE = 1e-8
MAX_ITERATIONS = 1000
_REMEDY = "the tetrahedra are too poor or a part hangs by a thread: mesh again with a smaller edge or a larger epsilon"


@dataclass(frozen=True)
class ElasticSolution:
    """Displacements that were reached, and what follows from them. Units mm, N, MPa.

    Attributes:
        displacement: (cases, nodes, 3), in the order of `QuadraticTetrahedra.nodes`.
        compliance: (cases,), work of all loads f . u, N mm.
        load: (cases, 6), resultant of all nodal loads and its moment about the origin, N and N mm.
        reaction: (cases, 6), the same of the forces that the supports give, at held nodes only.
        stress: (cases, cells, 4), von Mises stress at four interior points of each tetrahedron.
        stress_volume: (cells, 4), the volume that each of these points stands for.
        corner_stress: (cases, vertices), von Mises stress averaged to the corners, for pictures.
        iterations: CG iterations of each case.
        relative_residual: |f - K u| / |f| of each case.
    """

    displacement: Field
    compliance: Field
    load: Field
    reaction: Field
    stress: Field
    stress_volume: Field
    corner_stress: Field
    iterations: NDArray[np.int64]
    relative_residual: Field

    def stress_quantile(self, case: int, share: float) -> float:
        """Von Mises stress that `share` of the volume stays below, MPa."""
        stress, volume = self.stress[case].ravel(), self.stress_volume.ravel()
        order = np.argsort(stress)
        reached = np.cumsum(volume[order])
        return float(stress[order][np.searchsorted(reached, share * reached[-1]).clip(max=len(order) - 1)])


def solve_elasticity(
    mesh: QuadraticTetrahedra,
    E: float,
    nu: float,
    held: NDArray[np.bool_],
    forces: Field,
    body_forces: Field | None = None,
) -> ElasticSolution:
    """Solve every load case.

    Args:
        mesh: the body, in one piece.
        E: Young's modulus, MPa, positive. nu: Poisson's ratio, in (-1, 0.5).
        held: (nodes, 3), True where a component of the displacement is zero.
        forces: (cases, nodes, 3), N; `QuadraticTetrahedra.facet_forces` makes them from tractions.
        body_forces: (cases, 3), N/mm3, for instance density times gravity.

    Raises:
        FemError: a shape is wrong, a number is not finite, the body is in pieces or can move freely.
        FemSolverError: the tolerance was not reached.
        FemUnavailable: DOLFINx is not installed.
    """
    held, forces = np.asarray(held, bool), np.asarray(forces, float)
    body_forces = np.zeros((len(forces), 3)) if body_forces is None else np.asarray(body_forces, float)
    _check(mesh, E, nu, held, forces, body_forces)
    fe = load()
    system = _System(fe, mesh, E, nu, held)
    answers = [system.solve(f, b) for f, b in zip(forces, body_forces, strict=True)]
    u, loads, reactions, iterations, residuals = zip(*answers, strict=True)
    stress, stress_volume, corner_stress = system.stresses(u)
    return ElasticSolution(
        displacement=np.stack(u),
        compliance=np.array([np.vdot(f, v) for f, v in zip(loads, u, strict=True)]),
        load=np.stack([_wrench(mesh.nodes, f) for f in loads]),
        reaction=np.stack([_wrench(mesh.nodes, r) for r in reactions]),
        stress=stress,
        stress_volume=stress_volume,
        corner_stress=corner_stress,
        iterations=np.array(iterations),
        relative_residual=np.array(residuals),
    )


class _System:
    """The assembled equation. Nodes are numbered as in `mesh` outside, as DOLFINx pleases inside."""

    def __init__(self, fe: Dolfinx, mesh: QuadraticTetrahedra, E: float, nu: float, held: NDArray[np.bool_]) -> None:
        ufl = fe.ufl
        self.fe, self.mesh, self.held = fe, mesh, held
        line = fe.basix.ufl.element("Lagrange", "tetrahedron", 1, shape=(3,))
        self.domain = fe.mesh.create_mesh(fe.MPI.COMM_SELF, mesh.cells, line, mesh.vertices)
        self.V = fe.fem.functionspace(self.domain, ("Lagrange", 2, (3,)))
        self.dof = _node_dofs(self.domain, self.V, mesh)
        self.u = fe.fem.Function(self.V)
        self.b = fe.fem.Constant(self.domain, np.zeros(3))
        mu, lam = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
        # Constants rather than numbers: one compiled form serves every material.
        mu, lam = fe.fem.Constant(self.domain, mu), fe.fem.Constant(self.domain, lam)

        def eps(u: Any) -> Any:
            return ufl.sym(ufl.grad(u))

        def sigma(u: Any) -> Any:
            return lam * ufl.tr(eps(u)) * ufl.Identity(3) + 2 * mu * eps(u)

        u, v = ufl.TrialFunction(self.V), ufl.TestFunction(self.V)
        a = fe.fem.form(ufl.inner(sigma(u), eps(v)) * ufl.dx)
        self.weight = fe.fem.form(ufl.inner(self.b, v) * ufl.dx)
        self.inner_force = fe.fem.form(ufl.inner(sigma(self.u), eps(v)) * ufl.dx)
        s = ufl.dev(sigma(self.u))
        self.von_mises = ufl.sqrt(1.5 * ufl.inner(s, s))

        self.K = fe.petsc.assemble_matrix(a, bcs=self._supports())
        self.K.assemble()
        self.K.setNearNullSpace(self._rigid_motions())
        self.solver = self._solver()

    def _supports(self) -> list[Any]:
        bcs = []
        for axis in range(3):
            dofs = np.sort(self.dof[self.held[:, axis]]).astype(np.int32)
            space = self.V.sub(axis)
            # A blocked space numbers component `axis` of node n as 3 n + axis.
            bcs.append(self.fe.fem.dirichletbc(self.fe.PETSc.ScalarType(0), 3 * dofs + axis, space))
        return bcs

    def _rigid_motions(self) -> Any:
        motions = rigid_motions(self.mesh.nodes)
        vectors = []
        for motion in motions:
            vector = self.K.createVecRight()
            vector.array[:] = self._inside(motion)
            vectors.append(vector)
        for i, vector in enumerate(vectors):
            for other in vectors[:i]:
                vector.axpy(-vector.dot(other), other)
            vector.normalize()
        return self.fe.PETSc.NullSpace().create(vectors=vectors, comm=self.fe.MPI.COMM_SELF)

    def _solver(self) -> Any:
        PETSc = self.fe.PETSc
        solver = PETSc.KSP().create(self.fe.MPI.COMM_SELF)
        solver.setOptionsPrefix(f"formgrad_elasticity_{id(self)}_")
        options = PETSc.Options(solver.getOptionsPrefix())
        chosen = {
            "mg_levels_ksp_type": "chebyshev",
            "mg_levels_pc_type": "jacobi",
            "mg_levels_esteig_ksp_type": "cg",
            "mg_levels_ksp_chebyshev_esteig_steps": 20,
        }
        for name, value in chosen.items():
            options[name] = value
        solver.setOperators(self.K)
        solver.setType("cg")
        solver.getPC().setType("gamg")
        solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
        solver.setTolerances(rtol=TOLERANCE, atol=0.0, max_it=MAX_ITERATIONS)
        solver.setFromOptions()
        for name in chosen:
            options.delValue(name)
        return solver

    def solve(self, force: Field, body_force: Field) -> tuple[Field, Field, Field, int, float]:
        """Displacement, load and reaction (nodes, 3), iterations, relative residual."""
        self.b.value[:] = body_force
        f = self._outside(self.fe.fem.assemble_vector(self.weight).array) + force
        b, x = self.K.createVecLeft(), self.K.createVecRight()
        b.array[:] = self._inside(np.where(self.held, 0.0, f))
        if b.norm() == 0:
            raise FemError("a load case has no force at a node that can move: it does no work; move the load")
        try:
            self.solver.solve(b, x)
        except self.fe.PETSc.Error as reason:
            raise FemSolverError(f"the multigrid solver broke down (PETSc error {reason.ierr}): {_REMEDY}") from reason
        residual = (self.K * x - b).norm() / b.norm()
        iterations = self.solver.getIterationNumber()
        if self.solver.getConvergedReason() <= 0 or not residual <= 10 * TOLERANCE:
            raise FemSolverError(
                f"the elastic solve stopped after {iterations} iterations at a relative residual of {residual:.1e} "
                f"where {TOLERANCE:.0e} was asked: {_REMEDY}"
            )
        # Multigrid leaves rounding at held values, which are zero by definition.
        u = np.where(self.held, 0.0, self._outside(x.array))
        self.u.x.array[:] = self._inside(u)
        inner = self._outside(self.fe.fem.assemble_vector(self.inner_force).array)
        return u, f, np.where(self.held, inner - f, 0.0), iterations, residual

    def stresses(self, displacements: tuple[Field, ...]) -> tuple[Field, Field, Field]:
        """Von Mises stress at interior points, their volumes, and the stress averaged to corners."""
        tetrahedron = self.fe.basix.CellType.tetrahedron
        points, weights = self.fe.basix.make_quadrature(tetrahedron, 2)
        order = np.argsort(self.domain.topology.original_cell_index)
        # One expression for both: interior points first, then the corners of the tetrahedron.
        expression = self.fe.fem.Expression(self.von_mises, np.vstack([points, self.fe.basix.geometry(tetrahedron)]))
        corners = _corners(self.domain)[order]
        weight = np.repeat(self.mesh.volumes[:, None], 4, axis=1)
        total = np.bincount(corners.ravel(), weight.ravel())
        inner, at_corners = [], []
        for u in displacements:
            self.u.x.array[:] = self._inside(u)
            values = expression.eval(self.domain, np.arange(len(order), dtype=np.int32)).reshape(len(order), -1)[order]
            inner.append(values[:, : len(points)])
            at_corners.append(np.bincount(corners.ravel(), (weight * values[:, len(points) :]).ravel()) / total)
        return np.stack(inner), 6 * self.mesh.volumes[:, None] * weights, np.stack(at_corners)

    def _inside(self, field: Field) -> Field:
        block = np.empty_like(field)
        block[self.dof] = field
        return block.ravel()

    def _outside(self, array: Field) -> Field:
        return array.reshape(-1, 3)[self.dof]


def rigid_motions(points: Field) -> Field:
    """Three translations and three rotations about the middle, scaled to size one. points : (n, 3) -> (6, n, 3)"""
    middle = points.mean(axis=0)
    size = float(np.ptp(points, axis=0).max()) or 1.0
    arms = (points - middle) / size
    return np.stack([*(np.tile(e, (len(points), 1)) for e in np.eye(3)), *(np.cross(e, arms) for e in np.eye(3))])


def _wrench(points: Field, forces: Field) -> Field:
    """Resultant and moment about the origin, (6,)."""
    return np.concatenate([forces.sum(axis=0), np.cross(points, forces).sum(axis=0)])


def _corners(domain: Any) -> NDArray[np.int64]:
    """Corners of DOLFINx's cells in its local order, by the input's vertex numbers, (m, 4)."""
    return domain.geometry.input_global_indices[domain.geometry.dofmaps[0]]


def _node_dofs(domain: Any, V: Any, mesh: QuadraticTetrahedra) -> NDArray[np.int64]:
    """DOLFINx's block number of each node of the mesh, (nodes,)."""
    corners = _corners(domain)
    dof = np.empty(len(mesh.nodes), np.int64)
    dof[np.hstack([corners, mesh.middles(corners[:, CELL_EDGES])])] = V.dofmap.list
    return dof


def _check(
    mesh: QuadraticTetrahedra, E: float, nu: float, held: NDArray[np.bool_], forces: Field, body_forces: Field
) -> None:
    if not (np.isfinite(E) and E > 0 and -1 < nu < 0.5):
        raise FemError(f"Young's modulus must be positive and Poisson's ratio in (-1, 0.5), not E = {E}, nu = {nu}")
    n = len(mesh.nodes)
    if held.shape != (n, 3) or forces.shape[1:] != (n, 3) or not len(forces) or body_forces.shape != (len(forces), 3):
        raise FemError(
            f"with {n} nodes, held must be ({n}, 3), forces (cases, {n}, 3) and body_forces (cases, 3), "
            f"not {held.shape}, {forces.shape} and {body_forces.shape}"
        )
    if not (np.isfinite(forces).all() and np.isfinite(body_forces).all()):
        raise FemError("forces and body_forces must be finite everywhere")
    pairs = mesh.edges.T
    graph = coo_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(len(mesh.vertices),) * 2)
    pieces = connected_components(graph, directed=False, return_labels=False)
    if pieces != 1:
        raise FemError(f"the mesh is in {pieces} pieces: keep the largest and drop the others")
    rows = rigid_motions(mesh.nodes)[:, held]
    free = 6 - (np.linalg.matrix_rank(rows @ rows.T, tol=1e-12 * max(1, rows.shape[1])) if rows.size else 0)
    if free:
        raise FemError(
            f"the supports leave {free} of the six rigid motions of the body free: hold more directions or faces"
        )
