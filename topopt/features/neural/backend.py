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

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from topopt.features import validity
from topopt.features.backend import Box
from topopt.features.errors import FeatureError
from topopt.features.neural import fitting, outlines
from topopt.features.neural.codes import SIZE
from topopt.features.neural.fitting import SLOPE
from topopt.features.neural.placement import LOCAL, Limits
from topopt.features.problem import Settings
from topopt.features.shapes import Shape
from topopt.features.validity import Rules

if TYPE_CHECKING:
    from torch import Tensor

    from topopt.features.neural.model import Model

Field = NDArray[np.float64]
Network = Callable[["Tensor", "Tensor"], "Tensor"]

PUBLISHED_SHARPENING = 15.0
NOTHING = 6.0  # no point is asked whose k d is known to be below -6, where H is less than 0.0025
CERTAIN = 7.0  # nor one whose k d is known to be above 7, where H is more than 0.999
COARSE = 13  # points along each side of the square, between which d is interpolated to know that
DOUBT = 0.1  # error allowed for it, in units of the square: at a ridge of d it is at most half of a spacing
SINGLE_DIGITS, DOUBLE_DIGITS = 1e-4, 1e-15
STEP = 1.0  # largest move of an offset and of a scale, in element sizes
TURN, MOST_TURN = 0.5, 0.08  # of a rotation: so many moves of an offset, at the distance of the scale; in radians
LATENT, MOST_LATENT = 0.15, 0.03  # of a latent entry, as a part of its range, in the same way

# A point costs more than with exact distances, most of all in a wide field: sharper sooner.
SETTINGS = Settings(sharpness=(1.5, 6.0), soft=10, sharp=60, steady=30, last_move=0.06)


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
    tolerance: float = 0.6
    fit: bool = True
    published: bool = False
    double: bool = False
    chunk: int = 1024
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
            fields = [expit(self._values(fitting.grid(), home, latent)) for latent in z]
            local = [fitting.outline_of(code, h) for code, h in zip(codes, fields, strict=True)]
        else:
            local = [outlines.local_outline(outlines.nearest_code(code)) for code in codes]
        return tuple(outlines.moved(shape, placement) for shape, placement in zip(local, placements, strict=True))

    def heaviside(self, points: Field, x: Field, sharpness: float) -> Field:
        """h (n, m) at points (m, 2)."""
        return self._looked(points, x, sharpness).h.copy()

    def pullback(self, points: Field, x: Field, sharpness: float, weights: Field) -> Field:
        """weights : (n, m) -> (19 n,)"""
        placements, z = self._parts(x)
        looked = self._looked(points, x, sharpness)
        # Where h is 0 or 1 to the last digits its derivative is nothing.
        moves = looked.h * (1 - looked.h) > (DOUBLE_DIGITS if self.double else SINGLE_DIGITS)
        out = np.zeros((len(z), 4 + z.shape[1]))
        for i, live in enumerate(moves & (weights != 0)):
            near = np.flatnonzero(live)
            network = self._tangent(looked, i, near, points, placements[i], z[i])
            out[i] = self._derivative(points[near], np.r_[placements[i], z[i]], sharpness, weights[i, near], network)
        return out.ravel()

    def _looked(self, points: Field, x: Field, sharpness: float) -> "_Looked":
        asked = (points.tobytes(), np.asarray(x, float).tobytes(), sharpness)
        if self._last.get("asked") != asked:
            self._last.update(asked=asked, looked=self._look(points, x, sharpness))
        return self._last["looked"]

    def _look(self, points: Field, x: Field, sharpness: float) -> "_Looked":
        placements, z = self._parts(x)
        import torch

        h = np.zeros((len(z), len(points)))
        for row, placement, latent in zip(h, placements, z, strict=True):
            known, near = self._known(points, placement, latent, sharpness)
            row[:] = known
            value = self._tensor(self._values(points[near], placement, latent))
            theta = self._tensor(np.r_[placement, latent])
            with torch.no_grad():
                row[near] = self._field(self._tensor(points[near]), theta, sharpness, lambda *_, v=value: v).numpy()
        return _Looked(h)

    def box(self, x: Field, lower: Field, upper: Field, h: float) -> Box:
        """Bounds by the domain and the data; steps by which an outline moves about an element."""
        count, (low, high) = len(x) // (4 + SIZE), Limits.of(lower, upper, h).bounds
        latent = self._model.bounds
        share = STEP * h / self._parts(x)[0][:, 2:3]  # turning and bending a large feature moves its outline far
        turn, bend = np.minimum(TURN * share, MOST_TURN), np.minimum(LATENT * share, MOST_LATENT)
        move = np.hstack([np.full((count, 3), STEP * h), turn, bend * (latent[1] - latent[0])])
        return Box(
            np.minimum(np.tile(np.r_[low, latent[0]], count), x),
            np.maximum(np.tile(np.r_[high, latent[1]], count), x),
            move.ravel(),
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

    def _known(
        self, points: Field, placement: Field, latent: Field, sharpness: float
    ) -> tuple[Field, NDArray[np.intp]]:
        """h (m,) as far as it is plain without asking the network at each point, and which points are to be asked.

        Beyond the square d is at most minus the way to it, since d is negative on its border. Within it d is
        interpolated between the points of a coarse grid; for derivative checks it is not.
        """
        known = np.zeros(len(points))
        xi = _local(points, placement)
        beyond = np.abs(xi).max(1) - LOCAL
        reach = 0.0 if self.published else NOTHING / (sharpness * placement[2])
        near = np.flatnonzero(beyond < reach)
        if self.published or self.double:
            return known, near
        inner = np.clip(xi[near], -LOCAL, LOCAL)
        line = np.linspace(-LOCAL, LOCAL, COARSE)
        home = np.array([0.0, 0.0, 1.0, 0.0])
        coarse = self._values(np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2), home, latent)
        d = _interpolated(coarse.reshape(COARSE, COARSE) / SLOPE, inner) - np.hypot(*(xi[near] - inner).T)
        unit = sharpness * placement[2]
        known[near] = np.where(d * unit > 0, expit(unit * d), 0.0)
        return known, near[(unit * (d + DOUBT) > -NOTHING) & (unit * (d - DOUBT) < CERTAIN)]

    def _tangent(
        self, looked: "_Looked", i: int, near: NDArray[np.intp], points: Field, placement: Field, latent: Field
    ) -> "_Tangent":
        """The network of feature i near points[near], asked once for all derivatives at the same points."""
        import torch

        if i in looked.tangents and np.array_equal(looked.tangents[i][0], near):
            return looked.tangents[i][1]
        inner = np.clip(_local(points[near], placement), -LOCAL, LOCAL)
        values, slopes = [self._tensor(np.zeros(0))], [self._tensor(np.zeros((0, len(latent) + 2)))]
        for first in range(0, len(near), self.chunk):
            place = self._tensor(inner[first : first + self.chunk]).requires_grad_(True)
            z = self._tensor(latent).repeat(len(place), 1).requires_grad_(True)
            value = self._model.heaviside.logit(z, place)
            slopes.append(torch.cat(torch.autograd.grad(value.sum(), (z, place)), -1))
            values.append(value.detach())
        found = _Tangent(torch.cat(values), torch.cat(slopes))
        looked.tangents[i] = near, found
        return found

    def _values(self, points: Field, placement: Field, latent: Field) -> Field:
        """The logit (m,) alone."""
        import torch

        inner = np.clip(_local(points, placement), -LOCAL, LOCAL)
        parts = [np.zeros(0)]
        with torch.no_grad():
            for first in range(0, len(points), self.chunk):
                place = self._tensor(inner[first : first + self.chunk])
                z = self._tensor(latent).expand(len(place), -1)
                parts.append(self._model.heaviside.logit(z, place).double().numpy())
        return np.concatenate(parts)

    def _derivative(self, points: Field, theta: Field, sharpness: float, weights: Field, network: "_Tangent") -> Field:
        import torch

        free = self._tensor(theta).requires_grad_(True)
        h = self._field(self._tensor(points), free, sharpness, network)
        return torch.autograd.grad((h * self._tensor(weights)).sum(), free)[0].double().numpy()

    def _tensor(self, values: Field) -> "Tensor":
        import torch

        return torch.as_tensor(values, dtype=torch.float64 if self.double else torch.float32)

    def _field(self, points: "Tensor", theta: "Tensor", sharpness: float, network: "Network") -> "Tensor":
        # points (m, 2), theta (19,) -> (m,)
        import torch

        offset, scale, turn, z = theta[:2], theta[2], theta[3], theta[4:]
        c, s = torch.cos(turn), torch.sin(turn)
        away = (points - offset) / scale
        xi = torch.stack([c * away[:, 0] - s * away[:, 1], s * away[:, 0] + c * away[:, 1]], -1)
        inner = xi.clamp(-LOCAL, LOCAL)
        value = network(z, inner)
        if self.published:
            h = torch.sigmoid(PUBLISHED_SHARPENING * (torch.sigmoid(value) - 0.5))
            return torch.where((xi.abs() < LOCAL).all(-1), h, torch.zeros_like(h))
        square = ((xi - inner) ** 2).sum(-1)
        beyond = torch.where(square > 0, torch.sqrt(torch.where(square > 0, square, torch.ones_like(square))), 0.0)
        return torch.sigmoid(sharpness * scale * (value / SLOPE - beyond))


