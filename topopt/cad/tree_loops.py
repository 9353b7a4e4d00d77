"""The compiled loops behind `topopt.cad.closest`. Tree arrays are those of `TriangleTree`."""

import numpy as np
from numba import njit


@njit(cache=True)
def grow(triangles, leaf, order, boxes, span, right):  # type: ignore[no-untyped-def]
    """Sort `order` (m,) into a tree of at most 2 m nodes and return how many there are; equal keys keep their order."""
    nodes = 0
    stack = np.empty((128, 3), np.int64)
    depth = 1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(order), -1
    while depth > 0:
        depth -= 1
        start, stop, parent = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if parent >= 0:
            right[parent] = nodes
        middle_low, middle_high = np.full(3, np.inf), np.full(3, -np.inf)
        for d in range(3):
            boxes[nodes, 0, d], boxes[nodes, 1, d] = np.inf, -np.inf
        for n in range(start, stop):
            t = triangles[order[n]]
            for d in range(3):
                boxes[nodes, 0, d] = min(boxes[nodes, 0, d], t[0, d], t[1, d], t[2, d])
                boxes[nodes, 1, d] = max(boxes[nodes, 1, d], t[0, d], t[1, d], t[2, d])
                middle = t[0, d] + t[1, d] + t[2, d]
                middle_low[d], middle_high[d] = min(middle_low[d], middle), max(middle_high[d], middle)
        span[nodes, 0], span[nodes, 1], right[nodes] = start, stop, -1
        if stop - start > leaf:
            axis = np.argmax(middle_high - middle_low)
            keys = np.empty(stop - start)
            for n in range(start, stop):
                t = triangles[order[n]]
                keys[n - start] = t[0, axis] + t[1, axis] + t[2, axis]
            order[start:stop] = order[start:stop][np.argsort(keys, kind="mergesort")]
            half = (start + stop) // 2
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = half, stop, nodes
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = start, half, -1
            depth += 2
        nodes += 1
    return nodes


@njit(cache=True)
def closest_points(points, corners, boxes, span, right, found, which):  # type: ignore[no-untyped-def]
    """Fill `found` (n, 3) and `which` (n,) with the closest point of any triangle, nearer boxes first."""
    stack = np.empty(128, np.int64)
    for n in range(points.shape[0]):
        p = points[n]
        best = np.inf
        depth, stack[0] = 1, 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if _to_box(p, boxes[node]) >= best:
                continue
            if right[node] < 0:
                for t in range(span[node, 0], span[node, 1]):
                    x, y, z = _on_triangle(p, corners[t, 0], corners[t, 1], corners[t, 2])
                    d = (x - p[0]) ** 2 + (y - p[1]) ** 2 + (z - p[2]) ** 2
                    if d < best:
                        best = d
                        found[n, 0], found[n, 1], found[n, 2] = x, y, z
                        which[n] = t
            else:
                near, far = node + 1, right[node]
                if _to_box(p, boxes[far]) < _to_box(p, boxes[near]):
                    near, far = far, near
                stack[depth], stack[depth + 1] = far, near
                depth += 2


@njit(cache=True)
def winding_along_z(points, corners, boxes, span, right, winding):  # type: ignore[no-untyped-def]
    """Signed crossings of the ray that climbs from each point: +1 where it leaves, -1 where it enters."""
    stack = np.empty(128, np.int64)
    for n in range(points.shape[0]):
        px, py, pz = points[n, 0], points[n, 1], points[n, 2]
        count = 0
        depth, stack[0] = 1, 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            low, high = boxes[node, 0], boxes[node, 1]
            if px < low[0] or px > high[0] or py < low[1] or py > high[1] or pz > high[2]:
                continue
            if right[node] >= 0:
                stack[depth], stack[depth + 1] = right[node], node + 1
                depth += 2
                continue
            for t in range(span[node, 0], span[node, 1]):
                count += _crossing(px, py, pz, corners[t, 0], corners[t, 1], corners[t, 2])
        winding[n] = count


@njit(cache=True)
def _to_box(p, box):  # type: ignore[no-untyped-def]
    d = 0.0
    for axis in range(3):
        gap = max(box[0, axis] - p[axis], p[axis] - box[1, axis], 0.0)
        d += gap * gap
    return d


@njit(cache=True)
def _crossing(px, py, pz, a, b, c):  # type: ignore[no-untyped-def]
    ab, bc, ca = _side(px, py, a, b), _side(px, py, b, c), _side(px, py, c, a)
    total = ab + bc + ca
    if total == 0.0 or not ((ab > 0 and bc > 0 and ca > 0) or (ab < 0 and bc < 0 and ca < 0)):
        return 0
    if (ab * c[2] + bc * a[2] + ca * b[2]) / total <= pz:
        return 0
    return 1 if total > 0 else -1


