"""A body from a file: STEP through OpenCASCADE, STL, OBJ and PLY through trimesh. Checked, in mm, with its faces."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from topopt.cad.body import Body
from topopt.errors import BodyError

UNITS = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "in": 25.4}
EXACT = (".step", ".stp")
MESHES = (".stl", ".obj", ".ply")
SMALLEST, LARGEST = 1.0, 10_000.0  # mm; outside of it the unit of the file is probably another one


def read_body(path: Path, units: str | None = None) -> Body:
    """The one body of a file.

    Args:
        path: .step, .stp, .stl, .obj or .ply.
        units: unit of the numbers in the file: mm, cm, m or in. Left away, a STEP file says its own and everything
            else is taken as mm.

    Returns:
        The body in mm: closed, oriented outward, finite.

    Raises:
        BodyError: the file is missing, empty, of another kind, damaged; it has no body or several; the surface is
            open, inconsistent or without volume; or its size is so odd that `units` must be given.
    """
    bodies = read_bodies(path, units)
    if len(bodies) > 1:
        names = ", ".join(bodies)
        raise BodyError(f"{Path(path).name} holds {len(bodies)} bodies ({names}): export the one to design on its own")
    return next(iter(bodies.values()))


def read_bodies(path: Path, units: str | None = None) -> dict[str, Body]:
    """All bodies of a file by name. Arguments and errors as for `read_body`."""
    path = Path(path)
    suffix = path.suffix.lower()
    if units is not None and units not in UNITS:
        raise BodyError(f"unknown units {units!r}: choose one of {', '.join(UNITS)}")
    if not path.is_file():
        raise BodyError(f"there is no file {path}: check the path")
    if suffix not in EXACT + MESHES:
        raise BodyError(f"{path.name} is of no known kind: use one of {', '.join(EXACT + MESHES)}")
    if path.stat().st_size == 0:
        raise BodyError(f"{path.name} is empty: copy or export it again")
    if suffix in EXACT:
        from topopt.cad.read_step import read_step

        bodies = read_step(path, UNITS[units] if units else None)
    else:
        from topopt.cad.read_mesh import read_mesh

        bodies = read_mesh(path, UNITS[units or "mm"])
    if units is None:
        _check_size(path, bodies)
    return bodies


def _check_size(path: Path, bodies: dict[str, Body]) -> None:
    bounds = np.array([body.surface.bounds for body in bodies.values()])
    extent = float((bounds[:, 1].max(axis=0) - bounds[:, 0].min(axis=0)).max())
    if not SMALLEST <= extent <= LARGEST:
        raise BodyError(
            f"{path.name} measures {extent:.4g} mm if its unit is the millimetre: give `units` "
            f"({', '.join(UNITS)}) to say what its numbers mean"
        )


def read_body_safely(path: Path, units: str | None = None, seconds: float = 60, memory_gb: float = 4) -> Body:
    """`read_body` in a process of its own with limits, for files that strangers upload.

    Args:
        path, units: as for `read_body`.
        seconds: wall time after which the process is ended.
        memory_gb: address space it may use, GiB (where the system can limit it).

    Returns:
        The body; `solid` is read back from the child's exact geometry where there is one.

    Raises:
        BodyError: as for `read_body`, or the file took too long, too much memory, or brought its reader down.
    """
    from topopt.cad.handover import load_body

    name = Path(path).name
    with tempfile.TemporaryDirectory(prefix="formgrad-read-") as folder:
        request = {"path": str(Path(path).resolve()), "units": units, "memory_gb": memory_gb, "seconds": seconds}
        (Path(folder) / "request.json").write_text(json.dumps(request))
        try:
            child = subprocess.run(
                [sys.executable, "-m", "topopt.cad.read_worker", folder],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BodyError(
                f"reading {name} took longer than {seconds:g} s: simplify the body or export it coarser"
            ) from None
        answer = Path(folder) / "answer.json"
        if not answer.exists():
            raise BodyError(
                f"reading {name} ended the reader (exit code {child.returncode}): the file is damaged, or needs more "
                f"than {memory_gb:g} GiB; export it again"
            )
        told = json.loads(answer.read_text())
        if "error" in told:
            raise BodyError(told["error"])
        return load_body(Path(folder))
