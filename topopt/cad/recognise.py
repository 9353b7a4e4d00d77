"""The faces of a triangulated body, found again: planes and cylinders, so that selectors work on a mesh as on CAD.

1. Triangles that continue one another without a bend make a *facet*.
2. A tessellated cylinder is a strip of facets with parallel creases. At every crease the two facets and the crease
   itself give three lines parallel to an axis, hence a circle; neighbouring creases of a cylinder agree on it. Chains
   of creases that agree are cylinders, provided that all their vertices lie on the fitted circle.
3. Of what is left, facets with sharp borders or much area are planes; the others are joined across soft creases, and
   each group is a cylinder if its normals and vertices say so (an irregular mesh), "other" if not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topopt.cad.body import Face, Surface

Points = NDArray[np.float64]
Indices = NDArray[np.int64]

FLAT = np.radians(0.2)  # below this a bend is the rounding of a file
SOFT = np.radians(31.0)  # above this a crease is an edge of the part; a circle of 12 chords bends by 30 degrees
AGREE = 0.02  # relative, how well neighbouring creases must agree on a radius and an axis
STRAIGHT = 3e-3  # how far the normals of a strip may lean along its axis; rings of a sphere or a torus lean more
IRREGULAR = 0.1  # the same for triangles that do not follow the axis
FEWEST = 4  # facets that make a strip a cylinder
LARGE = 1000  # triangles of a facet beyond which it is no chord of a strip
MANY = 8  # creases of a facet beyond which it is the side of a part rather than a chord of a strip


@dataclass(frozen=True)
class _Creases:
    """Edges between two facets: their triangles (e, 2), end points (e, 2, 3), bends (e,) in radians."""

    triangles: Indices
    ends: Points
    bend: NDArray[np.float64]


def recognise(surface: Surface) -> tuple[Face, ...]:
    """Faces of a closed surface; every triangle belongs to exactly one. Planes first, then cylinders, then others."""
    area = np.maximum(surface.areas, 1e-300)
    normals = surface.normals / area[:, None]
    pairs, ends, bend = _edges(surface, normals)
    flat = _is_flat(surface, pairs, bend)
    facet = _groups(len(area), pairs[flat])
    creases = _Creases(pairs[~flat], ends[~flat], bend[~flat])
    free = np.ones(len(area), bool)
    found = []
    for triangles in _strips(surface, normals, facet, creases):
        face = _fit_cylinder(surface, normals, triangles[free[triangles]], STRAIGHT)
        if face is not None:
            found.append(face)
            free[face.triangles] = False
    cylinders = _without_rings(found, creases)
    free[:] = True
    for face in cylinders:
        free[face.triangles] = False
    planes, rest = _planes(surface, normals, facet, creases, free)
    others = []
    for triangles in rest:
        face = _fit_cylinder(surface, normals, triangles, IRREGULAR)
        if face is None:
            others.append(Face("other", triangles, surface.corners[triangles].mean(axis=(0, 1))))
        else:
            cylinders.append(face)
    return (*planes, *cylinders, *others)


def _edges(surface: Surface, normals: Points) -> tuple[Indices, Points, NDArray[np.float64]]:
    """Inner edges: their two triangles (e, 2), their ends (e, 2, 3), the bend between the normals (e,)."""
    directed = surface.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    owner = np.repeat(np.arange(len(surface.faces)), 3)
    key = np.sort(directed, axis=1)
    order = np.lexsort((owner, key[:, 1], key[:, 0]))
    pairs = owner[order].reshape(-1, 2)  # closed: every edge occurs exactly twice
    ends = surface.vertices[key[order][::2]]
    a, b = normals[pairs[:, 0]], normals[pairs[:, 1]]
    bend = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ij,ij->i", a, b))
    return pairs, ends, bend


def _is_flat(surface: Surface, pairs: Indices, bend: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Edges without a bend. Slivers have noisy normals, so a triangle too thin to have one counts as flat."""
    blur = _blur(surface)
    return bend <= np.maximum(FLAT, np.maximum(blur[pairs[:, 0]], blur[pairs[:, 1]]))


def _blur(surface: Surface) -> NDArray[np.float64]:
    """How uncertain the normals are, in radians, because files hold single precision. (m,)"""
    corners = surface.corners
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    height = 2 * surface.areas / np.maximum(longest, 1e-300)
    noise = 4 * np.finfo(np.float32).eps * float(np.abs(surface.bounds).max())
    return np.minimum(2 * noise / np.maximum(height, 1e-300), np.pi)


def _groups(count: int, pairs: Indices) -> Indices:
    links = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(links, directed=False)[1].astype(np.int64)


