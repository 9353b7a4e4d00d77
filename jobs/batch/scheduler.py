"""The scheduler: the one process that writes the queue. It hands jobs to workers and notes what becomes of them.

One turn of its loop: read the inbox; look after what runs (leases, cancellations, time); note what ended; start what
fits. All that a turn changes is written in few transactions; whatever moment it is killed at, the next scheduler finds
in the run folders what the queue does not know yet (`jobs.batch.recovery`).
"""

import contextlib
import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from jobs.batch.assignment import BEAT_EVERY, GRACE, LEASE, Assignment, Contact
from jobs.batch.at_work import AtWork
from jobs.batch.classes import load_costs
from jobs.batch.executor import Ended, Executor
from jobs.batch.history import predictor
from jobs.batch.inbox import read_notes
from jobs.batch.lane import Lane
from jobs.batch.lock import WriteLock
from jobs.batch.order import Order, QueuedJob, RunningJob, fifo, ranked
from jobs.batch.placement import Placement, shares
from jobs.batch.preemption import exchange
from jobs.batch.recovery import recover
from jobs.batch.request import Request
from jobs.batch.settle import settle
from jobs.batch.store import WAITING, Store, loads
from jobs.batch.waiting import Waiting

TURN = 0.2  # seconds between two looks at the inbox
LEARN_EVERY = 30.0  # seconds, and after the first few jobs
PATIENCE = 300.0  # seconds that a job which does not fit lets smaller ones pass
WINDOW = 2000  # waiting jobs that an order looks at, the oldest first
RECONSIDER = 1.0  # seconds between two looks at whether somebody should step back
SWITCH = 1.0  # seconds that saving, stopping and starting again take, before one has been seen

Key = tuple[str, int]


