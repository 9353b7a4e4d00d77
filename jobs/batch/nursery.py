"""Fresh processes in milliseconds: a process that has imported what every job needs, and forks when it is asked to.

Python and the imports of a job take seconds, a fork takes a hundredth of one. The nursery has one thread, runs no job,
loads no GPU library and never changes, so each of its children is as fresh as a new process. A job that asks for a GPU
gets a new interpreter nevertheless; so does every job if, against expectation, the imports have started threads.

    asked     {"mark", "env", "exec"} and three files: input, answers, errors
    answers   {"pid", "mark"} when a child has begun,  {"pid", "code"} when it has ended

When the scheduler goes, the nursery goes with it; its children notice (`jobs.batch.vigil`), save and stop.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.batch.assignment import BATCH, MARK
from jobs.store import readable_errors

MESSAGE = 262_144  # bytes; an environment fits


class Nursery:
    """The scheduler's side.

    Args:
        root: the batch folder; what is said outside of jobs goes to its batch.log.

    Attributes:
        mark: carried by the nursery and by everything that comes from it (`jobs.batch.marked`).
    """

    def __init__(self, root: Path) -> None:
        self.root, self.mark = root, uuid.uuid4().hex
        self.open()

    def open(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        path = os.pathsep.join(dict.fromkeys(p or str(Path.cwd()) for p in sys.path))
        own = {BATCH: self.mark, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **dict.fromkeys(pools, "1")}
        with readable_errors(self.root):
            log = (self.root / "batch.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jobs.batch.nursery", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, **own},
            )
        theirs.close()
        self.socket.setblocking(False)

    def ask(self, mark: str, env: Mapping[str, str], files: tuple[int, int, int], new_interpreter: bool) -> None:
        """Ask for a worker whose input, answers and errors are these files."""
        message = json.dumps({"mark": mark, "env": dict(env), "exec": new_interpreter}).encode()
        self.socket.setblocking(True)
        try:
            socket.send_fds(self.socket, [message], list(files))
        finally:
            self.socket.setblocking(False)

    def news(self) -> list[dict[str, Any]] | None:
        """What it has said since; None if it is gone."""
        said = []
        while True:
            try:
                message = self.socket.recv(MESSAGE)
            except BlockingIOError:
                return said
            except OSError:
                return None
            if not message:
                return said or None
            said.append(json.loads(message))

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main(number: str) -> int:
    """Fork on demand until the scheduler is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the scheduler's
    scheduler = socket.socket(fileno=int(number))
    _load()
    clean = _threads() == 1
    children: set[int] = set()
    while True:
        with contextlib.suppress(ChildProcessError):
            while children and (ended := os.waitpid(-1, os.WNOHANG))[0]:
                children.discard(ended[0])
                _tell(scheduler, {"pid": ended[0], "code": os.waitstatus_to_exitcode(ended[1])})
        if not select.select([scheduler], [], [], 0.01 if children else 5.0)[0]:
            continue
        message, files, _, _ = socket.recv_fds(scheduler, MESSAGE, 3)
        if not message:
            return 0
        asked = json.loads(message)
        pid = os.fork()
        if pid == 0:
            scheduler.close()
            _become_worker(asked, files, clean)
        children.add(pid)
        for file in files:
            os.close(file)
        _tell(scheduler, {"pid": pid, "mark": asked["mark"]})


def _load() -> None:
    """What every job needs, and nothing that only some need."""
    import gc

    import jobs.batch.attempt
    import jobs.batch.probe
    import jobs.batch.worker  # noqa: F401
    from jobs.spec import read_yaml

    with contextlib.suppress(Exception):
        read_yaml(Path(__file__))  # loads the YAML reader
    gc.freeze()


def _become_worker(asked: Mapping[str, Any], files: list[int], clean: bool) -> None:
    """In the child; does not return."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for target, file in enumerate(files):
            os.dup2(file, target)
            if file > 2:
                os.close(file)
        os.environ.update(asked["env"])
        os.environ[MARK] = asked["mark"]
        if asked["exec"] or not clean:
            os.execv(sys.executable, [sys.executable, "-m", "jobs.batch.worker"])
        from jobs.batch.worker import main as work

        code = work()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _tell(scheduler: socket.socket, news: Mapping[str, Any]) -> None:
    try:
        scheduler.send(json.dumps(dict(news)).encode())
    except OSError:  # the scheduler is gone
        sys.exit(0)


def _threads() -> int:
    place = Path("/proc/self/task")
    return len(list(place.iterdir())) if place.exists() else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
