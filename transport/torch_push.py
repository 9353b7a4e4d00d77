"""The push-forward on tensors: the pieces of all cells are listed, placed and laid down together.

The arithmetic is that of `transport.pushforward`, in any number of dimensions: a cell is mapped multilinearly between
the images of its corners, cut into as many pieces as its image is cells long, and each piece is a box that is shared
among the cells it overlaps.
"""

from itertools import product

import torch
from torch import Tensor

from transport.domain import Domain
from transport.pushforward import MOST_PIECES, TIE

PIECES = 1 << 22
"""Pieces that are laid down at a time, about."""


def push(f: Tensor, mu: Tensor, domain: Domain) -> tuple[Tensor, Tensor]:
    """(id - grad f)_# mu of every pair of a stack, and the costs of the plans: see `transport.pushforward.push`."""
    out = torch.zeros_like(mu)
    costs = torch.zeros(len(f), dtype=f.dtype, device=f.device)
    for i in range(len(f)):
        costs[i] = _push(corners(f[i], domain), mu[i], domain, out[i])
    return out, costs / domain.size


def corners(f: Tensor, domain: Domain) -> list[Tensor]:
    """The map at the corners of the cells, in cells: one tensor (n_1 + 1, ..., n_d + 1) per axis."""
    d = domain.dim
    # Every corner sees the 2^d cells around it; beyond a face the outermost cells count twice.
    around = f
    for axis in range(d):
        ends = around.narrow(axis, 0, 1), around.narrow(axis, f.shape[axis] - 1, 1)
        around = torch.cat([ends[0], around, ends[1]], axis)
    found = []
    for axis, (n, h) in enumerate(zip(domain.shape, domain.steps, strict=True)):
        jump = around.narrow(axis, 1, n + 1) - around.narrow(axis, 0, n + 1)
        # Term by term, in the order of the compiled loops: a face decides by the last bit whether it stays.
        sides = [(0,) if a == axis else (0, 1) for a in range(d)]
        jump = sum(_cut(jump, at, domain.shape, axis) for at in product(*sides))
        place = torch.arange(n + 1, dtype=f.dtype, device=f.device).view([-1 if a == axis else 1 for a in range(d)])
        where = (place - (0.5 ** (d - 1) * (1 / (h * h))) * jump).clamp(0.0, float(n))
        found.append(_faces(where, axis, n))
    return found


def _cut(jump: Tensor, at: tuple[int, ...], shape: tuple[int, ...], axis: int) -> Tensor:
    for other, begin in enumerate(at):
        if other != axis:
            jump = jump.narrow(other, begin, shape[other] + 1)
    return jump


def _faces(where: Tensor, axis: int, n: int) -> Tensor:
    """A face stays where its extrapolated image is within a cell of it, and moves with the corners inside otherwise."""
    row = where.unbind(axis)
    low = _face(row[1], row[min(2, n - 1)])
    high = n - _face(n - row[n - 1], n - row[max(n - 2, 1)])
    return torch.stack([low, *row[1:n], high], axis)


def _face(first: Tensor, second: Tensor) -> Tensor:
    place = (2 * first - second).clamp(min=0.0).minimum(first)
    return place.where(place > 1 + TIE, 0.0)


def _push(where: list[Tensor], mu: Tensor, domain: Domain, out: Tensor) -> Tensor:
    """Lay one measure down; -> cost of the plan, summed over the cells."""
    d = domain.dim
    cells = mu.flatten().nonzero()[:, 0]
    shape = torch.tensor(domain.shape, device=mu.device)
    index = torch.stack(torch.unravel_index(cells, domain.shape), 1)
    cost = torch.zeros((), dtype=mu.dtype, device=mu.device)
    terms = [_multilinear(w, index, d) for w in where]
    counts = torch.stack([_pieces(terms, axis, d) for axis in range(d)], 1)
    total = counts.prod(1)
    ends = total.cumsum(0)
    begin = 0
    while begin < len(cells):
        limit = PIECES + (int(ends[begin - 1]) if begin else 0)
        stop = max(begin + 1, int(torch.searchsorted(ends, limit, right=True)))
        part = slice(begin, stop)
        here = [{s: t[part] for s, t in term.items()} for term in terms]
        masses = mu.flatten()[cells[part]]
        cost += _lay_down(here, masses, index[part], counts[part], total[part], shape, domain.steps, out)
        begin = stop
    return cost


Terms = dict[tuple[int, ...], Tensor]


