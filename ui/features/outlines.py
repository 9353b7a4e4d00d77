"""An outline of one's own as the `domain` of a job, and as a picture with its edges numbered."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from jobs.errors import JobError
from ui.features.plates import force, length
from ui.features.uploads import EdgeChoice, FaceCard, OutlineCard
from ui.words import escape

FIXES = {"held_all": "all", "held_x": "x", "held_y": "y"}
LOADS = 3
CASES = ("1", "2", "3")
TRIANGLES = 8000  # that a fresh outline is divided into
VOIDS = 15
RANKS = ("", "support", "load")
LABELS = 60  # numbers in the picture, of the longest edges
# What a fresh outline starts with; `suggested` fits the rest to its size.
FRESH: dict[str, Any] = {
    "outline_id": "",
    "face": 1,
    "held_all": [],
    "held_x": [],
    "held_y": [],
    **{key: value for k in range(1, LOADS + 1) for key, value in ((f"load{k}", []), (f"case{k}", "1"))},
    **{key: value for k in range(1, LOADS + 1) for key, value in ((f"load{k}_x", 0), (f"load{k}_y", 0))},
    "rim": 3,
    "cells": "triangles",
}


def face_of(form: Mapping[str, Any]) -> tuple[OutlineCard, FaceCard]:
    """The upload and the face that are chosen.

    Raises:
        JobError: there is none.
    """
    card = form.get("card")
    if card is None:
        raise JobError("Outline: upload a DXF drawing or a STEP body, or choose a sample")
    number = form["face"]
    if not isinstance(number, int) or not 1 <= number <= len(card.faces):
        raise JobError("Face: choose one of the faces of the file")
    return card, card.faces[number - 1]


def domain(form: Mapping[str, Any]) -> dict[str, Any]:
    """The outline, its supports and loads as `domain` of a job.

    Raises:
        JobError: no outline, nothing held, nothing loaded, or a number that cannot be.
    """
    card, face = face_of(form)
    supports = [{"edges": points, "fix": fix} for key, fix in FIXES.items() if (points := _points(face, form[key]))]
    if not supports:
        raise JobError("Supports: choose the edges that are held")
    data: dict[str, Any] = {
        "file": card.file,
        **({"units": card.units} if card.units else {}),
        "face": form["face"],
        "h": length("Element", form["h"]),
        "E": length("Modulus", form["modulus"]),
        "nu": 0.33,
        "supports": [{k: v for k, v in one.items() if v != "all"} for one in supports],
        "loads": _loads(form, face),
    }
    if form["h"] > min(face.size) / 8:
        most = min(face.size) / 8
        raise JobError(
            f"Element: {form['h']:g} mm leaves fewer than 8 across the outline; choose at most {most:.3g} mm"
        )
    if form["rim"]:
        data["rim"] = length("Rim", form["rim"])
    if form["cells"] != "triangles":
        data["cells"] = form["cells"]
    return data


def _loads(form: Mapping[str, Any], face: FaceCard) -> list[list[dict[str, Any]]]:
    cases: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
    for k in range(1, LOADS + 1):
        points, parts = _points(face, form[f"load{k}"]), [force(form[f"load{k}_{axis}"]) for axis in "xy"]
        if points and not any(parts):
            raise JobError(f"Load {k}: both parts of its force are zero; give it a value in N")
        if any(parts) and not points:
            raise JobError(f"Load {k}: choose the edges that it acts on")
        if points:
            cases[form[f"case{k}"]].append({"edges": points, "force": parts})
    held = {tuple(point) for key in FIXES if key == "held_all" for point in _points(face, form[key])}
    for k, load in enumerate((load for case in cases.values() for load in case), start=1):
        if all(tuple(point) in held for point in load["edges"]):
            raise JobError(f"Load {k}: it acts only on edges that are held; choose others")
    found = [case for case in cases.values() if case]
    if not found:
        raise JobError("Loads: choose edges that are loaded, and a force")
    return found


def suggested(face: FaceCard) -> dict[str, float]:
    """Element size, start grid, and lengths that suit the size of a face."""
    width, height = face.size
    h = _two_digits(math.sqrt(2.3 * face.area / TRIANGLES))
    nx = min(20, max(1, round(math.sqrt(VOIDS * width / height))))
    ny = min(20, max(1, round(VOIDS / nx)))
    depth = _two_digits(face.depth) if face.depth else 6
    return {"h": h, "rim": 2 * h, "nx": nx, "ny": ny, "thickness": depth, "min_radius": h, "bridge": 2 * h}


def edge_choices(face: FaceCard | None) -> list[tuple[str, str]]:
    """What the edge lists offer."""
    return [(edge.words, edge.key) for edge in face.edges] if face else []


def face_choices(card: OutlineCard | None) -> list[tuple[str, int]]:
    """What the list of faces offers."""
    return [(face.words, number) for number, face in enumerate(card.faces, start=1)] if card else [("–", 1)]


def file_name(card: OutlineCard) -> str:
    return Path(card.file).name


def picture(form: Mapping[str, Any], face: FaceCard) -> str:
    """The outline as inline SVG: held edges, loaded edges with arrows, and the number of every edge."""
    points = [p for edge in face.edges for line in edge.lines for p in line]
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    size = max(right - left, high - low)
    margin = 0.12 * size
    box = f"{left - margin:.6g} {-high - margin:.6g} {right - left + 2 * margin:.6g} {high - low + 2 * margin:.6g}"
    held = {key for name in FIXES for key in form[name]}
    loaded = {key for k in range(1, LOADS + 1) for key in form[f"load{k}"]}
    roles = {edge: "load" if edge.key in loaded else "support" if edge.key in held else "" for edge in face.edges}
    # What stands out is drawn last.
    edges = "".join(_drawn(edge, role) for edge, role in sorted(roles.items(), key=lambda item: RANKS.index(item[1])))
    arrows = "".join(_arrow(face, form, k, 0.1 * size) for k in range(1, LOADS + 1))
    shown = sorted((edge for edge in face.edges if edge.shown), key=lambda edge: -edge.length)[:LABELS]
    labels = "".join(_label(edge, 0.026 * size) for edge in shown)
    told = escape(f"Outline with {len(shown)} numbered edges")
    return (
        f'<svg class="sketch outline" viewBox="{box}" role="img" aria-label="{told}">'
        f'<g fill="none" stroke-linejoin="round" stroke-linecap="round">{edges}{arrows}</g>{labels}</svg>'
    )


def _drawn(edge: EdgeChoice, role: str) -> str:
    path = "".join("M" + "L".join(f"{x:.6g} {-y:.6g}" for x, y in line) for line in edge.lines)
    colour, width = (f"var(--{role})", 4) if role else ("currentColor", 2)
    return f'<path d="{path}" style="stroke:{colour};stroke-width:{width}px"><title>{escape(edge.words)}</title></path>'


def _arrow(face: FaceCard, form: Mapping[str, Any], k: int, size: float) -> str:
    """From the middle of each loaded edge along its force."""
    parts = [form[f"load{k}_{axis}"] or 0 for axis in "xy"]
    strength = math.hypot(*parts)
    if not strength:
        return ""
    dx, dy = (size * part / strength for part in parts)
    found = []
    for x, y in _middles(face, form[f"load{k}"]):
        left, right = ((x - 0.35 * (dx - t * dy), y - 0.35 * (dy + t * dx)) for t in (0.6, -0.6))
        head = f"M{left[0]:.6g} {-left[1]:.6g}L{x:.6g} {-y:.6g}L{right[0]:.6g} {-right[1]:.6g}"
        found.append(f"M{x - dx:.6g} {-(y - dy):.6g}L{x:.6g} {-y:.6g}{head}")
    return f'<path d="{"".join(found)}" style="stroke:var(--load);stroke-width:2.5px"/>' if found else ""


def _middles(face: FaceCard, keys: list[str]) -> list[tuple[float, float]]:
    """The middle of each chosen edge; of a round hole, its centre."""
    chosen = [edge for key in keys or () if (edge := face.edge(key))]
    return [(fmean(x for x, _ in edge.points), fmean(y for _, y in edge.points)) for edge in chosen]


def _label(edge: EdgeChoice, size: float) -> str:
    # In the middle of an edge; at the upper right of a hole, out of the way of an arrow along an axis.
    whole = [p for line in edge.lines for p in line]
    x, y = edge.points[0] if len(edge.points) == 1 else max(whole, key=sum)
    return (
        f'<g><circle cx="{x:.6g}" cy="{-y:.6g}" r="{0.8 * size:.4g}" style="fill:var(--sheet);stroke:none"/>'
        f'<text x="{x:.6g}" y="{-y + 0.36 * size:.6g}" font-size="{size:.4g}" text-anchor="middle" '
        f'style="fill:currentColor;stroke:none">{edge.number}</text></g>'
    )


def _points(face: FaceCard, keys: Any) -> list[list[float]]:
    edges = [face.edge(key) for key in keys or ()]
    return [list(point) for edge in edges if edge for point in edge.points]


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")
