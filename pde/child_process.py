"""Work that may crash, hang or eat the memory, done in a process of its own: arrays in, arrays out.

`call("package.module", arrays)` runs `python -m package.module in.npz out.npz`; that module ends with
`serve(function)`, where `function` takes and returns a dict of arrays. Nothing but arrays crosses (no pickle). Time is
counted in CPU seconds, so that a busy machine does not decide whether a mesh can be made; a limit on the clock stands
behind.
"""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import ArrayLike, NDArray

Arrays = dict[str, NDArray]

_WALL_PER_CPU = 6.0
_POLL = 0.05
_LAST_WORDS = 400


class ChildError(RuntimeError):
    """The child raised, crashed or outgrew its memory. The message holds its own last words.

    Attributes:
        kind: class name of the exception that the child raised; empty if it ended without a word.
    """

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class ChildTimeout(ChildError):
    """The child used up its time and was ended."""


def call(
    module: str, arrays: Mapping[str, ArrayLike], seconds: float, gigabytes: float = 12.0, threads: int = 1
) -> Arrays:
    """Run a module's `serve` function in a new process and wait for its answer.

    Args:
        module: dotted name; code of this package, never a user's word.
        arrays: what it gets.
        seconds: CPU time it may use, over all its threads; six times as much on the clock.
        gigabytes: memory that it may hold.
        threads: for BLAS and OpenMP in the child.

    Raises:
        ChildTimeout: out of time.
        ChildError: everything else that keeps it from answering.
    """
    with tempfile.TemporaryDirectory(prefix="formgrad-") as folder:
        asked, answered, words = (Path(folder) / name for name in ("in.npz", "out.npz", "words.txt"))
        _save(asked, arrays)
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        # The child finds the packages where this process found them, installed or not.
        path = os.pathsep.join(dict.fromkeys(p or str(Path.cwd()) for p in sys.path))
        command = [sys.executable, "-m", module, str(asked), str(answered), str(int(np.ceil(seconds)) + 5)]
        with words.open("wb") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=os.environ | counts | {"PYTHONPATH": path},
                start_new_session=True,
            )
            try:
                _wait(child, module, seconds, gigabytes)
            finally:
                _end(child)
        if not answered.exists():
            tail = words.read_text(errors="replace").strip()[-_LAST_WORDS:] or "nothing"
            raise ChildError(f"{module} ended with exit code {child.returncode} and no answer; its last words: {tail}")
        with np.load(answered, allow_pickle=False) as answer:
            result = dict(answer)
    if "error" in result:
        raise ChildError(str(result["error"]), str(result["kind"]))
    return result


def serve(function: Callable[[Arrays], Mapping[str, ArrayLike]]) -> None:
    """The child's side: read the arrays named on the command line, answer, or say in one sentence why not."""
    asked, answered, seconds = sys.argv[1:4]
    _die_with_parent(int(seconds))
    with np.load(asked, allow_pickle=False) as arrays:
        given = dict(arrays)
    try:
        answer = dict(function(given))
    except Exception as reason:
        answer = {"error": np.asarray(str(reason)), "kind": np.asarray(type(reason).__name__)}
    unfinished = Path(answered + ".part.npz")
    _save(unfinished, answer)
    unfinished.replace(answered)


def _save(path: Path, arrays: Mapping[str, ArrayLike]) -> None:
    checked = {name: np.asarray(array) for name, array in arrays.items()}
    if any(array.dtype.hasobject for array in checked.values()):
        raise TypeError("only plain arrays cross between processes")
    np.savez(path, allow_pickle=False, **checked)


def _wait(child: subprocess.Popen, module: str, seconds: float, gigabytes: float) -> None:
    started, watched = time.monotonic(), psutil.Process(child.pid)
    while child.poll() is None:
        with suppress(psutil.Error):
            times = watched.cpu_times()
            spent, wall = times.user + times.system, time.monotonic() - started
            if spent > seconds or wall > _WALL_PER_CPU * seconds + 5:
                raise ChildTimeout(f"{module} was ended after {spent:.0f} s of CPU time ({wall:.0f} s on the clock)")
            if watched.memory_info().rss > gigabytes * 1e9:
                raise ChildError(f"{module} was ended: it needed more than {gigabytes:g} GB of memory")
        with suppress(subprocess.TimeoutExpired):
            child.wait(_POLL)


def _end(child: subprocess.Popen) -> None:
    """End the child, if it still runs, and whatever it started."""
    if child.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def _die_with_parent(seconds: int) -> None:
    """No orphan runs on: it ends with its parent (Linux), and at the latest when its CPU time is used up (Unix)."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
