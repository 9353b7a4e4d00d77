"""The formed body, analysed again by someone else: new mesh, other elements, other solver, same supports and loads.

The optimiser's voxels are stiff at borders, soft where grey is left, and blind to the surface that was extracted from
them. Body-fitted quadratic tetrahedra are none of it. What they find is reported beside the optimiser's claim; the
difference is the honest error bar of the design. On meshes of this size it is itself no better than about 2 %.
"""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import require
from pde.fem.elasticity import ElasticSolution
from pde.fem.elasticity_worker import solve_elasticity_in_child
from pde.fem.errors import FemError, FemSolverError, FemUnavailable
from pde.fem.quadratic import QuadraticTetrahedra
from topopt.cad.body import Points, Surface
from topopt.cad.gates import Gate
from topopt.cad.loads_on_mesh import nodal_forces, total_wrench
from topopt.cad.patch import Patch
from topopt.cad.patch_on_mesh import PatchOnMesh, find_patch
from topopt.cad.tetrahedra import Tetrahedra, tetrahedralise
from topopt.cad.verdict import CaseResult, Reanalysis
from topopt.errors import ReanalysisError
from topopt.loads import LoadCase, Support
from topopt.materials import Material

__all__ = ["Reanalysis", "ReanalysisError", "reanalyse"]

BALANCE = 1e-6  # of the load: what reactions may lack
CLAIM = 0.05  # relative difference in compliance that voxels explain


def reanalyse(
    surface: Surface,
    supports: Sequence[Support],
    cases: Sequence[LoadCase],
    material: Material,
    *,
    claim: float,
    tetrahedra: Tetrahedra | None = None,
    edge: float | None = None,
    epsilon: float = 1e-3,
    seconds: float | None = None,
) -> Reanalysis:
    """Mesh the body, find supports and loads again, solve, compare. Mesher and solver run in processes of their own.

    Args:
        surface: the body as exported.
        claim: the optimiser's compliance, sum over the cases of weight times f . u, N mm.
        tetrahedra: a mesh of the surface that exists already; otherwise it is made with `edge` (mm), `epsilon` and
            `seconds` of CPU time, see `tetrahedralise`.

    Raises:
        ReanalysisError: no mesh, a face was not found again, no solution, one that is not in equilibrium,
            or DOLFINx is not installed.
    """
    started = time.perf_counter()
    if not supports or not cases or not claim > 0:
        raise ReanalysisError("a re-analysis needs at least one support, one load case and a positive claim")
    try:
        require()  # before the mesh, which takes a minute
        if tetrahedra is None:
            tetrahedra = tetrahedralise(surface, edge=edge, epsilon=epsilon, seconds=seconds)
        meshed = time.perf_counter()
        mesh = QuadraticTetrahedra(tetrahedra.vertices, tetrahedra.cells)
        patches = _find_patches(mesh, supports, cases, tetrahedra.epsilon_mm)
        held = _held(mesh, supports, patches)
        forces = np.stack([nodal_forces(mesh, case, patches) for case in cases])
        weights = material.density * np.array([case.gravity for case in cases])
        solution = solve_elasticity_in_child(mesh, material.E, material.nu, held, forces, weights)
    except (FemError, FemSolverError, FemUnavailable) as reason:
        raise ReanalysisError(f"the formed body could not be solved again: {reason}") from reason
    solved = time.perf_counter()
    balance = _balance(mesh, cases, weights, solution)
    results = tuple(_case_result(case, number, solution) for number, case in enumerate(cases))
    compliance = sum(result.weight * result.compliance for result in results)
    return Reanalysis(
        claim=claim,
        yield_strength=material.yield_strength,
        per_case=results,
        gates=(*map(_area_gate, patches.values()), balance, _agreement(compliance / claim - 1)),
        mesh=tetrahedra,
        von_mises=solution.corner_stress,
        displacement=solution.displacement[:, : len(mesh.vertices)],
        dofs=3 * len(mesh.nodes),
        seconds=time.perf_counter() - started,
        seconds_meshing=meshed - started,
        seconds_solving=solved - meshed,
    )


def _find_patches(
    mesh: QuadraticTetrahedra, supports: Sequence[Support], cases: Sequence[LoadCase], epsilon: float
) -> dict[int, PatchOnMesh]:
    """Every patch that is held or loaded, by identity, each searched once."""
    patches: list[Patch] = [support.patch for support in supports]
    patches += [load.patch for case in cases for load in case.loads]
    unique = {id(patch): patch for patch in patches}
    return {key: find_patch(patch, mesh, epsilon) for key, patch in unique.items()}


def _held(mesh: QuadraticTetrahedra, supports: Sequence[Support], patches: dict[int, PatchOnMesh]) -> NDArray[np.bool_]:
    """Displacements that the supports hold, (nodes, 3)."""
    held = np.zeros((len(mesh.nodes), 3), bool)
    for support in supports:
        nodes = patches[id(support.patch)].nodes
        if not len(nodes):
            raise ReanalysisError(
                f"the held face '{support.patch.name}' is smaller than a tetrahedron, no node lies on it: "
                "hold a larger face or ask for a smaller edge"
            )
        held[nodes] |= np.asarray(support.components, bool)
    return held


def _area_gate(found: PatchOnMesh) -> Gate:
    return Gate(
        f"area of '{found.name}' found again",
        abs(found.miss),
        found.allowed,
        abs(found.miss) <= found.allowed,
        f"Found {found.area:.0f} of {found.wanted:.0f} mm2; a held or loaded face that lost material.",
        hard=False,
    )


def _balance(
    mesh: QuadraticTetrahedra, cases: Sequence[LoadCase], weight_density: Points, solution: ElasticSolution
) -> Gate:
    """Reactions against the loads as they were stated, not as they were assembled.

    Raises:
        ReanalysisError: the body is not in equilibrium, so the solution is none.
    """
    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    worst = 0.0
    for case, density, reaction in zip(cases, weight_density, solution.reaction, strict=True):
        wrench, size = total_wrench(mesh, case, density)
        worst = max(worst, float(np.abs((wrench + reaction) / np.repeat([size, size * diagonal], 3)).max()))
    if not worst <= BALANCE:
        raise ReanalysisError(
            f"reactions and loads differ by {worst:.1e} of the load, {BALANCE:.0e} is allowed: it is not valid"
        )
    return Gate(
        "balance of loads and reactions", worst, BALANCE, True, "A load on the wrong place, or a false solution."
    )


def _agreement(difference: float) -> Gate:
    return Gate(
        "compliance against the optimiser's claim",
        abs(difference),
        CLAIM,
        abs(difference) <= CLAIM,
        "Grey left in the design, members of few voxels, or a surface that is not the design's.",
        hard=False,
    )


def _case_result(case: LoadCase, number: int, solution: ElasticSolution) -> CaseResult:
    return CaseResult(
        name=case.name,
        weight=float(case.weight),
        compliance=float(solution.compliance[number]),
        max_displacement_mm=float(np.linalg.norm(solution.displacement[number], axis=1).max()),
        von_mises_max_mpa=float(solution.stress[number].max()),
        von_mises_p99_mpa=solution.stress_quantile(number, 0.99),
        von_mises_p999_mpa=solution.stress_quantile(number, 0.999),
        reaction=tuple(float(r) for r in solution.reaction[number]),
    )