@dataclass
class Scheduler:
    """Works off the queue of one batch folder.

    Args:
        root: the batch folder. executor: who runs the attempts; it is closed at the end. order: `jobs.batch.order`.
        fail_fast: cancel everything that waits as soon as one job has failed.
        serve: wait for more work when there is none.
        fair_share: part of all turns that goes by age alone (`jobs.batch.lane`).
        preempt: let a job step back for a more urgent one, if the order can compare them (`jobs.batch.preemption`).
        on_turn: called after each turn, for a live view.
    """

    root: Path
    executor: Executor
    order: Order = fifo
    fail_fast: bool = False
    serve: bool = False
    fair_share: float = 0.1
    preempt: bool = True
    on_turn: Callable[["Scheduler"], None] | None = None
    at_work: dict[Key, AtWork] = field(default_factory=dict)

    def run(self) -> bool:
        """Until nothing waits and nothing runs, or a stop is asked for. -> True if everything was worked off

        Raises:
            RunFolderError: another scheduler is here, or the folder cannot be written.
        """
        self.lane = Lane(self.fair_share)
        lock = WriteLock(self.root, "scheduler")
        lock.demand()
        self.drain_since: float | None = None
        self.hurry = False
        try:
            with Store(self.root, write=True) as self.store, self._stop_signals():
                self._begin(lock)
                while self._turn():
                    self._look_alive(lock)
                    if self.on_turn:
                        self.on_turn(self)
                self.store.run("PRAGMA wal_checkpoint(TRUNCATE)")
                return not self.hurry and self.drain_since is None
        finally:
            self.executor.close()
            lock.release()

    def stop(self) -> None:
        """Let running jobs save themselves, then leave; they go on with the next scheduler."""
        self.drain_since = self.drain_since or time.monotonic()

    # -- one turn -----------------------------------------------------------------------------------------------------

    def _begin(self, lock: WriteLock) -> None:
        recover(self.store)
        self.waiting = Waiting(self.store, predictor(self.store))
        self.placement = Placement(load_costs(self.store))
        self.switch, self.considered_at = SWITCH, 0.0
        self.served_at: dict[str, float] = {}  # when a job was last served, where it was interrupted
        self.promised: list[str] = []  # jobs for which others stepped back
        self.learned_at, self.new_runs, self.beat_at = time.monotonic(), 0, time.monotonic()
        lock.beat()

    def _turn(self) -> bool:
        """-> whether there is more to do."""
        with self.store.transaction():
            read_notes(self.store)
            self._look_after()
        waiting = 0 if self.drain_since is not None else self._start_what_fits()
        if not self.at_work and (self.drain_since is not None or not (waiting or self.serve)):
            return False
        ended = self.executor.wait(TURN)
        if ended:
            with self.store.transaction():
                for end in ended:
                    self._note_end(end)
        self._learn()
        return True

    def _note_end(self, end: Ended) -> None:
        work = self.at_work.pop((end.id, end.n), None)
        if work is None:
            return
        shutil.rmtree(work.assignment.scratch, ignore_errors=True)
        state, now = settle(self.store, end, work.wanted), time.time()
        self.waiting.forget(end.id)
        if state in WAITING:
            self.served_at[end.id] = now
        if work.wanted == "preempt" and end.outcome and end.outcome.ended == "stopped":
            self.switch = 0.5 * (self.switch + now - work.asked_at)
        self.new_runs += state == "succeeded"
        if self.fail_fast and state in ("failed", "timed_out", "lost"):
            self.store.run(
                "UPDATE jobs SET state = 'cancelled', message = 'another job failed', ended = ? "
                "WHERE state IN ('queued', 'checkpointed')",
                (now,),
            )
            for other in self.at_work.values():
                self._ask_to_end(other, "cancel")

    def _look_after(self) -> None:
        """Leases, wishes and time limits of what runs."""
        now, wished = time.time(), self._wishes()
        for key, work in self.at_work.items():
            contact = work.assignment.contact
            beat = contact.last_beat()
            if beat and beat[1].get("n") == key[1] and beat[0] > work.beat:
                work.beat, work.lease_until = beat[0], max(work.lease_until, beat[0] + LEASE)
                pid, rss = beat[1]["pid"], beat[1]["rss_mb"]
                self.store.set_attempt(*key, lease_until=work.lease_until, pid=pid, peak_rss=rss)
                self.store.run("UPDATE jobs SET state = 'running' WHERE id = ? AND state = 'leased'", (key[0],))
            mild = work.wanted in ("", "preempt")  # a job that steps back may still be asked to hurry
            if mild and key[0] in wished:
                self._ask_to_end(work, "cancel")
            elif mild and work.wall is not None and now - work.began > work.wall:
                self._ask_to_end(work, "wall")
            elif mild and self.drain_since is not None:
                self._ask_to_end(work, "drain")
            dead = now > work.lease_until and not self._still_computes(key, work, now)
            overdue = work.kill_at is not None and (now > work.kill_at or self.hurry)
            if dead or overdue:
                self.executor.kill(key)

    def _wishes(self) -> set[str]:
        if not self.at_work:
            return set()
        return {row["id"] for row in self.store.rows("SELECT id FROM jobs WHERE wanted = 'cancel'")}

    def _ask_to_end(self, work: AtWork, why: str) -> None:
        if work.wanted in ("", "preempt"):
            work.wanted, work.asked_at = why, time.time()
        if why != "preempt":  # that has time until the end of its step
            work.kill_at = work.kill_at or time.time() + GRACE
        with contextlib.suppress(OSError):
            work.assignment.contact.ask_to_end()

    def _still_computes(self, key: Key, work: AtWork, now: float) -> bool:
        """A library that holds the interpreter for minutes keeps the worker from giving signs of life."""
        cpu = self.executor.cpu_seconds(key)
        if cpu is None or cpu <= work.cpu + 0.05 * LEASE:
            return False
        work.cpu, work.lease_until = cpu, now + LEASE
        return True

    # -- starting -----------------------------------------------------------------------------------------------------

    def _start_what_fits(self) -> int:
        """-> how many jobs wait, among those that were looked at."""
        free, now = self.executor.free(), time.time()
        look = bool(free) or self._may_reconsider(now)
        queued = self.waiting.oldest(WINDOW if look else 1)
        if not look or not queued:
            return len(queued)
        if not free:
            self._make_room(queued, now)
            return len(queued)
        self.placement.plan(queued, self.executor.places(), free[0].slots, now)
        line = ranked(self.order, queued, self._running(now), free, now)
        line.sort(key=lambda job: job.id not in self.promised)  # stable
        backlog: dict[str, float] = {}
        for job, by_age in self.lane.in_turn(line, self.served_at):
            if not free:
                break
            request = self.waiting.request(job.id)
            if lacking := self.executor.capacity.lacks(request):
                self._refuse(job.id, lacking)
                continue
            if not self.executor.capacity.has_room(request, (work.assignment for work in self.at_work.values())):
                if now - job.released_at > PATIENCE:
                    break  # room is kept for it, or smaller ones would pass it for ever
                continue
            left = {work.worker: work.seen(now).left(now) for work in self.at_work.values()}
            if worker := self.placement.find(job, free, self.executor.staying, left, backlog, now):
                free.remove(worker)
                self._start(request, job, worker.id, by_age)
        return len(queued) if self.at_work else self.waiting.count()

    # -- stepping back ------------------------------------------------------------------------------------------------

    def _may_reconsider(self, now: float) -> bool:
        if not self.preempt or not hasattr(self.order, "urgency") or now - self.considered_at < RECONSIDER:
            return False
        return all(work.wanted == "" for work in self.at_work.values())

    def _make_room(self, queued: list[QueuedJob], now: float) -> None:
        """Ask one job at work to save itself for one that waits, where that is worth it."""
        self.considered_at = now
        running = {id: work.seen(now) for (id, _), work in self.at_work.items()}
        may_stop = [running[id] for (id, n), work in self.at_work.items() if work.beat and not work.by_age]

        def fits(job: QueuedJob, victim: RunningJob) -> bool:
            others = (work.assignment for (id, _), work in self.at_work.items() if id != victim.id)
            return self.executor.capacity.has_room(self.waiting.request(job.id), others)

        found = exchange(
            self.order,  # type: ignore[arg-type]  # it has an urgency: _may_reconsider has looked
            queued,
            list(running.values()),
            may_stop,
            lambda job: self.switch + self.placement.load_costs(job.class_key),
            fits,
            now,
        )
        if found is None:
            return
        (work,) = (work for (id, _), work in self.at_work.items() if id == found.victim.id)
        self._ask_to_end(work, "preempt")
        self.promised.append(found.challenger)
        self.store.event(now, found.victim.id, "preempted", f"steps back for {found.challenger[:12]}")

    def _refuse(self, id: str, why: str) -> None:
        """A job that asks for more than there is would wait for ever."""
        self.store.set_job(id, state="failed", message=why, ended=time.time())
        self.store.event(time.time(), id, "failed", why)

    def _start(self, request: Request, job: QueuedJob, worker: str, by_age: bool) -> None:
        now = time.time()
        wanted = "SELECT id, folder, spec_json, class_key, released_at FROM jobs WHERE id = ?"
        (row,) = self.store.rows(wanted, (job.id,))
        previous = self.store.rows(
            "SELECT max(n) AS n, (SELECT settings_json FROM attempts WHERE job_id = :id ORDER BY n DESC LIMIT 1) AS s "
            "FROM attempts WHERE job_id = :id",
            {"id": row["id"]},
        )[0]
        settings = loads(previous["s"])
        assignment = Assignment(
            id=row["id"],
            n=(previous["n"] or 0) + 1,
            root=str(self.root.resolve()),
            folder=row["folder"],
            spec=loads(row["spec_json"]),
            cpus=request.cpus,
            gpus=request.gpus,
            nice=request.nice,
            memory_mb=self.executor.capacity.granted_mb(request) * settings.get("memory_factor", 1.0),
            settings=settings,
            class_key=row["class_key"],
        )
        self._clear(assignment.contact)
        with self.store.transaction():  # known before it begins: a lease without a worker is found and given back
            lease = {"worker": self.executor.mark, "lease_until": now + LEASE, "started": now}
            known = {"job_id": row["id"], "n": assignment.n, "settings_json": json.dumps(settings)}
            self.store.insert("attempts", **known, **lease)
            self.store.set_job(row["id"], state="leased", wanted="", size_pred=job.predicted, message="")
        self.executor.start(assignment, worker, tiny=shares(job))
        self.at_work[assignment.key] = AtWork(
            assignment, worker, now, now + 2 * LEASE, request.wall, row["released_at"], job.predicted,
            priority=job.priority, served=job.served, by_age=by_age,
        )  # fmt: skip
        self.lane.count(by_age)
        self.served_at.pop(job.id, None)
        self.promised = [id for id in self.promised if id != job.id]

    def _clear(self, contact: Contact) -> None:
        with contextlib.suppress(OSError):
            contact.begin()

    def _running(self, now: float) -> list[RunningJob]:
        return [work.seen(now) for work in self.at_work.values()]

    # -- signs of life ------------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        few = len(self.waiting.predictor.laws) == 0 and self.new_runs > 0
        if few or (self.new_runs and time.monotonic() - self.learned_at > LEARN_EVERY):
            self.waiting.predictor, self.placement.load_costs = predictor(self.store), load_costs(self.store)
            self.learned_at, self.new_runs = time.monotonic(), 0

    def _look_alive(self, lock: WriteLock) -> None:
        if time.monotonic() - self.beat_at < BEAT_EVERY:
            return
        self.beat_at, now = time.monotonic(), time.time()
        lock.beat()
        with self.store.transaction():
            self.store.run("DELETE FROM workers WHERE last_seen < ?", (now - 3600,))
            for view in self.executor.free():
                self._see(view.id, "", list(view.resident), now)
            staying = {view.id: list(view.resident) for view in self.executor.staying()}
            for work in self.at_work.values():
                self._see(work.worker, work.assignment.id, staying.get(work.worker, [work.assignment.class_key]), now)

    def _see(self, worker: str, job: str, resident: list[str], now: float) -> None:
        resident = [key for key in resident if key]
        self.store.insert(
            "workers", id=worker, slots_json=json.dumps([job] if job else []), resident_json=json.dumps(resident),
            last_seen=now,
        )  # fmt: skip

    @contextlib.contextmanager
    def _stop_signals(self) -> Iterator[None]:
        """A first Ctrl-C lets jobs save themselves, a second one ends them."""

        def note(number: int, frame: FrameType | None) -> None:
            self.hurry = self.drain_since is not None
            self.stop()

        try:
            before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: whoever started it calls stop()
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
