"""What one job of a batch may take, and how often it may be tried."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from jobs.errors import JobError
from jobs.strict import Strict

_MEMORY = {"": 1.0, "gb": 1.0, "mb": 1e-3, "kb": 1e-6, "tb": 1e3, "gib": 1.073741824, "mib": 1.048576e-3}
_TIME = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _reader(units: dict[str, float], example: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-zA-Z]*)\s*", value)
        unit = found[2].lower() if found else None
        if found is None or unit not in units:
            raise ValueError(f"{value!r} is not a quantity such as {example}")
        try:
            return float(found[1]) * units[unit]
        except ValueError as error:
            raise ValueError(f"{value!r} is not a quantity such as {example}") from error

    return read


_MEMORIES = _reader(_MEMORY, "8GB")
_TIMES = _reader(_TIME, "2h, 30min or 90s")


def read_duration(text: str) -> float:
    """Seconds of "30d", "12h", "90" and the like; zero is allowed.

    Raises:
        JobError: it is none of these.
    """
    try:
        return float(_TIMES(text))
    except ValueError as error:
        raise JobError(f"time: {error}") from error


Memory = Annotated[float, BeforeValidator(_MEMORIES), Field(gt=0, allow_inf_nan=False)]
Duration = Annotated[float, BeforeValidator(_TIMES), Field(gt=0, allow_inf_nan=False)]


class Request(Strict):
    """Resources and rules of one job.

    cpus: cores; the job's thread pools get as many threads. gpus: devices, or a fraction of one. memory: in GB (or
    "8GB"), None for an equal share of the machine. wall: seconds of one attempt (or "2h"); a job that has saved itself
    by then goes on in its next attempt. attempts: how often a job that fails may be tried; workers that are lost do not
    count. priority: higher goes first, whatever the order says. nice: how far the job steps back for others.
    """

    cpus: Annotated[int, Field(ge=1)] = 1
    gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    memory: Memory | None = None
    wall: Duration | None = None
    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    nice: Annotated[int, Field(ge=0, le=19)] = 5
