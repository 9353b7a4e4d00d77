"""Planar Booleans in a process of their own: `python -m topopt.cad.planar_worker in.npz out.npz seconds`."""

import numpy as np

from pde.child_process import Arrays, serve
from topopt.cad.planar_boolean import material
from topopt.cad.region import Region
from topopt.cad.wire_arrays import regions_table, wires_from


def combine(given: Arrays) -> Arrays:
    """domain, voids, bars, keep: tables of wires; with_bars; fuzzy -> table, counts of the pieces."""
    outer, *holes = wires_from(given["domain"])
    voids, bars, keep = (wires_from(given[name]) for name in ("voids", "bars", "keep"))
    pieces = material(
        Region(outer, tuple(holes)), voids, bars if given["with_bars"] else None, keep, float(given["fuzzy"])
    )
    table, counts = regions_table(pieces)
    return {"table": table, "counts": np.asarray(counts)}


if __name__ == "__main__":
    serve(combine)
