"""What is asked of a feature design, and the numbers that steer it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError
from topopt.features.plate import Plate
from topopt.features.shapes import Shape
from topopt.features.union import Kind

Field = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureProblem:
    """The stiffest plate of a given volume whose voids, or bars, are features.

    Args:
        plate: domain, supports and loads.
        goal: largest volume fraction, in (0, 1); with a variable thickness, of the thickest plate.
        start: the features to begin with; see `topopt.features.layout`.
        keep: (m,) bool, cells that stay solid, such as a strip under a distributed load.
        solid: the features are bars in an empty domain, not voids in a full one.
        thickness: lowest and highest thickness in mm, when it is to be found too.
        name: for people.

    Raises:
        FeatureError: what cannot be right.
    """

    plate: Plate
    goal: float
    start: tuple[Shape, ...]
    keep: NDArray[np.bool_] | None = None
    solid: bool = False
    thickness: tuple[float, float] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        m = len(self.plate.areas)
        keep = np.zeros(m, bool) if self.keep is None else np.asarray(self.keep, bool)
        if keep.shape != (m,):
            raise FeatureError(f"keep has shape {keep.shape}, the plate has {m} cells: give ({m},)")
        if not 0 < self.goal < 1:
            raise FeatureError(f"goal is {self.goal}: give a volume fraction between 0 and 1")
        if not self.start:
            raise FeatureError("start holds no features: lay some out with topopt.features.layout")
        kept = float(self.plate.areas[keep].sum() / self.plate.areas.sum())
        if kept >= self.goal:
            raise FeatureError(f"keep is {kept:.1%} of the domain, the goal {self.goal:.1%}: raise goal or keep less")
        if self.thickness is not None and not 0 < self.thickness[0] < self.thickness[1]:
            raise FeatureError(f"thickness is {self.thickness}: give 0 < lowest < highest, in mm")
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "start", tuple(self.start))

    @property
    def kept(self) -> NDArray[np.bool_]:
        """(m,) cells that stay solid."""
        assert self.keep is not None
        return self.keep


@dataclass(frozen=True)
class Settings:
    """The numbers of a run; the defaults served all six test problems. Lengths are in element sizes h.

    Args:
        union: how features combine, and rho_min; see `topopt.features.union`.
        iterations: of the whole run; it ends earlier when c changes by less than `change` over ten iterations at
            the final sharpness and the volume is met.
        sharpness: k h of H = sigmoid(k d), at first and at last; the first until iteration `soft`, then geometrically
            to the last at iteration `sharp`.
        volume_step: by how much the volume target falls in one iteration; it waits while the volume is `lag` above.
        steady: iteration at which the move limit starts to fall, linearly, to `last_move` of its size at the end.
        edge, sine, radius: validity of polygons; see `topopt.features.validity`. tool: least radius in mm, when a
            cutter asks for more than `radius`. bridge: least width of material between two voids,
            and between a void and the border, in mm, from iteration `steady` on; 0 for none.
        tidy: by what share the thresholded compliance may rise in all when overlapping voids are made one at the end;
            0 leaves them. See `topopt.features.merging`.
        fractions: bounds of the tangent-length fractions. fewest: points that a feature must hold to stay at the end.
        width, asymptote, nearest, farthest: of MMA, in move limits and in shares of `width`.
    """

    union: Kind = "max"
    gamma: float = 60.0
    rho_min: float = 1e-3
    iterations: int = 160
    change: float = 1e-3
    sharpness: tuple[float, float] = (1.0, 6.0)
    soft: int = 30
    sharp: int = 110
    volume_step: float = 0.015
    lag: float = 0.02
    steady: int = 80
    last_move: float = 0.04
    edge: float = 3.0
    sine: float = 0.1
    radius: float = 1.0
    tool: float = 0.0
    bridge: float = 0.0
    tidy: float = 0.0
    fractions: tuple[float, float] = (0.05, 0.45)
    width: float = 10.0
    asymptote: float = 0.5
    nearest: float = 0.05
    farthest: float = 2.0
    fewest: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.sharpness[0] <= self.sharpness[1] or not 0 <= self.soft < self.sharp:
            raise FeatureError(f"sharpness {self.sharpness} from {self.soft} to {self.sharp}: let it rise")
        if not 0 <= self.tidy < 1:
            raise FeatureError(f"tidy is {self.tidy}: give a share in [0, 1), such as 0.01")
        if self.iterations < 1 or not 0 < self.volume_step < 1 or not 0 < self.last_move <= 1:
            raise FeatureError("iterations must be positive, volume_step and last_move shares in (0, 1]")

    def k(self, iteration: int, h: float) -> float:
        """Sharpness in 1/mm."""
        first, last = self.sharpness
        share = min(max((iteration - self.soft) / (self.sharp - self.soft), 0.0), 1.0)
        return first * (last / first) ** share / h

    def move(self, iteration: int) -> float:
        """Share of the full move limits."""
        rest = max(self.iterations - self.steady, 1)
        share = min(max((iteration - self.steady) / rest, 0.0), 1.0)
        return 1 + share * (self.last_move - 1)