def _strips(surface: Surface, normals: Points, facet: Indices, creases: _Creases) -> list[Indices]:
    """Candidates for cylinders: triangles of facets joined by creases that agree on an axis and a radius."""
    # Seen from a flank of many triangles no crease tells a circle, and there are many creases along it.
    chord = np.bincount(facet)[facet[creases.triangles]].max(axis=1) <= LARGE
    soft = (creases.bend < SOFT) & chord
    triangles, ends = creases.triangles[soft], creases.ends[soft]
    if not len(triangles):
        return []
    axis, centre, radius = _circles(surface, normals, facet, triangles, ends)
    one, other = _neighbouring(facet[triangles])
    away = centre[one] - centre[other]
    away -= np.einsum("ij,ij->i", away, axis[one])[:, None] * axis[one]
    larger = np.maximum(radius[one], radius[other])
    agree = (
        np.isfinite(larger)
        & (np.linalg.norm(np.cross(axis[one], axis[other]), axis=1) < AGREE)
        & (np.abs(radius[one] - radius[other]) < AGREE * larger)
        & (np.linalg.norm(away, axis=1) < AGREE * larger)
    )
    chain = _groups(len(triangles), np.stack([one[agree], other[agree]], axis=1))
    strips = []
    for group in np.flatnonzero(np.bincount(chain) >= FEWEST - 1):
        members = np.flatnonzero(chain == group)
        facets, times = np.unique(facet[triangles[members]], return_counts=True)
        # An inner facet of the strip has two of its creases; at the ends of an open strip, one. A large flank that is
        # tangent to the strip has one as well, but its far vertices are not on the circle: the fit takes care of it.
        if len(facets) >= FEWEST and (times >= 2).sum() >= FEWEST - 2:
            strips.append(np.flatnonzero(np.isin(facet, facets)))
    return strips


def _circles(
    surface: Surface, normals: Points, facet: Indices, triangles: Indices, ends: Points
) -> tuple[Points, Points, NDArray[np.float64]]:
    """The circle through a crease and the far rims of its two facets, seen along the crease: axis, centre, radius."""
    along = ends[:, 1] - ends[:, 0]
    axis = along / np.linalg.norm(along, axis=1)[:, None]
    # In the plane across the axis, a facet of width w leaves the crease along its own tangent t: far rim at w t.
    reach = []
    order = np.argsort(facet, kind="stable")
    size = np.bincount(facet)
    starts = np.cumsum(size) - size
    for side in (0, 1):
        tangent = np.cross(axis, normals[triangles[:, side]])
        own = facet[triangles[:, side]]
        # All triangles of the facet of every crease, one after the other.
        count = size[own]
        crease = np.repeat(np.arange(len(own)), count)
        first = np.cumsum(count) - count
        member = order[np.arange(count.sum()) - np.repeat(first - starts[own], count)]
        offset = surface.corners[member] - ends[crease, None, 0]
        across = np.einsum("rkd,rd->rk", offset, tangent[crease])
        high, low = np.maximum.reduceat(across.max(axis=1), first), np.minimum.reduceat(across.min(axis=1), first)
        reach.append(tangent * np.where(high > -low, high, low)[:, None])
    p, q = reach
    # Circumcentre of the triangle (0, p, q), Goldman (1990).
    cross = np.cross(p, q)
    square = np.einsum("ij,ij->i", cross, cross)
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.einsum("ij,ij->i", p, p)[:, None] * q - np.einsum("ij,ij->i", q, q)[:, None] * p
        centre = np.cross(lift, cross) / (2 * square)[:, None]
    return axis, ends[:, 0] + centre, np.linalg.norm(centre, axis=1)


def _neighbouring(facets: Indices) -> tuple[Indices, Indices]:
    """Pairs of creases that border on the same facet, for facets with few creases. facets : (e, 2)."""
    crease = np.repeat(np.arange(len(facets)), 2)
    flat = facets.ravel()
    order = np.argsort(flat, kind="stable")
    flat, crease = flat[order], crease[order]
    one, other = [], []
    for shift in range(1, MANY):
        same = flat[shift:] == flat[:-shift]
        one.append(crease[shift:][same])
        other.append(crease[:-shift][same])
    return np.concatenate(one), np.concatenate(other)


