"""The queue: one SQLite file, `batch.sqlite`, that many may read and one process at a time may write.

    jobs        what is to be done and where it stands; id is the hash of the resolved job (`jobs.batch.identity`)
    attempts    each time a worker tried, and how that ended
    metrics     the last line of progress, and the numbers of the result
    artifacts   files of finished jobs with their checksums
    sweeps      what was asked together; `members` holds which jobs, and with which values
    workers     who worked, and what they hold ready
    events      what happened, in words

States: queued -> leased -> running -> succeeded | failed | cancelled | timed_out | lost; `checkpointed` is a job that
was stopped with its state saved and waits like a queued one.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.errors import JobError, RunFolderError

WAITING = ("queued", "checkpointed")
ACTIVE = ("leased", "running")
FINAL = ("succeeded", "failed", "cancelled", "timed_out", "lost")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, spec_json TEXT NOT NULL, request_json TEXT NOT NULL,
    features_json TEXT NOT NULL DEFAULT '{}', state TEXT NOT NULL, wanted TEXT NOT NULL DEFAULT '',
    priority INTEGER NOT NULL DEFAULT 0, class_key TEXT NOT NULL DEFAULT '', size_pred REAL, size_true REAL,
    released_at REAL NOT NULL, deadline REAL, parent_sweep TEXT, created_by TEXT NOT NULL DEFAULT '',
    folder TEXT NOT NULL, message TEXT NOT NULL DEFAULT '', result_json TEXT, result_sha256 TEXT, ended REAL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, priority, released_at);
CREATE TABLE IF NOT EXISTS attempts (
    job_id TEXT NOT NULL, n INTEGER NOT NULL, worker TEXT NOT NULL, pid INTEGER, lease_until REAL NOT NULL,
    started REAL NOT NULL, ended REAL, exit_code INTEGER, reason TEXT NOT NULL DEFAULT '', traceback_hash TEXT,
    peak_rss REAL, peak_device REAL, checkpoint INTEGER, counts INTEGER NOT NULL DEFAULT 0, settings_json TEXT,
    warm INTEGER, PRIMARY KEY (job_id, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS attempts_open ON attempts (ended) WHERE ended IS NULL;
CREATE TABLE IF NOT EXISTS metrics (
    job_id TEXT NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL, value REAL, PRIMARY KEY (job_id, step, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS artifacts (
    job_id TEXT NOT NULL, path TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY (job_id, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sweeps (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, spec_json TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS members (
    sweep_id TEXT NOT NULL, position INTEGER NOT NULL, job_id TEXT NOT NULL, values_json TEXT NOT NULL,
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS members_by_job ON members (job_id);
CREATE TABLE IF NOT EXISTS workers (
    id TEXT PRIMARY KEY, slots_json TEXT NOT NULL, resident_json TEXT NOT NULL, last_seen REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS events (ts REAL NOT NULL, job_id TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_job ON events (job_id);
"""

Row = dict[str, Any]


