"""What the scheduler knows of the jobs that wait: each is worked out once per predictor and release."""

from dataclasses import dataclass, field

from jobs.batch.order import QueuedJob
from jobs.batch.prediction import Predictor
from jobs.batch.request import Request
from jobs.batch.store import Row, Store, loads


@dataclass
class Waiting:
    """Jobs by id, with what they asked for."""

    store: Store
    predictor: Predictor
    known: dict[str, tuple[Predictor, QueuedJob, Request]] = field(default_factory=dict)

    def oldest(self, most: int) -> list[QueuedJob]:
        """Of the highest priority first."""
        rows = self.store.rows(
            "SELECT id, kind, state, released_at, priority, class_key, features_json, request_json FROM jobs "
            "WHERE state IN ('queued', 'checkpointed') ORDER BY priority DESC, released_at LIMIT ?",
            (most,),
        )
        return [self._job(row) for row in rows]

    def count(self) -> int:
        return sum(self.store.counts().get(state, 0) for state in ("queued", "checkpointed"))

    def request(self, id: str) -> Request:
        return self.known[id][2]

    def forget(self, id: str) -> None:
        self.known.pop(id, None)

    def _job(self, row: Row) -> QueuedJob:
        at, known = row["released_at"], self.known.get(row["id"])
        if known is None or known[0] is not self.predictor or known[1].released_at != at:
            request = Request(**loads(row["request_json"]))
            guess = self.predictor(row["kind"], loads(row["features_json"]))
            served = self._served(row["id"]) if row["state"] == "checkpointed" else 0.0
            predicted = guess.after(served) if served else guess.median
            times = {"predicted": predicted, "high": guess.high, "known": guess.known, "served": served}
            needs = {"cpus": request.cpus, "gpus": request.gpus, "priority": row["priority"]}
            job = QueuedJob(row["id"], at, **times, class_key=row["class_key"], **needs)
            known = self.known[row["id"]] = (self.predictor, job, request)
        return known[1]

    def _served(self, id: str) -> float:
        """Seconds of the attempts after which it saved itself."""
        found = self.store.rows(
            "SELECT sum(ended - started) AS seconds FROM attempts WHERE job_id = ? AND reason = 'stopped'", (id,)
        )
        return found[0]["seconds"] or 0.0