@njit(cache=True)
def _side(px, py, a, b):  # type: ignore[no-untyped-def]
    # Evaluated from the lexicographically lower end, so that both triangles of an edge see the same rounding.
    if a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]):
        return (b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])
    return -((a[0] - b[0]) * (py - b[1]) - (a[1] - b[1]) * (px - b[0]))


@njit(cache=True)
def _on_triangle(p, a, b, c):  # type: ignore[no-untyped-def]
    # Ericson (2005), sec. 5.1.5: corner regions, then edge regions, then the inside.
    ab0, ab1, ab2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    ac0, ac1, ac2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    n0, n1, n2 = ab1 * ac2 - ab2 * ac1, ab2 * ac0 - ab0 * ac2, ab0 * ac1 - ab1 * ac0
    longest = max(ab0 * ab0 + ab1 * ab1 + ab2 * ab2, ac0 * ac0 + ac1 * ac1 + ac2 * ac2)
    if n0 * n0 + n1 * n1 + n2 * n2 <= 1e-20 * longest * longest:
        return _on_sides(p, a, b, c)
    d1 = ab0 * (p[0] - a[0]) + ab1 * (p[1] - a[1]) + ab2 * (p[2] - a[2])
    d2 = ac0 * (p[0] - a[0]) + ac1 * (p[1] - a[1]) + ac2 * (p[2] - a[2])
    if d1 <= 0 and d2 <= 0:
        return a[0], a[1], a[2]
    d3 = ab0 * (p[0] - b[0]) + ab1 * (p[1] - b[1]) + ab2 * (p[2] - b[2])
    d4 = ac0 * (p[0] - b[0]) + ac1 * (p[1] - b[1]) + ac2 * (p[2] - b[2])
    if d3 >= 0 and d4 <= d3:
        return b[0], b[1], b[2]
    vc = d1 * d4 - d3 * d2
    if vc <= 0 and d1 >= 0 and d3 <= 0:
        v = d1 / (d1 - d3) if d1 > d3 else 0.0
        return a[0] + v * ab0, a[1] + v * ab1, a[2] + v * ab2
    d5 = ab0 * (p[0] - c[0]) + ab1 * (p[1] - c[1]) + ab2 * (p[2] - c[2])
    d6 = ac0 * (p[0] - c[0]) + ac1 * (p[1] - c[1]) + ac2 * (p[2] - c[2])
    if d6 >= 0 and d5 <= d6:
        return c[0], c[1], c[2]
    vb = d5 * d2 - d1 * d6
    if vb <= 0 and d2 >= 0 and d6 <= 0:
        w = d2 / (d2 - d6) if d2 > d6 else 0.0
        return a[0] + w * ac0, a[1] + w * ac1, a[2] + w * ac2
    va = d3 * d6 - d5 * d4
    if va <= 0 and d4 - d3 >= 0 and d5 - d6 >= 0:
        total = (d4 - d3) + (d5 - d6)
        w = (d4 - d3) / total if total > 0 else 0.0
        return b[0] + w * (c[0] - b[0]), b[1] + w * (c[1] - b[1]), b[2] + w * (c[2] - b[2])
    scale = 1.0 / (va + vb + vc)
    v, w = vb * scale, vc * scale
    return a[0] + ab0 * v + ac0 * w, a[1] + ab1 * v + ac1 * w, a[2] + ab2 * v + ac2 * w


@njit(cache=True)
def _on_sides(p, a, b, c):  # type: ignore[no-untyped-def]
    # A triangle without area has no regions, only sides.
    best = np.inf
    x, y, z = a[0], a[1], a[2]
    for start, end in ((a, b), (b, c), (c, a)):
        d0, d1, d2 = end[0] - start[0], end[1] - start[1], end[2] - start[2]
        square = d0 * d0 + d1 * d1 + d2 * d2
        along = (p[0] - start[0]) * d0 + (p[1] - start[1]) * d1 + (p[2] - start[2]) * d2
        t = min(max(along / square, 0.0), 1.0) if square > 0 else 0.0
        q0, q1, q2 = start[0] + t * d0, start[1] + t * d1, start[2] + t * d2
        distance = (q0 - p[0]) ** 2 + (q1 - p[1]) ** 2 + (q2 - p[2]) ** 2
        if distance < best:
            best, x, y, z = distance, q0, q1, q2
    return x, y, z
