"""How stiff is a grey element? Interpolations from density to modulus, as a fraction of the solid's.

SIMP   E = e_min + rho^p (1 - e_min)                      Bendsoe (1989); modified form of Sigmund (2007), eq. 5
RAMP   E = e_min + rho (1 - e_min) / (1 + q (1 - rho))    Stolpe and Svanberg (2001), eq. 8
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topopt.errors import DesignError

Field = NDArray[np.float64]


@dataclass(frozen=True)
class SIMP:
    """Solid isotropic material with penalisation: intermediate densities do not pay.

    Args:
        penalty: the exponent p, at least 1.
        e_min: stiffness of void relative to solid, in [0, 1); it keeps the equations solvable.
    """

    penalty: float = 3.0
    e_min: float = 1e-9

    def __post_init__(self) -> None:
        if not self.penalty >= 1 or not 0 <= self.e_min < 1:
            raise DesignError(
                f"SIMP needs a penalty of at least 1 and e_min in [0, 1), not {self.penalty}, {self.e_min}"
            )

    def __call__(self, rho: Field) -> Field:
        return self.e_min + rho**self.penalty * (1 - self.e_min)

    def derivative(self, rho: Field) -> Field:
        return self.penalty * rho ** (self.penalty - 1) * (1 - self.e_min)

    def second_derivative(self, rho: Field) -> Field:
        p = self.penalty
        return p * (p - 1) * rho ** max(p - 2, 0) * (1 - self.e_min)


@dataclass(frozen=True)
class RAMP:
    """Rational approximation of material properties: like SIMP, with a finite slope at void.

    Args:
        q: penalisation, 0 or more; 3 resembles SIMP with p = 3.
        e_min: stiffness of void relative to solid, in [0, 1).
    """

    q: float = 3.0
    e_min: float = 1e-9

    def __post_init__(self) -> None:
        if not self.q >= 0 or not 0 <= self.e_min < 1:
            raise DesignError(f"RAMP needs q of at least 0 and e_min in [0, 1), not {self.q}, {self.e_min}")

    def __call__(self, rho: Field) -> Field:
        return self.e_min + rho * (1 - self.e_min) / (1 + self.q * (1 - rho))

    def derivative(self, rho: Field) -> Field:
        return (1 - self.e_min) * (1 + self.q) / (1 + self.q * (1 - rho)) ** 2

    def second_derivative(self, rho: Field) -> Field:
        return 2 * self.q * (1 - self.e_min) * (1 + self.q) / (1 + self.q * (1 - rho)) ** 3
