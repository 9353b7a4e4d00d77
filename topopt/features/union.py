"""From the Heaviside values of many features to one density, and the derivative back.

    "max"      S = max_i h_i
    "product"  S = 1 - prod_i (1 - h_i)
    "ks"       S = (1/gamma) ln sum_i exp(gamma g_i),   g_i = sigmoid(15 (h_i - 1/2))

Voids leave rho = rho_min + (1 - rho_min) (1 - S); bars, which are solid, make rho = rho_min + (1 - rho_min) S.

The maximum is the default: it spans [rho_min, 1] exactly for any number of features, and a ligament between two voids
vanishes from the field only where it is gone from the outline too. The product calls the middle of a narrow gap void,
where h_1 = h_2 = 0.4 make 0.64, so it hides ligaments thinner than an element. The Kreisselmeier-Steinhauser form is
that of the published method (ICML 2025), for comparison: it is written for two overlapping features, so that with
more of them the solid never reaches 1.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError

Field = NDArray[np.float64]
Kind = Literal["max", "product", "ks"]

SHARPENING = 15.0


@dataclass(frozen=True)
class Union:
    """How features combine.

    Args:
        kind: see the module. gamma: of "ks". rho_min: density of void. solid: features are bars, not voids.

    Raises:
        FeatureError: an unknown kind, gamma not positive, rho_min outside [0, 1).
    """

    kind: Kind = "max"
    rho_min: float = 1e-3
    gamma: float = 60.0
    solid: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("max", "product", "ks"):
            raise FeatureError(f"union is {self.kind!r}: choose 'max', 'product' or 'ks'")
        if not (self.gamma > 0 and 0 <= self.rho_min < 1):
            raise FeatureError(f"union needs gamma > 0 and rho_min in [0, 1), not {self.gamma} and {self.rho_min}")

    def density(self, h: Field) -> Field:
        """h : (n, m) in [0, 1] -> (m,) in [rho_min, 1]. Without features: solid, or nothing at all for bars."""
        share = self._share(h)
        return self.rho_min + (1 - self.rho_min) * (share if self.solid else 1 - share)

    def vjp(self, h: Field, weights: Field) -> Field:
        """Derivative of sum(weights * density) with respect to h. weights : (m,) -> (n, m)"""
        scale = (1 - self.rho_min) * weights * (1 if self.solid else -1)
        out = np.zeros_like(h)
        if not len(h):
            return out
        if self.kind == "max":
            out[h.argmax(0), np.arange(h.shape[1])] = scale
        elif self.kind == "product":
            rest = 1 - h
            # The product of the others, from both ends, so that a factor of zero does no harm.
            before = np.cumprod(np.vstack([np.ones_like(rest[:1]), rest[:-1]]), 0)
            after = np.cumprod(np.vstack([np.ones_like(rest[:1]), rest[:0:-1]]), 0)[::-1]
            out = scale * before * after
        else:
            g = _sigmoid(SHARPENING * (h - 0.5))
            soft = np.exp(self.gamma * (g - g.max(0)))
            out = scale * soft / soft.sum(0) * SHARPENING * g * (1 - g)
        return out

    def _share(self, h: Field) -> Field:
        if not len(h):
            return np.zeros(h.shape[1])
        if self.kind == "max":
            return h.max(0)
        if self.kind == "product":
            return 1 - np.prod(1 - h, 0)
        g = _sigmoid(SHARPENING * (h - 0.5))
        top = g.max(0)
        total = top + np.log(np.exp(self.gamma * (g - top)).sum(0)) / self.gamma
        return total - np.log(2) / self.gamma  # S_min = ln 2 / gamma, S_max = 1 + S_min


def _sigmoid(t: Field) -> Field:
    return 1 / (1 + np.exp(-t))
