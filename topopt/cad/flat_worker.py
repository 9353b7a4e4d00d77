"""Files of strangers, read in a process of its own: `python -m topopt.cad.flat_worker in.npz out.npz seconds`."""

from pathlib import Path

from pde.child_process import Arrays, serve
from topopt.cad.flat_file import as_arrays, faces_of_file


def read(given: Arrays) -> Arrays:
    """path, units ("" if the file says) -> tables of the faces."""
    return as_arrays(faces_of_file(Path(str(given["path"])), str(given["units"]) or None))


if __name__ == "__main__":
    serve(read)
