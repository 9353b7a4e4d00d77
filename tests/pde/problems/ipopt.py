"""IPOPT as an oracle: published results were stopped where IPOPT stopped them, and are no optima.

dolfin-adjoint hands IPOPT (Waechter and Biegler 2006) the functional, its derivative by degrees of freedom and one
linear constraint, no Hessian and few options. The same is done here with the IPOPT in CasADi.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pde.problems.posed import Posed

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Stopped:
    """Where IPOPT stopped. status: in its words."""

    x: Vector
    iterations: int
    status: str


def stopped(posed: Posed, x0: Vector, limit: float, **options: Any) -> Stopped:
    """Run IPOPT on a problem with bounds and the constraint int x <= limit.

    Args:
        options: IPOPT's own.
    """
    ca = pytest.importorskip("casadi", reason="needs CasADi, which brings IPOPT: formgrad's group 'peers'")
    n, (g,) = len(x0), posed.constraints
    J, kept = posed.J, []

    class Derivative(ca.Callback):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.construct(name, {})

        def get_n_in(self) -> int:
            return 2

        def get_sparsity_in(self, which: int) -> Any:
            return ca.Sparsity.dense(1 if which else n, 1)

        def get_sparsity_out(self, which: int) -> Any:
            return ca.Sparsity.dense(1, n)

        def eval(self, given: Any) -> Any:
            return [ca.DM(J.value_grad(np.array(given[0]).ravel())[1]).T]

    class Value(ca.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.construct("value", {})

        def get_sparsity_in(self, which: int) -> Any:
            return ca.Sparsity.dense(n, 1)

        def eval(self, given: Any) -> Any:
            return [J.value(np.array(given[0]).ravel())]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, *_: Any) -> Any:
            kept.append(Derivative(name))  # CasADi does not keep it alive
            return kept[-1]

    f, x = Value(), ca.MX.sym("x", n)
    # limit - int x >= 0, as published: ours is divided by the limit.
    amount = limit * g.jac(x0)[0]
    problem = {"x": x, "f": f(x), "g": limit - ca.mtimes(ca.DM(amount).T, x)}
    settings = {"hessian_approximation": "limited-memory", "print_level": 0, "linear_solver": "mumps", **options}
    given = {"print_time": False, **{f"ipopt.{name}": value for name, value in settings.items()}}
    solver = ca.nlpsol("ipopt", "ipopt", problem, given)
    found = solver(x0=x0, lbx=posed.lower, ubx=posed.upper, lbg=0, ubg=np.inf)
    stats = solver.stats()
    return Stopped(np.array(found["x"]).ravel(), stats["iter_count"], stats["return_status"])
