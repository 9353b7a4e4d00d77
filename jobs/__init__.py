"""Jobs: what was asked (`spec`), where it lives (`store`), how it runs (`templates`, `worker`), and `formgrad`.

Many of them: `jobs.submit`, `jobs.sweep` and `jobs.results` (see `jobs.batch`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.batch.python import Runner, results, submit, sweep

__all__ = ["Runner", "results", "submit", "sweep"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("jobs.batch.python"), name)
    raise AttributeError(f"module 'jobs' has no attribute {name!r}")
