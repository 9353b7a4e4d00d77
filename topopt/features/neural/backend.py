"""The neural back-end: features as placed points of the latent space, their field by the Heaviside decoder.

    xi = Q(t) (x - o) / s,      h = H(z, xi) = sigmoid(20 d'),      d = s d' = s logit(h) / 20

Variables of a feature: offset o, scale s, rotation t, latent z (4 + 15 numbers). The network gives h at one width only,
that of its training data; d is the distance which it implies, so that `sharpness` means here what it means for the
analytic back-end: H = sigmoid(k d). With `published=True` the field is g = sigmoid(15 (h - 1/2)), whatever k.

The network knows the square |xi| < 1. A point beyond it has the distance of its nearest point of the square less the
way there, which is continuous and falls to nothing; the published method has zero there.

Latent points that no shape has would be fields without an outline. `corrected` therefore draws z towards the encoding
of the valid shape that it decodes to ("refactoring"). Since the class is one entry of that code, a feature may change
from an ellipse to a quadrilateral on its way.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topopt.features import validity
from topopt.features.backend import Box
from topopt.features.errors import FeatureError
from topopt.features.neural import fitting, outlines
from topopt.features.neural.codes import SIZE
from topopt.features.neural.fitting import SLOPE
from topopt.features.neural.placement import LOCAL, Limits
from topopt.features.shapes import Shape
from topopt.features.validity import Rules

if TYPE_CHECKING:
    from torch import Tensor

    from topopt.features.neural.model import Model

Field = NDArray[np.float64]

PUBLISHED_SHARPENING = 15.0
NOTHING = 6.0  # no point is asked whose k d is known to be below -6, where H is less than 0.0025
SINGLE_DIGITS, DOUBLE_DIGITS = 1e-6, 1e-15
STEP = 1.5  # largest move of an offset, in element sizes
TURN = 0.08  # of a rotation, in radians
LATENT_STEP = 0.03  # of a latent entry, as a part of its range


@dataclass(frozen=True)
class Neural:
    """Features by a trained decoder.

    Args:
        model: the networks; None for those that come with Formgrad.
        pull: how much of the way to the encoding of a valid shape one correction goes, in [0, 1].
        tolerance: distance, in ranges of the latent entries, within which nothing is drawn: a code that is decoded and
            encoded again does not come back more exactly, and being drawn about would keep a design from settling.
        fit: move each decoded outline until its field is nearest to the network's; see `fitting`.
        published: the published sharpening instead of `sharpness`.
        double: evaluate in double precision, for derivative checks.
        chunk: points per call of the network.

    Raises:
        FeatureError: a pull outside [0, 1].
    """

    model: "Model | None" = None
    pull: float = 0.1
    tolerance: float = 0.2
    fit: bool = True
    published: bool = False
    double: bool = False
    chunk: int = 8192
    _last: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # the last field, asked for twice

    def __post_init__(self) -> None:
        if not 0 <= self.pull <= 1:
            raise FeatureError(f"pull is {self.pull:g}: it is a part of the way, between 0 and 1")
        if self.model is None:
            from topopt.features.neural.model import shipped

            object.__setattr__(self, "model", shipped())
        if self.double and self._model.limits.dtype.itemsize < 8:
            object.__setattr__(self, "model", deepcopy(self._model).double())  # the one that was given stays as it is

    def variables(self, shapes: Sequence[Shape]) -> Field:
        """x (19 n,) for ellipses, triangles and quadrilaterals.

        Raises:
            FeatureError: a shape that the code does not hold.
        """
        placements, found = outlines.placements(shapes)
        return np.concatenate([placements, self._model.encode(found)], axis=1).ravel()

    def shapes(self, x: Field) -> tuple[Shape, ...]:
        """What the features decode to, made valid and fitted to their fields."""
        placements, z = self._parts(x)
        codes = self._model.decode(z)
        if self.fit:
            home = np.array([0.0, 0.0, 1.0, 0.0])
            fields = [self._values(fitting.grid(), home, latent, SLOPE) for latent in z]
            local = [fitting.outline_of(code, h) for code, h in zip(codes, fields, strict=True)]
        else:
            local = [outlines.local_outline(outlines.nearest_code(code)) for code in codes]
        return tuple(outlines.moved(shape, placement) for shape, placement in zip(local, placements, strict=True))

    def heaviside(self, points: Field, x: Field, sharpness: float) -> Field:
        """h (n, m) at points (m, 2)."""
        asked = (points.tobytes(), np.asarray(x, float).tobytes(), sharpness)
        if self._last.get("asked") != asked:
            self._last.update(asked=asked, h=self._heaviside(points, x, sharpness))
        return self._last["h"].copy()

    def _heaviside(self, points: Field, x: Field, sharpness: float) -> Field:
        placements, z = self._parts(x)
        out = np.zeros((len(z), len(points)))
        for row, placement, latent in zip(out, placements, z, strict=True):
            near = self._near(points, placement, sharpness)
            row[near] = self._values(points[near], placement, latent, sharpness)
        return out

    def pullback(self, points: Field, x: Field, sharpness: float, weights: Field) -> Field:
        """weights : (n, m) -> (19 n,)"""
        placements, z = self._parts(x)
        h = self.heaviside(points, x, sharpness)
        # Where h is 0 or 1 to the last digits its derivative is nothing.
        moves = h * (1 - h) > (DOUBLE_DIGITS if self.double else SINGLE_DIGITS)
        out = np.zeros((len(z), 4 + z.shape[1]))
        for row, placement, latent, weight, live in zip(out, placements, z, weights, moves, strict=True):
            near = np.flatnonzero(live & (weight != 0))
            row[:] = self._derivative(points[near], placement, latent, sharpness, weight[near])
        return out.ravel()

    def box(self, x: Field, lower: Field, upper: Field, h: float) -> Box:
        """Bounds and steps: of offsets in element sizes, of scales in units of the domain, of latents by the data."""
        count, (low, high) = len(x) // (4 + SIZE), Limits.of(lower, upper, h).bounds
        latent = self._model.bounds
        move = np.r_[np.full(3, STEP * h), TURN, LATENT_STEP * (latent[1] - latent[0])]
        return Box(
            np.minimum(np.tile(np.r_[low, latent[0]], count), x),
            np.maximum(np.tile(np.r_[high, latent[1]], count), x),
            np.tile(move, count),
        )

    def corrected(self, x: Field, rules: Rules, last: bool = False) -> Field:
        """Draw each feature towards the valid shape it decodes to.

        With `last`, to the encoding of one that obeys the rules; the networks hold it to a hundredth or two of its
        scale, so the outlines themselves are to be corrected once more.
        """
        if last:
            return self.variables(validity.corrected(self.shapes(x), rules, 2000))
        placements, z = self._parts(x)
        codes = np.array([outlines.nearest_code(code) for code in self._model.decode(z)]).reshape(-1, SIZE)
        away = self._model.encode(codes) - z
        low, high = self._model.bounds
        distance = np.linalg.norm(away / (high - low), axis=1, keepdims=True)
        share = self.pull * np.maximum(1 - self.tolerance / np.maximum(distance, 1e-12), 0.0)
        return np.concatenate([placements, z + share * away], axis=1).ravel()

    def kept(self, x: Field, keep: NDArray[np.bool_]) -> tuple["Neural", NDArray[np.bool_]]:
        """Only some of the features."""
        return self, np.repeat(keep, 4 + SIZE)

    @property
    def _model(self) -> "Model":
        assert self.model is not None
        return self.model

    def _parts(self, x: Field) -> tuple[Field, Field]:
        table = np.asarray(x, float).reshape(-1, 4 + SIZE)
        return table[:, :4], table[:, 4:]

    def _near(self, points: Field, placement: Field, sharpness: float) -> NDArray[np.bool_]:
        # Beyond the square d is at most minus the way to it, since d is negative on its border.
        offset, scale, turn = placement[:2], placement[2], placement[3]
        c, s = np.cos(turn), np.sin(turn)
        x, y = (points - offset).T
        beyond = np.maximum(np.abs(c * x - s * y), np.abs(s * x + c * y)) - LOCAL * scale
        return beyond < (0.0 if self.published else NOTHING / sharpness)

    def _values(self, points: Field, placement: Field, latent: Field, sharpness: float) -> Field:
        import torch

        parts = []
        with torch.no_grad():
            for first in range(0, len(points), self.chunk):
                theta = self._tensor(np.r_[placement, latent])
                parts.append(self._field(self._tensor(points[first : first + self.chunk]), theta, sharpness))
        return np.concatenate([np.zeros(0), *(part.double().numpy() for part in parts)])

    def _derivative(self, points: Field, placement: Field, latent: Field, sharpness: float, weights: Field) -> Field:
        import torch

        theta = self._tensor(np.r_[placement, latent]).requires_grad_(True)
        total = torch.zeros_like(theta)
        for first in range(0, len(points), self.chunk):
            part = slice(first, first + self.chunk)
            h = self._field(self._tensor(points[part]), theta, sharpness)
            total += torch.autograd.grad((h * self._tensor(weights[part])).sum(), theta)[0]
        return total.double().numpy()

    def _tensor(self, values: Field) -> "Tensor":
        import torch

        return torch.as_tensor(values, dtype=torch.float64 if self.double else torch.float32)

    def _field(self, points: "Tensor", theta: "Tensor", sharpness: float) -> "Tensor":
        # points (m, 2), theta (19,) -> (m,)
        import torch

        offset, scale, turn, z = theta[:2], theta[2], theta[3], theta[4:]
        c, s = torch.cos(turn), torch.sin(turn)
        away = (points - offset) / scale
        xi = torch.stack([c * away[:, 0] - s * away[:, 1], s * away[:, 0] + c * away[:, 1]], -1)
        inner = xi.clamp(-LOCAL, LOCAL)
        value = self._model.heaviside.logit(z.expand(len(points), -1), inner)
        if self.published:
            h = torch.sigmoid(PUBLISHED_SHARPENING * (torch.sigmoid(value) - 0.5))
            return torch.where((xi.abs() < LOCAL).all(-1), h, torch.zeros_like(h))
        square = ((xi - inner) ** 2).sum(-1)
        beyond = torch.where(square > 0, torch.sqrt(torch.where(square > 0, square, torch.ones_like(square))), 0.0)
        return torch.sigmoid(sharpness * scale * (value / SLOPE - beyond))
