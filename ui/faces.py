"""The faces of a body in words, and as the selectors that a job file uses."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Body, Face
from ui.words import figure

AXES = "xyz"


@dataclass(frozen=True)
class NamedFace:
    """One choice of the face lists.

    Attributes:
        key: stands for it in the form; "f3" is one face, "g1" a group of equal holes.
        words: what a designer would say: "hole d10, axis z, at (48, 28)".
        selector: what the job file says.
        faces: numbers of the faces it means, for the picture.
        hollow: a hole, so that a collar can be kept around it.
    """

    key: str
    words: str
    selector: dict[str, Any]
    faces: tuple[int, ...]
    hollow: bool = False


def named_faces(body: Body) -> list[NamedFace]:
    """Groups of equal holes first, then every face of the body in its own order.

    Faces that no selector can tell apart, such as the two halves of one hole, are one entry.
    """
    areas = [float(body.surface.areas[face.triangles].sum()) for face in body.faces]
    middles = [_middle(body, face) for face in body.faces]
    singles: list[NamedFace] = []
    for number, (face, area, middle) in enumerate(zip(body.faces, areas, middles, strict=True)):
        means = selector(face, middle)
        twin = next((k for k, single in enumerate(singles) if single.selector == means), None)
        if twin is not None:
            singles[twin] = replace(singles[twin], faces=(*singles[twin].faces, number))
            continue
        hole = face.kind == "cylinder" and face.hollow
        singles.append(NamedFace(f"f{number}", words(face, area, middle), means, (number,), hole))
    return [*_groups(singles), *singles]


def matching(faces: Sequence[NamedFace], wanted: Mapping[str, Any]) -> NamedFace | None:
    """The choice that a job file's selector means: it says at least as much, and covers the most faces."""
    found = [face for face in faces if _says(face.selector, wanted)]
    return max(found, key=lambda face: len(face.faces), default=None)


def _says(selector: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(selector, Mapping) and all(k in selector and _says(selector[k], v) for k, v in wanted.items())
    return selector == wanted


def words(face: Face, area: float, middle: NDArray[np.float64]) -> str:
    """A face as one would point at it. area: mm2; middle: (3,), a point of the face, mm."""
    if face.kind == "plane":
        axis = _axis(face.direction)
        if axis is None:
            normal = ", ".join(_number(v, 2) for v in face.direction)
            return f"plane, normal ({normal}), {figure(area)} mm²"
        sign = "+" if face.direction[axis] > 0 else "−"
        return f"plane, normal {sign}{AXES[axis]}, {AXES[axis]} = {_number(face.point[axis])}, {figure(area)} mm²"
    if face.kind == "cylinder":
        kind = "hole" if face.hollow else "round"
        return f"{kind} d{_number(2 * face.radius)}, {_axis_words(face)}, at ({_place(face)})"
    return f"free form, {figure(area)} mm², near ({', '.join(_number(v, 1) for v in middle)})"


def selector(face: Face, middle: NDArray[np.float64]) -> dict[str, Any]:
    """What a job file says to mean this face and no other."""
    if face.kind == "cylinder":
        return {"cylinder": _cylinder(face)}
    nearest = [_round(v) for v in middle]
    if face.kind == "plane":
        return {"faces": {"normal": [_round(v, 6) for v in face.direction]}, "nearest": nearest}
    return {"nearest": nearest}


def _groups(singles: Sequence[NamedFace]) -> list[NamedFace]:
    """Holes of one radius along x, y or z, where there are several."""
    alike: dict[tuple[float, str], list[NamedFace]] = defaultdict(list)
    for face in singles:
        if face.hollow and isinstance(face.selector["cylinder"]["axis"], str):
            alike[face.selector["cylinder"]["radius"], face.selector["cylinder"]["axis"]].append(face)
    several = [(key, members) for key, members in alike.items() if len(members) > 1]
    return [
        NamedFace(
            f"g{number}",
            f"all {len(members)} holes d{_number(2 * radius)}, axis {axis}",
            {"cylinder": {"radius": radius, "axis": axis, "hollow": True}},
            tuple(n for member in members for n in member.faces),
            True,
        )
        for number, ((radius, axis), members) in enumerate(several)
    ]


def _cylinder(face: Face) -> dict[str, Any]:
    axis = _axis(face.direction)
    along = AXES[axis] if axis is not None else [_round(v, 6) for v in face.direction]
    # The axis has no middle of its own: the point on it that is nearest to the origin is the same for every half.
    center = face.point - (face.point @ face.direction) * face.direction
    return {
        "radius": _round(face.radius),
        "axis": along,
        "center": [_round(v) for v in center],
        "hollow": bool(face.hollow),
    }


def _middle(body: Body, face: Face) -> NDArray[np.float64]:
    """A point of the face: the middle of the triangle that is nearest to the face's centroid."""
    middles = body.surface.corners[face.triangles].mean(axis=1)
    weights = body.surface.areas[face.triangles]
    centroid = np.average(middles, axis=0, weights=weights) if weights.sum() > 0 else middles.mean(axis=0)
    return middles[np.argmin(((middles - centroid) ** 2).sum(axis=1))]


def _axis(direction: NDArray[np.float64]) -> int | None:
    axis = int(np.argmax(np.abs(direction)))
    return axis if abs(direction[axis]) > 1 - 1e-6 else None


def _axis_words(face: Face) -> str:
    axis = _axis(face.direction)
    return f"axis {AXES[axis]}" if axis is not None else f"axis ({', '.join(_number(v, 2) for v in face.direction)})"


def _place(face: Face) -> str:
    """Where the axis is: only the coordinates across it, if it is along x, y or z."""
    axis = _axis(face.direction)
    names = [name for k, name in enumerate(AXES) if k != axis]
    return ", ".join(f"{name} {_number(face.point[AXES.index(name)])}" for name in names)


def _number(value: float, decimals: int = 2) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{value:.0f}"
    return "0" if text in ("-0", "") else text.replace("-", "−")


def _round(value: float, decimals: int = 4) -> float:
    return round(float(value), decimals) + 0.0
