"""Run folders without a run, and a page on a free port."""

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.spec import dump_job, parse_job
from jobs.store import Run
from tests.ui import fake_worker

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FAKE_WORKER = Path(fake_worker.__file__)
QUIET_CHROMIUM = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def make_run(root: Path, name: str = "beam-20260101-120000", finished: bool = True, **job: Any) -> Run:
    """A run folder as a worker leaves it."""
    run = Run.create(root / name)
    dump_job(parse_job({"name": "beam", "preset": {"name": "cantilever_3d"}, **job}), run.config)
    for iteration in (1, 2, 3):
        row = {"iteration": iteration, "compliance": 10.0 / iteration, "volume": 0.3, "change": 0.1, "grey": 0.2}
        run.append_progress({**row, "seconds": 0.5, "seconds_left": 1.0})
    if finished:
        fake_worker.finish(run)
    return run


@pytest.fixture
def finished(tmp_path: Path) -> Run:
    return make_run(tmp_path)


def serve(root: Path) -> Iterator[str]:
    """The page over `root` in a thread of this process; -> its address."""
    import uvicorn

    from ui.serve import application

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(application(root, port=port), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def spawn_fake(run: Run) -> int:
    """In place of `jobs.launch.spawn`: the worker that only writes."""
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ui.fake_worker", str(run.folder)],
            cwd=FAKE_WORKER.parents[2],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    run.write_text("worker.pid", f"{process.pid}\n")
    return process.pid
