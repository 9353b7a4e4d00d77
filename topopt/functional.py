"""A topology problem as others see it: compliance as a function of the free variables, and the volume as a constraint.

    J(x) = c(rho(x)),   x : (free elements,) in [0, 1],   dv . x <= target

`posed` makes it an `optim.Problem` that any method of `optim.design` takes; `pde.functional.taylor_test` checks it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

import optim
from topopt.errors import DesignError
from topopt.projection import Tanh
from topopt.responses.compliance import Evaluation, to_elements, to_nodes

if TYPE_CHECKING:
    from topopt.density import DensityDesign, State

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """One look: the design x, the filtered field and the physical density (*shape,), the projection, the response."""

    x: Field
    filtered: Field
    rho: Field
    projection: Tanh | None
    look: Evaluation


class ComplianceFunctional:
    """Compliance of a design in one stage of its continuation.

    Every look starts from the same guess, so J(x) depends on x alone and has the same bits whenever it is asked for.

    Attributes:
        design, state: the method, and the stage, the kept elements and the first guess. tolerance: of the solves.
        last: the last look.
    """

    space = optim.Euclidean()

    def __init__(self, design: "DensityDesign", state: "State | None" = None, tolerance: float = 1e-8) -> None:
        self.design, self.tolerance = design, tolerance
        self.state = design.start() if state is None else state
        self.last: Seen | None = None

    @property
    def x0(self) -> Field:
        """The design of `state`, (free elements,)."""
        return self.state.x[self.design.problem.free]

    def value(self, x: Field) -> float:
        return self._look(x).look.compliance

    def value_grad(self, x: Field) -> tuple[float, Field]:
        """Compliance and its derivative, (free elements,). With the sensitivity filter: the classical heuristic."""
        from topopt.density import symmetric

        seen = self._look(x)
        gradient = self.design.gradient(seen.x, seen.filtered, seen.projection, seen.look.gradient)
        return seen.look.compliance, symmetric(gradient, self.design.settings.symmetry)[self.design.problem.free]

    def hvp(self, x: Field, v: Field) -> Field:
        """Hessian times v, (free elements,): one more solve per load case.

            K du = df - K(dE) u,    d(dc/drho) = 2 du . df/drho - E'' drho u K u - 2 E' u K du

        Raises:
            DesignError: with a projection or the sensitivity filter.
        """
        design, p = self.design, self.design.problem
        s, response, system = design.settings, design.response, design.response.system
        if s.projection is not None or s.filter != "density" or s.symmetry:
            raise DesignError("Hessian actions: take the density filter without projection and symmetry")
        seen = self._look(x)
        rho, look = seen.rho, seen.look
        drho = np.where(p.free, design.filter(self._full(v, 0.0)), 0.0)
        stiff = p.modulus * p.filled
        first, second = response.interpolation.derivative(rho), response.interpolation.second_derivative(rho)
        weights = np.zeros_like(p.forces) if p.weight_forces is None else p.weight_forces
        df = np.zeros_like(p.forces) if p.weight_forces is None else to_nodes(weights * (drho * p.filled)[..., None])
        right = df - np.stack(self._products(stiff * first * drho, look.u))
        du = system.solve(response.modulus(rho), right, None, self.tolerance).u
        out = np.zeros(p.grid.shape)
        for w, u, d, g in zip(p.weights, look.u, du, weights, strict=True):
            energy = system.energies(u)
            mixed = (system.energies(u + d) - system.energies(u - d)) / 4
            out -= w * stiff * (second * drho * energy + 2 * first * mixed)
            if p.weight_forces is not None:
                out += w * 2 * p.filled * (g * to_elements(d)).sum(-1)
        return design.filter.vjp(np.where(p.free, out, 0.0))[p.free]

    def _products(self, modulus: Field, u: Field) -> list[Field]:
        """K(modulus) u for each load case; the modulus may be negative, so it is shifted to where a solver takes it."""
        p, system = self.design.problem, self.design.response.system
        body = (p.filled > 0).astype(float)
        shift = 2 * float(np.abs(modulus).max())
        system.update(modulus + shift * body)
        sums = [system.apply(case) for case in u]
        system.update(shift * body)
        return [a - system.apply(case) for a, case in zip(sums, u, strict=True)]

    def _look(self, x: Field) -> Seen:
        full = self._full(x, self.state.x)
        filtered, rho, projection = self.design.density(replace(self.state, x=full))
        self.last = Seen(full, filtered, rho, projection, self.design.response(rho, self.state.u, self.tolerance))
        return self.last

    def _full(self, x: Field, rest: Field | float) -> Field:
        full = np.array(np.broadcast_to(rest, self.design.problem.grid.shape))
        full[self.design.problem.free] = x
        return full


def posed(functional: ComplianceFunctional) -> optim.Problem:
    """min J(x) over 0 <= x <= 1 with the volume that is left for the free variables."""
    design = functional.design
    target = np.array([design.free_target(functional.state.x)])
    volume = optim.Linear(design.dv[None], target)
    return optim.Problem(cast(optim.Smooth, functional), None, 0.0, 1.0, (volume,))
