"""Compiles generated C with the compiler of this machine, once, and keeps the result.

The cache lies in `$XDG_CACHE_HOME/formgrad` (or `~/.cache/formgrad`). A library's name is a hash of its source, the
compiler's version, the flags and the processor, and it appears by an atomic rename: processes may start together.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

# Not -ffast-math: linked into a shared library it would switch off denormals for the whole process.
FLAGS = (
    "-O3",
    "-std=gnu11",
    "-fopenmp",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-shared",
    "-fPIC",
)
MACHINE_FLAGS = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
# Enough for threads that finish a kernel together, some ten microseconds.
SPINS = "1000"


class NoCompilerError(RuntimeError):
    """There is no C compiler here, or it cannot compile the kernels."""


@lru_cache
def find_compiler() -> str:
    """Path of the C compiler: `$CC`, then cc, gcc, clang.

    Raises:
        NoCompilerError: none is found.
    """
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise NoCompilerError("no C compiler was found (looked for $CC, cc, gcc and clang)")


def cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "formgrad"


def load_library(source: str) -> ctypes.CDLL:
    """The compiled source, from the cache if it is there. The first compilation takes a few seconds.

    Raises:
        NoCompilerError: no compiler, or it failed; the message carries its last words.
    """
    compiler = find_compiler()
    key = hashlib.sha256("\0".join([source, _version(compiler), *FLAGS, _processor()]).encode()).hexdigest()[:24]
    path = _writable_cache() / f"kernels-{key}.bin"
    if not path.exists():
        _compile(compiler, source, path)
    with _short_waits():
        return ctypes.CDLL(str(path))


@contextmanager
def _short_waits() -> Iterator[None]:
    """Threads of the OpenMP runtime that is loaded inside sleep soon when they wait for each other.

    By default GNU's spin for milliseconds, which on cores that are shared with another job makes a solve ten times
    slower. The runtime reads its environment when it is loaded; what the user has set is respected.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def _compile(compiler: str, source: str, path: Path) -> None:
    complaint = ""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="compile-") as folder:
        code, built = Path(folder) / "kernels.c", Path(folder) / "kernels.bin"
        code.write_text(source)
        for machine in MACHINE_FLAGS:
            command = [compiler, *FLAGS, *machine, str(code), "-o", str(built)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                built.replace(path)
                return
            complaint = complaint or done.stderr.strip()
    raise NoCompilerError(f"{compiler} could not compile the kernels: {complaint[-500:]}")


def _writable_cache() -> Path:
    folder = cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    # A read-only home directory, as on some clusters: compile once per user and boot. Only our own folder is trusted.
    folder = Path(tempfile.gettempdir()) / f"formgrad-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise NoCompilerError(f"{folder} belongs to somebody else; set XDG_CACHE_HOME to a folder of your own")
    return folder


@lru_cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


@lru_cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    wanted = ("flags", "features", "model name", "cpu part")
    return "\n".join(sorted({line for line in lines if line.lower().startswith(wanted)}))