@dataclass(frozen=True)
class _Tangent:
    """The network near where it was asked: its logit (m,), and its derivatives (m, 17) by (z, place)."""

    value: "Tensor"
    slope: "Tensor"

    def __call__(self, z: "Tensor", place: "Tensor") -> "Tensor":
        # z (15,), place (m, 2) -> (m,), with value and derivatives of the network
        latent = (self.slope[:, :-2] * (z - z.detach())).sum(-1)
        return self.value + latent + (self.slope[:, -2:] * (place - place.detach())).sum(-1)


@dataclass(frozen=True)
class _Looked:
    """h (n, m), and the tangent of each feature's network at the points where it was asked for."""

    h: Field
    tangents: dict[int, tuple[NDArray[np.intp], _Tangent]] = field(default_factory=dict)


def _local(points: Field, placement: Field) -> Field:
    """xi (m, 2) of points (m, 2)."""
    c, s = np.cos(placement[3]), np.sin(placement[3])
    x, y = (points - placement[:2]).T / placement[2]
    return np.stack([c * x - s * y, s * x + c * y], -1)


def _interpolated(values: Field, places: Field) -> Field:
    """Bilinear, of values (n, n) on a grid of the square, at places (m, 2) in it."""
    n = len(values)
    at = (places / LOCAL + 1) * 0.5 * (n - 1)
    cell = np.minimum(at.astype(int), n - 2)
    (u, v), (i, j) = (at - cell).T, cell.T
    low = (1 - v) * values[i, j] + v * values[i, j + 1]
    high = (1 - v) * values[i + 1, j] + v * values[i + 1, j + 1]
    return (1 - u) * low + u * high
