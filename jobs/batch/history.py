"""The store's own history: for predictions of run times, and as a trace that scheduling rules can be tried on."""

from dataclasses import dataclass

from jobs.batch.prediction import RECENT, Predictor
from jobs.batch.store import Store, loads


@dataclass(frozen=True)
class Traced:
    """A finished job. Times in seconds: released since the first one, size as it was, predicted as it was believed."""

    id: str
    kind: str
    released_at: float
    size: float
    predicted: float | None
    class_key: str
    cpus: int
    ended: float


def trace(store: Store, sweep: str | None = None) -> list[Traced]:
    """Finished jobs in the order of their release, of one sweep or of all."""
    rows = store.rows(
        "SELECT id, kind, released_at, size_true, size_pred, class_key, request_json, ended FROM jobs "
        "WHERE state = 'succeeded' AND size_true IS NOT NULL AND (:sweep IS NULL OR id IN "
        "(SELECT job_id FROM members WHERE sweep_id = :sweep)) ORDER BY released_at, id",
        {"sweep": sweep},
    )
    start = rows[0]["released_at"] if rows else 0.0
    return [
        Traced(
            row["id"],
            row["kind"],
            row["released_at"] - start,
            row["size_true"],
            row["size_pred"],
            row["class_key"],
            loads(row["request_json"]).get("cpus", 1),
            row["ended"] - start,
        )
        for row in rows
    ]


def predictor(store: Store) -> Predictor:
    """Learned from the newest finished jobs, the oldest of them first."""
    rows = store.rows(
        "SELECT kind, features_json, size_true FROM jobs WHERE state = 'succeeded' AND size_true IS NOT NULL "
        "ORDER BY ended DESC LIMIT ?",
        (4 * RECENT,),
    )
    return Predictor([(row["kind"], loads(row["features_json"]), row["size_true"]) for row in reversed(rows)])
