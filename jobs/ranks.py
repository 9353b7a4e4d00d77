"""A command under `mpirun -n k`: process 0 leads, keeps the one run folder and speaks; the others do what it does.

What is solved on a mesh that is spread over processes is asked for by all of them together. So the leader names each
part of its work to the others before it begins with it, and they do the same part with a job of their own, silently. An
error of the user's arises on all processes alike; any other ends all of them, since the others would wait for ever.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

END = "end"


def ranks() -> int:
    """How many processes `mpirun` started together with this one; 1 without it."""
    return int(os.environ.get("PMI_SIZE") or os.environ.get("OMPI_COMM_WORLD_SIZE") or 1)


class Leader:
    """On process 0, what the others wait for."""

    def __init__(self, comm: Any) -> None:
        self._comm, self._busy = comm, False

    def together[T](self, order: str, what: Any, work: Callable[[], T]) -> T:
        """Do work, and let the others do their part of it."""
        self._comm.bcast((order, what))
        self._busy = True
        try:
            done = work()
        except BaseException as error:
            self._busy = not _of_all(error)
            raise
        self._busy = False
        return done

    def end(self) -> None:
        """Let the others go; where they may be inside a part of the work that broke off here, end them."""
        if self._busy:
            _abort(self._comm)
        self._comm.bcast((END, None))


_leader: Leader | None = None


def leader() -> Leader | None:
    """Of the command that is being worked on; None where there is one process."""
    return _leader


def on_all(work: Callable[[], int]) -> int:
    """Work on process 0, as a leader where there are others; -> exit code. Only jobs of the kind `pde` give orders."""
    global _leader
    if ranks() == 1:
        return work()
    from pde.fem.dolfinx_import import load

    comm = load().MPI.COMM_WORLD
    if comm.rank:
        return _follow(comm)
    _leader = Leader(comm)
    try:
        return work()
    finally:
        _leader.end()
        _leader = None


def _follow(comm: Any) -> int:
    from jobs.templates.pde_ranks import PdeFollower

    follower = PdeFollower()
    for number in (signal.SIGINT, signal.SIGTERM):  # mpirun tells all; the leader decides
        signal.signal(number, signal.SIG_IGN)
    while True:
        order, what = comm.bcast(None)
        if order == END:
            follower.end()
            return 0
        try:
            follower.obey(order, what)
        except BaseException as error:
            if not _of_all(error):
                _abort(comm)  # where it is of all, the leader has the same to say


def _of_all(error: BaseException) -> bool:
    """It arises on all processes alike. What a file system says does not."""
    from jobs.errors import RunFolderError
    from jobs.user_errors import user_errors

    return isinstance(error, user_errors()) and not isinstance(error, RunFolderError)


def _abort(comm: Any) -> NoReturn:
    """End all processes, with the error that is on its way."""
    from jobs.user_errors import user_errors

    error = sys.exception()
    if isinstance(error, user_errors()):
        print(f"formgrad: {error}", file=sys.stderr)
    else:
        traceback.print_exc()
    sys.stderr.flush()
    comm.Abort(1)
    raise SystemExit(1)
