"""Classes of jobs: what those of one class share in a warm process, and what it costs to load that.

A warm process has imported the libraries of its class and compiled its forms and kernels for elements of that sort.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from jobs.batch.store import Store

UNKNOWN_LOAD = 1.0  # seconds, before anything has been measured: about what the imports of a job take
LOOK_BACK = 1600  # attempts

_DEPENDS = {
    "structure": ("preset.name", "body.file"),
    "pde": ("problem",),
    "barycenter": ("method", "device"),
    "hybrid": ("problem",),
    "operator_data": ("problem",),
    "operator_train": ("problem", "network"),
    "features": ("task", "backend", "feature"),
    "probe": ("warm",),
}
"""Entries of a resolved job that its warm state depends on. Files stand there by the hash of what they hold."""


def default_class(spec: Mapping[str, Any]) -> str:
    """The class of a job whose sweep does not state one: its kind and the entries that matter; "" for none."""
    kind = str(spec.get("job", "structure"))
    found = [(name, value) for name in _DEPENDS.get(kind, ()) if (value := entry(spec, name)) not in (None, "")]
    if not found:
        return "" if kind == "probe" else kind
    return " ".join([kind, *(f"{name}={value}" for name, value in found)])


def entry(data: Mapping[str, Any], name: str) -> Any:
    """A dotted entry; None where there is none."""
    place: Any = data
    for part in name.split("."):
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


@dataclass(frozen=True)
class LoadCosts:
    """Seconds that a job takes longer where its class is cold. typical: where a class was not seen both ways."""

    known: Mapping[str, float] = field(default_factory=dict)
    typical: float = UNKNOWN_LOAD

    def __call__(self, name: str) -> float:
        return self.known.get(name, self.typical)


def load_costs(store: Store) -> LoadCosts:
    """From the store's history: the median of the jobs that found their class cold, less that of those that did not."""
    rows = store.rows(
        "SELECT j.class_key, a.warm, j.size_true FROM jobs j JOIN attempts a ON a.job_id = j.id "
        "WHERE j.state = 'succeeded' AND j.size_true IS NOT NULL AND j.class_key != '' "
        "AND a.reason = 'succeeded' AND a.warm IS NOT NULL ORDER BY j.ended DESC LIMIT ?",
        (LOOK_BACK,),
    )
    times: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        times.setdefault(row["class_key"], ([], []))[row["warm"]].append(row["size_true"])
    known = {name: max(0.0, median(cold) - median(warm)) for name, (cold, warm) in times.items() if cold and warm}
    return LoadCosts(known, median(known.values()) if known else UNKNOWN_LOAD)