class Store:
    """One connection to the queue of a batch folder.

    Args:
        root: the batch folder.
        write: whether this process holds the write lock (`jobs.batch.lock`) and may change it.

    Raises:
        RunFolderError: there is no queue to read, or the file system refuses.
    """

    def __init__(self, root: Path, *, write: bool = False) -> None:
        self.root, self.path, self.write = Path(root), Path(root) / "batch.sqlite", write
        if not write and not self.path.is_file():
            raise RunFolderError(f"{root} holds no batch: submit a job first, or give another --root")
        with readable_database(self.root):
            self.connection = self._connect()

    def _connect(self) -> sqlite3.Connection:
        if self.write:
            connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            # Losing the last moments of the queue costs a repeated look at a run folder, never a result.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
            if "warm" not in {row[1] for row in connection.execute("PRAGMA table_info(attempts)")}:
                connection.execute("ALTER TABLE attempts ADD COLUMN warm INTEGER")  # a queue from before there was one
        else:
            connection = self._reader("mode=ro")
            try:
                connection.execute("SELECT count(*) FROM sweeps").fetchone()
            except sqlite3.OperationalError:
                # On a read-only file system the shared-memory file of WAL cannot be made.
                connection.close()
                connection = self._reader("immutable=1")
                connection.execute("SELECT count(*) FROM sweeps").fetchone()
        connection.row_factory = sqlite3.Row
        return connection

    def _reader(self, how: str) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.resolve().as_uri()}?{how}", uri=True, timeout=30, isolation_level=None)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading ------------------------------------------------------------------------------------------------------

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """A query; -> one dict per row."""
        with readable_database(self.root):
            return [dict(row) for row in self.connection.execute(sql, values)]

    def job(self, id: str) -> Row:
        """One job by its id or the beginning of it.

        Raises:
            JobError: there is none, or more than one.
        """
        found = self.rows("SELECT * FROM jobs WHERE id >= ? AND id < ? LIMIT 2", (id, id + "g")) if id else []
        if not found:
            raise JobError(f"there is no job {id!r} in {self.root}: `formgrad jobs ls` lists them")
        if len(found) > 1:
            raise JobError(f"more than one job begins with {id!r}: give more letters")
        return found[0]

    def sweep(self, word: str) -> Row:
        """One sweep by its name or the beginning of its id; the newest of that name. "last" is the newest of all.

        Raises:
            JobError: there is none.
        """
        found = self.rows(
            "SELECT * FROM sweeps WHERE :word = 'last' OR name = :word OR (id >= :word AND id < :word || 'g') "
            "ORDER BY created DESC, rowid DESC LIMIT 1",
            {"word": word},
        )
        if not found:
            raise JobError(f"there is no sweep {word!r} in {self.root}: `formgrad jobs ls --sweeps` lists them")
        return found[0]

    def list_jobs(self, sweep: str | None = None, states: Sequence[str] = (), limit: int | None = None) -> list[Row]:
        """What `ls` shows, in one query: the newest first, or the members of a sweep in their order."""
        source = "jobs j" if sweep is None else "members m JOIN jobs j ON j.id = m.job_id"
        order = "j.released_at DESC, j.rowid DESC" if sweep is None else "m.position"
        where = ["1"] if sweep is None else ["m.sweep_id = ?"]
        values: list[Any] = [] if sweep is None else [sweep]
        if states:
            where.append(f"j.state IN ({', '.join('?' * len(states))})")
            values += states
        columns = (
            "j.id, j.name, j.kind, j.state, j.wanted, j.priority, j.size_pred, j.size_true, j.released_at, j.ended, "
            "j.message, j.folder, (SELECT count(*) FROM attempts a WHERE a.job_id = j.id) AS attempts, "
            "(SELECT max(a.started) FROM attempts a WHERE a.job_id = j.id) AS started"
        )
        end = "" if limit is None else f" LIMIT {int(limit)}"
        return self.rows(f"SELECT {columns} FROM {source} WHERE {' AND '.join(where)} ORDER BY {order}{end}", values)

    def counts(self, sweep: str | None = None) -> dict[str, int]:
        """How many jobs are in which state."""
        if sweep is None:
            rows = self.rows("SELECT state, count(*) AS n FROM jobs GROUP BY state")
        else:
            rows = self.rows(
                "SELECT state, count(DISTINCT j.id) AS n FROM members m JOIN jobs j ON j.id = m.job_id "
                "WHERE m.sweep_id = ? GROUP BY state",
                (sweep,),
            )
        return {row["state"]: row["n"] for row in rows}

    def attempts(self, id: str) -> list[Row]:
        return self.rows("SELECT * FROM attempts WHERE job_id = ? ORDER BY n", (id,))

    # -- writing ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens, or nothing. One inside another belongs to the outer one."""
        if self.connection.in_transaction:
            yield
            return
        with readable_database(self.root):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def run(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> None:
        with readable_database(self.root):
            self.connection.execute(sql, values)

    def insert(self, table: str, **values: Any) -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.run(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", list(values.values()))

    def set_job(self, id: str, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        self.run(f"UPDATE jobs SET {names} WHERE id = ?", [*values.values(), id])

    def set_attempt(self, id: str, n: int, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        self.run(f"UPDATE attempts SET {names} WHERE job_id = ? AND n = ?", [*values.values(), id, n])

    def event(self, now: float, id: str, kind: str, text: str = "") -> None:
        self.run("INSERT INTO events VALUES (?, ?, ?, ?)", (now, id, kind, text))

    def set_metrics(self, id: str, step: int, values: Iterable[tuple[str, float]]) -> None:
        with readable_database(self.root):
            self.connection.executemany(
                "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?)", [(id, step, name, v) for name, v in values]
            )

    def forget(self, id: str) -> None:
        """Take a job out of every table."""
        with self.transaction():
            for table in ("attempts", "metrics", "artifacts", "members", "events"):
                self.run(f"DELETE FROM {table} WHERE job_id = ?", (id,))
            self.run("DELETE FROM jobs WHERE id = ?", (id,))


def loads(text: str | None) -> dict[str, Any]:
    """A JSON column; {} where it is empty."""
    return json.loads(text) if text else {}


@contextlib.contextmanager
def readable_database(root: Path) -> Iterator[None]:
    """Turn what SQLite says into one sentence with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        if "full" in said or "disk I/O" in said:
            remedy = f"the disk that holds {root} is full or broken: free some space, then `formgrad jobs resume`"
        elif "readonly" in said or "unable to open" in said:
            remedy = f"cannot write to {root}: choose another --root or change its permissions"
        elif "locked" in said:
            remedy = f"the queue in {root} is held by another process: wait for it, or see `formgrad jobs doctor`"
        elif "malformed" in said or "not a database" in said:
            remedy = f"{root / 'batch.sqlite'} is damaged: move it away and submit again; finished runs are found again"
        else:
            raise
        raise RunFolderError(f"{remedy} ({said})") from error