def _multilinear(where: Tensor, index: Tensor, d: int) -> Terms:
    """Coefficients of 1, r, s, rs, ... of one component of the image of a cell; a key names the axes of a term."""
    terms: Terms = {
        bits: where[tuple((index + torch.tensor(bits, device=index.device)).T)] for bits in product((0, 1), repeat=d)
    }
    for axis in reversed(range(d)):
        for bits in terms:
            if bits[axis]:
                terms[bits] = terms[bits] - terms[(*bits[:axis], 0, *bits[axis + 1 :])]
    return terms


def _pieces(terms: list[Terms], axis: int, d: int) -> Tensor:
    """Into how many pieces the cells are cut along an axis: the longest component of the edges along it, in cells."""
    longest = torch.zeros(())
    for term in terms:
        for bits in product((0, 1), repeat=d):
            if bits[axis]:
                edge = sum(v for s, v in term.items() if s[axis] and all(a <= b for a, b in zip(s, bits, strict=True)))
                longest = torch.maximum(longest.to(edge), edge.abs())  # type: ignore[union-attr]
    return (longest - TIE).ceil().clamp(1, MOST_PIECES).long()


def _value(term: Terms, at: Tensor, owner: Tensor, axes: tuple[int, ...], fixed: tuple[int, ...]) -> Tensor:
    """The polynomial in the coordinates `axes`, of the terms that have `fixed` set elsewhere."""
    if not axes:
        return term[fixed][owner]
    *rest, last = axes
    one = tuple(1 if a == last else b for a, b in enumerate(fixed))
    plain, slope = (_value(term, at, owner, tuple(rest), key) for key in (fixed, one))
    return plain + at[:, last] * slope


def _lay_down(
    terms: list[Terms],
    masses: Tensor,
    index: Tensor,
    counts: Tensor,
    total: Tensor,
    shape: Tensor,
    steps: tuple[float, ...],
    out: Tensor,
) -> Tensor:
    d = len(terms)
    owner = torch.arange(len(masses), device=masses.device).repeat_interleave(total)
    number = torch.arange(len(owner), device=masses.device) - (total.cumsum(0) - total)[owner]
    at = torch.empty((len(owner), d), dtype=masses.dtype, device=masses.device)
    for axis in reversed(range(d)):
        count = counts[owner, axis]
        at[:, axis] = (number % count + 0.5) * (1.0 / count.double())
        number = number // count
    per_piece = torch.ones_like(masses)
    for axis in range(d):
        per_piece = per_piece * (1.0 / counts[:, axis].double())
    part = (masses * per_piece)[owner]
    none, cost = (0,) * d, torch.zeros((), dtype=masses.dtype, device=masses.device)
    low, shares = [], []
    for axis, term in enumerate(terms):
        centre = _value(term, at, owner, tuple(range(d)), none)
        along = tuple(1 if a == axis else 0 for a in range(d))
        rest = tuple(a for a in range(d) if a != axis)
        width = _value(term, at, owner, rest, along).abs() * (1.0 / counts[owner, axis].double())
        cell, share = _share(centre, width, int(shape[axis]))
        away = (cell - index[owner, axis]).double()
        cost += 0.5 * steps[axis] ** 2 * (part * (away * away + (1 - share) * (2 * away + 1))).sum()
        low.append(cell)
        shares.append(share)
    places, masses_there = [], []
    for bits in product((0, 1), repeat=d):
        mass, place = part, torch.zeros_like(low[0])
        for axis, bit in enumerate(bits):
            # What goes on is what is left, so that nothing is lost to rounding.
            kept = mass * shares[axis]
            mass = mass - kept if bit else kept
            place = place * int(shape[axis]) + (low[axis] + bit).clamp(max=int(shape[axis]) - 1)
        places.append(place)
        masses_there.append(mass)
    _add(out.view(-1), torch.stack(places, 1).flatten(), torch.stack(masses_there, 1).flatten())
    return cost


def _add(out: Tensor, places: Tensor, masses: Tensor) -> None:
    if out.is_cuda:
        out.index_put_((places,), masses, accumulate=True)
    else:
        out.index_add_(0, places, masses)


def _share(centre: Tensor, width: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The cell where a box around `centre` begins, and its share of the box."""
    width = width.clamp(max=1.0)
    low = (centre - 0.5 * width).clamp(min=0.0)
    cell = (low + TIE).long().clamp(max=n - 1)
    inside = (cell + 1).double() - low
    whole = (cell == n - 1) | (inside >= width)
    return cell, torch.where(whole, 1.0, inside / width)
