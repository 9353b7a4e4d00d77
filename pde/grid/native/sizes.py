"""How many levels a grid gets, and how much it is padded so that it can be halved that often."""

# Seconds, roughly, on one core: per element and iteration, per multiply-add of the coarsest factor and of its solves.
ELEMENT, FACTOR, SUBSTITUTE = 30e-9, 0.12e-9, 1.5e-9
ITERATIONS = 12.0
# Iterations grow when the coarsest grid has fewer elements across than this: slender members cannot be told there.
RESOLVED, LOSS_RESOLVED, LOSS = 8, 1.1, 1.4
MOST_COARSE_VALUES = 20_000


def padded_sizes(shape: tuple[int, ...], dofs: int) -> list[tuple[int, ...]]:
    """Elements along each axis on every level, finest first. The depth with the least estimated time is taken."""
    best: tuple[float, list[tuple[int, ...]]] | None = None
    loss = 1.0
    for levels in range(1, 12):
        size = 2 ** (levels - 1)
        coarse = tuple(-(-n // size) for n in shape)
        sizes = [tuple(n * 2 ** (levels - 1 - depth) for n in coarse) for depth in range(levels)]
        loss *= LOSS_RESOLVED if min(coarse) >= RESOLVED else LOSS
        values, band = _coarse_matrix(coarse, dofs)
        if values <= MOST_COARSE_VALUES:
            elements = 1
            for n in sizes[0]:
                elements *= n
            iteration = elements * dofs / 3 * ELEMENT + values * band * SUBSTITUTE
            seconds = values * band**2 * FACTOR + ITERATIONS * loss * iteration
            if best is None or seconds < best[0]:
                best = seconds, sizes
        if max(coarse) == 1:
            break
    assert best is not None
    return best[1]


def _coarse_matrix(shape: tuple[int, ...], dofs: int) -> tuple[int, int]:
    """Unknowns and half bandwidth with the longest axis slowest."""
    nodes = sorted(n + 1 for n in shape)
    values = dofs
    for n in nodes:
        values *= n
    strides = [dofs]
    for n in nodes[:-1]:
        strides.append(strides[-1] * n)
    return values, sum(strides) + dofs - 1