def _fit_cylinder(surface: Surface, normals: Points, triangles: Indices, lean: float) -> Face | None:
    """The cylinder on which these triangles lie, without those that do not; None if there is none."""
    for _ in range(2):
        if len(triangles) < FEWEST:
            return None
        n, weight = normals[triangles], surface.areas[triangles]
        values, vectors = np.linalg.eigh((n * weight[:, None]).T @ n / weight.sum())
        # Normals of a cylinder lie in a plane and cover it; those of a flat strip cover a line only.
        if values[1] < 1e-3 or values[0] > 0.02:
            return None
        axis = vectors[:, 0] * np.sign(vectors[np.argmax(np.abs(vectors[:, 0])), 0])
        points = surface.vertices[np.unique(surface.faces[triangles])]
        centre, radius = _circle(points, axis)
        corners = surface.corners[triangles] - centre
        radial = corners - (corners @ axis)[..., None] * axis
        off = np.abs(np.linalg.norm(radial, axis=2) - radius).max(axis=1)
        middle = radial.mean(axis=1)
        cosine = np.einsum("ij,ij->i", middle, n) / np.maximum(np.linalg.norm(middle, axis=1), 1e-300)
        leaning = np.abs(n @ axis) > np.maximum(lean, _blur(surface)[triangles])
        good = (off < _tolerance(surface, radius)) & (np.abs(cosine) > np.cos(SOFT)) & ~leaning
        if good.all():
            hollow = bool((weight * cosine).sum() < 0)
            along = (points - centre) @ axis
            point = centre + axis * (along.min() + along.max()) / 2
            return Face("cylinder", triangles, point + 0.0, axis + 0.0, radius, hollow)
        triangles = triangles[good]
    return None


def _without_rings(found: list[Face], creases: _Creases) -> list[Face]:
    """Drop the strips of spheres and tori: neighbours of one radius whose axes turn a little from one to the next."""
    owner = np.full(int(creases.triangles.max(initial=-1)) + 1, -1)
    for number, face in enumerate(found):
        owner[face.triangles[face.triangles < len(owner)]] = number
    pairs = owner[creases.triangles[creases.bend < SOFT]]
    pairs = np.unique(np.sort(pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])], axis=1), axis=0)
    dropped = set()
    for a, b in pairs.tolist():
        turn = np.arccos(min(1.0, abs(found[a].direction @ found[b].direction)))
        alike = abs(found[a].radius - found[b].radius) < 0.02 * found[a].radius and found[a].hollow == found[b].hollow
        if alike and FLAT < turn < SOFT:
            dropped |= {a, b}
    return [face for number, face in enumerate(found) if number not in dropped]


def _circle(points: Points, axis: Points) -> tuple[Points, float]:
    """Least-squares circle of points seen along an axis (Kasa 1976): a point of the axis line, and the radius."""
    middle = points.mean(axis=0)
    u = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    x, y = (points - middle) @ u, (points - middle) @ v
    a, b, c = np.linalg.lstsq(np.stack([2 * x, 2 * y, np.ones_like(x)], axis=1), x**2 + y**2, rcond=None)[0]
    return middle + a * u + b * v, float(np.sqrt(max(c + a * a + b * b, 0.0)))


def _tolerance(surface: Surface, radius: float) -> float:
    return 1e-3 * radius + 8 * float(np.finfo(np.float32).eps) * float(np.abs(surface.bounds).max())


def _planes(
    surface: Surface, normals: Points, facet: Indices, creases: _Creases, free: NDArray[np.bool_]
) -> tuple[list[Face], list[Indices]]:
    """Planar faces among the free facets, and the rest grouped across its soft creases."""
    area = surface.areas
    count = int(facet.max()) + 1
    total = np.bincount(facet, weights=area, minlength=count)
    length = np.linalg.norm(creases.ends[:, 1] - creases.ends[:, 0], axis=1)
    border, soft, neighbour = np.zeros(count), np.zeros(count), np.zeros(count)
    loose = free[creases.triangles].all(axis=1) & (creases.bend < SOFT)
    sides = facet[creases.triangles]
    for own, other in (sides.T, sides.T[::-1]):
        border += np.bincount(own, weights=length, minlength=count)
        soft += np.bincount(own, weights=length * loose, minlength=count)
        np.maximum.at(neighbour, own[loose], total[other[loose]])
    # Sharp borders, or a flank far larger than the blends around it; the chords of a cone are equal among themselves.
    planar = (soft < 0.5 * border) | ((total > 0.01 * area.sum()) & (total > 4 * neighbour))
    planes, leftover = [], free.copy()
    for number in np.unique(facet[free]):
        if planar[number]:
            triangles = np.flatnonzero((facet == number) & free)
            vector = surface.normals[triangles].sum(axis=0)
            size = float(np.linalg.norm(vector))
            points = surface.corners[triangles].reshape(-1, 3)
            point = points.mean(axis=0)
            # A facet may creep round a finely tessellated bend; then it is no plane.
            if size > 0.999 * area[triangles].sum() and np.abs((points - point) @ vector).max() < 1e-3 * size**1.5:
                planes.append(Face("plane", triangles, point, vector / size + 0.0))
                leftover[triangles] = False
    across = loose & leftover[creases.triangles].all(axis=1)
    within = _same_facet_links(facet)
    group = _groups(len(area), np.concatenate([creases.triangles[across], within]))
    return planes, [np.flatnonzero((group == g) & leftover) for g in np.unique(group[leftover])]


def _same_facet_links(facet: Indices) -> Indices:
    order = np.argsort(facet, kind="stable")
    same = facet[order][1:] == facet[order][:-1]
    return np.stack([order[1:][same], order[:-1][same]], axis=1)
