"""What is asked: a grid, what is held, what pulls, what must stay and what must go, and how much material there may be.

Everything a person can state wrongly is found here, before the first solve, and told in one sentence.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from pde.grid import Conduction, Elasticity, Grid
from pde.grid.islands import corners
from topopt.errors import DesignError

Field = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Problem:
    """Stiffest (or best conducting) design for a given amount of material.

    Attributes:
        name: for messages, files and reports.
        grid: the elements; mm for structures.
        physics: `Elasticity` or `Conduction`, with unit modulus.
        fixed: (*node_shape, dofs) bool, nodal values held at zero.
        forces: (cases, *node_shape, dofs), N for structures.
        volume_fraction: material allowed, as a fraction of the body, in (0, 1).
        weights: (cases,) weight of each load case in the objective.
        modulus: Young's modulus (MPa) or conductivity of the solid.
        fraction: (*shape,) how much of each element the body fills, 0..1. Default: all of it.
        keep: (*shape,) bool, elements that stay solid.
        void: (*shape,) bool, elements that stay empty.
        weight_forces: (cases, *shape, dim), weight of each full element along each axis, N; None without gravity.
        thickness: of a two-dimensional design, mm.
    """

    name: str
    grid: Grid
    physics: Elasticity | Conduction
    fixed: Mask
    forces: Field
    volume_fraction: float
    weights: tuple[float, ...] = (1.0,)
    modulus: float = 1.0
    fraction: Field | None = None
    keep: Mask | None = None
    void: Mask | None = None
    weight_forces: Field | None = None
    thickness: float = 1.0

    @cached_property
    def filled(self) -> Field:
        """Volume fraction of the body in each element, zero where nothing may be. (*shape,)"""
        fraction = np.ones(self.grid.shape) if self.fraction is None else np.asarray(self.fraction, float)
        return fraction if self.void is None else np.where(self.void, 0.0, fraction)

    @cached_property
    def kept(self) -> Mask:
        """Elements that are solid from the start. (*shape,)"""
        keep = np.zeros(self.grid.shape, bool) if self.keep is None else np.asarray(self.keep, bool)
        return keep & (self.filled > 0)

    @cached_property
    def free(self) -> Mask:
        """Elements that the design decides about. (*shape,)"""
        return (self.filled > 0) & ~self.kept

    @property
    def body_volume(self) -> float:
        """mm3, or mm2 times thickness in two dimensions."""
        depth = self.thickness if self.grid.dim == 2 else 1.0
        return float(self.filled.sum()) * self.grid.element_volume * depth

    def with_volume(self, volume_fraction: float) -> "Problem":
        return replace(self, volume_fraction=volume_fraction)


def check(problem: Problem) -> None:
    """Find what cannot be solved before it is tried.

    Raises:
        DesignError: with the field to change and how.
    """
    _check_numbers(problem)
    _check_supports(problem)
    _check_loads(problem)
    _check_load_paths(problem)


def _check_numbers(problem: Problem) -> None:
    vector_shape = (*problem.grid.node_shape, problem.physics.dofs_per_node(problem.grid.dim))
    for name, array, shape in [
        ("fixed", problem.fixed, vector_shape),
        ("forces", problem.forces[0], vector_shape),
        ("fraction", problem.filled, problem.grid.shape),
        ("keep", problem.kept, problem.grid.shape),
    ]:
        if np.shape(array) != shape:
            raise DesignError(f"{name} has shape {np.shape(array)}, this grid needs {shape}")
    for name, value in [("forces", problem.forces), ("fraction", problem.filled), ("modulus", problem.modulus)]:
        if not np.isfinite(value).all():
            raise DesignError(f"{name} holds a value that is not a number: check the job file and the units")
    V = problem.volume_fraction
    if not 0 < V < 1:
        raise DesignError(f"volume_fraction is {V}: it must lie between 0 and 1 (0.3 keeps 30 % of the body)")
    if len(problem.weights) != len(problem.forces) or min(problem.weights) < 0 or sum(problem.weights) <= 0:
        raise DesignError("every load case needs a weight of 0 or more, and one of them must be positive")
    if not problem.modulus > 0:
        raise DesignError(f"the material's modulus is {problem.modulus}: it must be positive")
    if not (problem.filled > 0).any():
        raise DesignError("the body fills no element: choose smaller voxels, or check the keep_out regions")
    if not problem.free.any():
        raise DesignError("nothing is left to design: the keep regions cover the whole body; make them smaller")
    kept = float((problem.filled * problem.kept).sum() / problem.filled.sum())
    if kept >= V:
        raise DesignError(
            f"the kept regions alone are {kept:.1%} of the body, but volume_fraction is {V:.1%}: "
            "raise volume_fraction or make the keep regions smaller"
        )


def _check_supports(problem: Problem) -> None:
    held = problem.fixed & corners(problem.filled > 0)[..., None]
    if not held.any():
        raise DesignError("no support: nothing holds the body; add at least one entry under supports")
    if isinstance(problem.physics, Conduction):
        return
    missing = _free_rigid_motions(problem.grid, held)
    if missing:
        raise DesignError(
            f"the supports leave {missing} rigid motion{'s' if missing > 1 else ''} of the body free: "
            "hold more directions or a larger area"
        )


def _check_loads(problem: Problem) -> None:
    loaded = np.abs(problem.forces).max(axis=(0, -1)) > 0
    if not loaded.any() and problem.weight_forces is None:
        raise DesignError("no load: nothing pulls on the body; add a force, pressure, moment or gravity under loads")
    if (loaded & ~corners(problem.filled > 0)).any():
        raise DesignError("a load acts on nothing: some loaded nodes touch no material; move the load onto the body")
    for number, case in enumerate(problem.forces):
        own_weight = problem.weight_forces is not None and np.abs(problem.weight_forces[number]).any()
        if not own_weight and not np.abs(case[~problem.fixed]).any():
            raise DesignError(f"load case {number + 1} acts only where the body is held: it does no work; move it")


def _check_load_paths(problem: Problem) -> None:
    labels, count = cast(tuple[Mask, int], ndimage.label(problem.filled > 0))
    for piece in range(1, count + 1):
        nodes = corners(labels == piece)
        if problem.fixed[nodes].any():
            continue
        if np.abs(problem.forces[:, nodes]).any():
            raise DesignError(
                "disconnected load path: a loaded piece of the body is not connected to any support; "
                "close the gap, use smaller voxels, or support that piece"
            )
        raise DesignError(
            f"floating part: a piece of {int((labels == piece).sum())} voxels touches neither support nor load; "
            "remove it from the body, or connect it"
        )


def _free_rigid_motions(grid: Grid, held: Mask) -> int:
    """How many independent rigid motions vanish at every held degree of freedom."""
    middle, extent = (np.asarray(grid.origin) + grid.upper) / 2, float(np.max(grid.steps * grid.shape))
    points = (grid.nodes()[held.any(axis=-1)] - middle) / extent
    rows = held[held.any(axis=-1)]
    x = points
    motions = [np.eye(grid.dim)[axis] * np.ones((len(x), 1)) for axis in range(grid.dim)]
    for a, b in [(0, 1)] if grid.dim == 2 else [(0, 1), (1, 2), (0, 2)]:
        spin = np.zeros_like(x)
        spin[:, a], spin[:, b] = -x[:, b], x[:, a]
        motions.append(spin)
    R = np.stack([m[rows] for m in motions], axis=1)
    scale = np.sqrt(max(1, len(R)))
    values = np.linalg.svd(R / scale, compute_uv=False)
    return R.shape[1] - int((values > 1e-6).sum())
