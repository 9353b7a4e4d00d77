"""The exact signed distances of `topopt.features.distance` in torch: batched, and differentiable twice.

Leading dimensions broadcast: points (..., m, 2) against parameters (..., n) of as many shapes give (..., m).
Derivatives of first and second order are exact away from the points that are equally near to two pieces of an outline.
torch is imported when a function is called.
"""

from typing import TYPE_CHECKING

from topopt.features.corners import CAP
from topopt.features.polygon_distance import ASIDE, CLOSE

if TYPE_CHECKING:
    from torch import Tensor


def polygon_distance(points: "Tensor", vertices: "Tensor", fractions: "Tensor") -> "Tensor":
    """Signed distance to rounded polygons, positive inside.

    Args:
        points: (..., m, 2). vertices: (..., n, 2). fractions: (..., n).

    Returns:
        (..., m).
    """
    import torch

    a, b, centre, radius, sine, out = _corners(vertices, fractions)
    after = torch.roll(a, -1, -2)
    x = points[..., :, None, :]  # (..., m, 1, 2) against pieces (..., 1, n, 2)
    start, end = b[..., None, :, :], after[..., None, :, :]
    chord = end - start
    long = (chord * chord).sum(-1)
    s = (((x - start) * chord).sum(-1) / torch.where(long > 0, long, torch.ones_like(long))).clamp(0, 1)
    to_segment = _length(x - start - s[..., None] * chord)
    arm = x - centre[..., None, :, :]
    reach, along = _length(arm), (arm * out[..., None, :, :]).sum(-1)
    r, sector = radius[..., None, :], sine[..., None, :]
    to_arc = torch.where(along >= reach * sector, (reach - r).abs(), torch.inf)
    unsigned = torch.cat([to_segment, to_arc], -1).amin(-1)
    with torch.no_grad():
        # A point on a chord is asked a little beside it, where the tests of chord and arc agree; as in `nearest`.
        size = x.abs().sum(-1) + r
        close = ((along - r * sector).abs() <= CLOSE * size) & (reach < r)
        aside = (torch.where(close, ASIDE * r, 0.0)[..., None] * out[..., None, :, :]).sum(-2, keepdim=True)
        x, arm = x + aside, arm + aside
        reach, along = _length(arm), (arm * out[..., None, :, :]).sum(-1)
        bulge = ((along > r * sector) & (reach < r)).sum(-1)
        crossed = _crossings(x, start, end) + _crossings(x, a[..., None, :, :], start) + bulge
    return torch.where(crossed % 2 == 1, unsigned, -unsigned)


def ellipse_distance(points: "Tensor", parameters: "Tensor") -> "Tensor":
    """Signed distance to ellipses, positive inside.

    The nearest point (a cos s, b sin s) is found without a graph; two Newton steps on s, with one, then carry its
    derivative, so that the second derivative of the distance is exact too.

    Args:
        points: (..., m, 2). parameters: (..., 5): centre, a, b, angle.

    Returns:
        (..., m).
    """
    import torch

    a, b, angle = parameters[..., 2, None], parameters[..., 3, None], parameters[..., 4, None]
    x, y = (points - parameters[..., None, :2]).unbind(-1)
    c, sn = torch.cos(angle), torch.sin(angle)
    x, y = c * x + sn * y, c * y - sn * x
    with torch.no_grad():
        s = _nearest_angle(x, y, a, b)
    for _ in range(2):
        cos, sin = torch.cos(s), torch.sin(s)
        slope = (a * cos - x) * (-a * sin) + (b * sin - y) * b * cos
        bend = (a * sin) ** 2 + (b * cos) ** 2 - (a * cos - x) * a * cos - (b * sin - y) * b * sin
        s = s - slope / torch.where(bend.abs() > 1e-300, bend, torch.ones_like(bend))
    d = _length(torch.stack([x - a * torch.cos(s), y - b * torch.sin(s)], -1))
    return torch.where((x / a) ** 2 + (y / b) ** 2 < 1, d, -d)


def capsule_distance(points: "Tensor", parameters: "Tensor") -> "Tensor":
    """Signed distance to capsules, positive inside. points: (..., m, 2); parameters: (..., 5): start, end, radius."""
    import torch

    start, end = parameters[..., None, 0:2], parameters[..., None, 2:4]
    axis = end - start
    long = (axis * axis).sum(-1)
    s = (((points - start) * axis).sum(-1) / torch.where(long > 0, long, torch.ones_like(long))).clamp(0, 1)
    return parameters[..., 4, None] - _length(points - start - s[..., None] * axis)


def _corners(vertices: "Tensor", fractions: "Tensor") -> tuple["Tensor", ...]:
    """A, B, C (..., n, 2), r and sin(angle / 2) (..., n), unit vector from C to P (..., n, 2); see `corners`."""
    import torch

    u, v = torch.roll(vertices, 1, -2) - vertices, torch.roll(vertices, -1, -2) - vertices
    first, second = _length(u), _length(v)
    u, v = u / first[..., None], v / second[..., None]
    cross = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    c = (u * v).sum(-1).clamp(-1, 1)
    one = torch.where(c < -0.5, cross * cross / (1 - c), 1 + c).clamp_min(1e-30)
    other = torch.where(c > 0.5, cross * cross / (1 + c), 1 - c).clamp_min(1e-30)
    tangent = torch.sqrt(other / one)
    short = torch.minimum(first, second)
    t = torch.minimum(fractions * short, CAP * short / tangent)[..., None]
    towards = u + v
    centre = vertices + t * towards / one[..., None]
    out = -towards / torch.sqrt(2 * one)[..., None]
    return vertices + t * u, vertices + t * v, centre, t[..., 0] * tangent, torch.sqrt(0.5 * other), out


def _length(v: "Tensor") -> "Tensor":
    """Euclidean length with a derivative, zero, at the origin too."""
    import torch

    square = (v * v).sum(-1)
    away = square > 0
    return torch.where(away, torch.sqrt(torch.where(away, square, torch.ones_like(square))), 0.0)


def _crossings(x: "Tensor", start: "Tensor", end: "Tensor") -> "Tensor":
    """How many of the segments a ray to the right crosses, (..., m)."""
    import torch

    rise = end[..., 1] - start[..., 1]
    at = start[..., 0] + (x[..., 1] - start[..., 1]) / torch.where(rise == 0, 1.0, rise) * (end - start)[..., 0]
    spans = (start[..., 1] > x[..., 1]) != (end[..., 1] > x[..., 1])
    return (spans & (x[..., 0] < at)).sum(-1)


def _nearest_angle(x: "Tensor", y: "Tensor", a: "Tensor", b: "Tensor") -> "Tensor":
    """Parameter s of the nearest point, by the compiled solver of `ellipse_distance`."""
    import numpy as np
    import torch

    from topopt.features.ellipse_distance import feet

    whole = torch.broadcast_tensors(x, y, a, b)
    flat = [np.ascontiguousarray(t.detach().cpu().double().reshape(-1).numpy()) for t in whole]
    return torch.as_tensor(feet(*flat), dtype=x.dtype, device=x.device).reshape(whole[0].shape)
