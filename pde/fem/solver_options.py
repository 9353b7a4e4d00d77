"""Named sets of PETSc options, so that a solve can be asked for, and a failure told, by name.

`direct` is the default: a factorisation serves the state, its adjoint, its tangent and every Hessian action, which is
what optimisation spends its time on. The iterative sets are for meshes whose factors no longer fit into memory.
"""

from dataclasses import dataclass, field

from pde.fem.errors import FemError

RESIDUAL = 1e-8  # |b - K x| / |b| above which an answer is no answer, whatever the solver says of itself
REFINEMENTS = 2  # solves more with the same factors, where the residual is above that
CORRECTION = 1e-8  # |dx| / |x| of the last of them at which x is an answer although rounding keeps its residual above


@dataclass(frozen=True)
class SolverOptions:
    """How linear systems are solved.

    Args:
        name: as it appears in messages.
        options: PETSc options of the KSP without prefix, for instance {"ksp_type": "cg", "pc_type": "gamg"}.
        remedy: what to try when it fails.
        symmetric: it needs a symmetric matrix; then the adjoint is solved with the matrix itself.
        rigid_motions: tell the preconditioner the rigid motions of a displacement field.
        split: precondition velocity and pressure of a mixed space each by its own operator, see `saddle_point`.
        transposes: the preconditioner has no transpose; the adjoint gets one made for the transposed matrix.
    """

    name: str
    options: dict[str, str | int | float] = field(default_factory=dict)
    remedy: str = "use solver='direct'"
    symmetric: bool = False
    rigid_motions: bool = False
    split: bool = False
    transposes: bool = False


OPTIONS = {
    options.name: options
    for options in (
        SolverOptions(
            "direct",
            {"ksp_type": "preonly", "pc_type": "lu", "pc_factor_mat_solver_type": "mumps"},
            "the linearised equation may be singular: fix the solution somewhere (a Dirichlet condition, one pressure "
            "value), and check that coefficients stay positive",
        ),
        SolverOptions(
            "gmres-ilu",
            {"ksp_type": "gmres", "pc_type": "ilu", "ksp_rtol": 1e-12, "ksp_max_it": 1000, "ksp_gmres_restart": 200},
            "use solver='direct', or allow more iterations",
        ),
        SolverOptions(
            "poisson-gamg",
            {"ksp_type": "cg", "pc_type": "gamg", "ksp_rtol": 1e-12, "ksp_max_it": 300},
            "the equation must be symmetric and elliptic: use solver='direct' otherwise, or for strong contrasts",
            symmetric=True,
        ),
        SolverOptions(
            "elasticity-gamg",
            {
                "ksp_type": "cg",
                "pc_type": "gamg",
                "ksp_rtol": 1e-12,
                "ksp_max_it": 500,
                "mg_levels_ksp_type": "chebyshev",
                "mg_levels_pc_type": "jacobi",
            },
            "the body may be badly held or the contrast of its moduli too strong: use solver='direct'",
            symmetric=True,
            rigid_motions=True,
        ),
        SolverOptions(
            "stokes-fieldsplit",
            {
                "ksp_type": "fgmres",
                "ksp_rtol": 1e-12,
                "ksp_max_it": 400,
                "ksp_gmres_restart": 200,
                "pc_fieldsplit_schur_fact_type": "upper",
                "fieldsplit_velocity_ksp_type": "preonly",
                "fieldsplit_velocity_pc_type": "gamg",
                "fieldsplit_pressure_ksp_type": "preonly",
                "fieldsplit_pressure_pc_type": "jacobi",
            },
            "the first part of the mixed space must be the velocity and the second the pressure, and the flow slow: "
            "use solver='direct' otherwise",
            split=True,
            transposes=True,
        ),
    )
}

# SNES, for equations that are not linear in the state.
NEWTON: dict[str, str | int | float] = {
    "snes_type": "newtonls",
    "snes_linesearch_type": "bt",
    "snes_rtol": 1e-11,
    "snes_atol": 1e-14,
    "snes_stol": 0.0,
    "snes_max_it": 40,
}


def named(solver: str | SolverOptions) -> SolverOptions:
    """The set of that name, or the one given.

    Raises:
        FemError: there is no such name.
    """
    if isinstance(solver, SolverOptions):
        return solver
    if solver not in OPTIONS:
        raise FemError(
            f"there is no solver named {solver!r}: choose one of {', '.join(OPTIONS)}, or give SolverOptions"
        )
    return OPTIONS[solver]
