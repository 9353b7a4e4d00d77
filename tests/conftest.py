"""One BLAS thread per test process: the solver brings its own threads, and pytest-xdist its own processes."""

import contextlib
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")

# Triton, which torch's optimizers load, and the software renderer each bring an LLVM; loaded second, Triton's crashes.
with contextlib.suppress(ImportError):
    import triton  # noqa: F401

from hypothesis import HealthCheck, settings  # noqa: E402

# The machine may be busy: how long an example takes says nothing. The same examples every time.
settings.register_profile("formgrad", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("formgrad")
