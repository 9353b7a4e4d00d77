"""fTetWild in a process of its own: `python -m topopt.cad.tetrahedra_worker in.npz out.npz seconds`."""

import os

import numpy as np

from pde.child_process import Arrays, serve


def fill(given: Arrays) -> Arrays:
    """vertices (n, 3), faces (m, 3), edge in mm, epsilon of the diagonal, stop_energy, passes -> vertices, cells."""
    from pytetwild import tetrahedralize  # pyright: ignore[reportPrivateImportUsage]

    vertices, cells = tetrahedralize(
        np.ascontiguousarray(given["vertices"], np.float64),
        np.ascontiguousarray(given["faces"], np.int32),
        edge_length_abs=float(given["edge"]),
        epsilon=float(given["epsilon"]),
        stop_energy=float(given["stop_energy"]),
        num_opt_iter=int(given["passes"]),
        num_threads=min(4, os.cpu_count() or 1),
    )
    return {"vertices": np.asarray(vertices, float), "cells": np.asarray(cells, np.int64)}


if __name__ == "__main__":
    serve(fill)
