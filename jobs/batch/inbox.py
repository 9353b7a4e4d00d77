"""How other processes change the queue: they write it themselves when nobody else does, or leave a note in `inbox/`.

A note is a JSON file that appears whole. Whoever gets the right to write next, the running scheduler within a moment,
carries the notes out in the order of their names and removes each one after its transaction. Every change can be
carried out twice with the same effect, so a note that survives a crash does no harm.
"""

import json
import time
import uuid
from pathlib import Path

from jobs.batch.changes import Change, apply
from jobs.batch.lock import WriteLock, taken
from jobs.batch.store import Store
from jobs.errors import RunFolderError
from jobs.store import readable_errors

PATIENCE = 30.0  # seconds that a note may wait for a scheduler that lives


def change(root: Path, asked: Change) -> None:
    """Change the queue, or let its scheduler do it; returns when it has been done.

    Raises:
        RunFolderError: the folder cannot be written, or whoever writes it does not read its notes.
    """
    lock, note, until = WriteLock(root, "command"), None, time.monotonic() + PATIENCE
    while True:
        if lock.acquire():
            try:
                with Store(root, write=True) as store:
                    read_notes(store)
                    if note is None:
                        apply(store, asked)
                return
            finally:
                lock.release()
        if note is None:
            note = _leave(root, asked)
        if not note.exists():
            return
        if time.monotonic() > until:
            note.unlink(missing_ok=True)
            raise RunFolderError(taken(root))
        time.sleep(0.02)


def read_notes(store: Store) -> int:
    """Carry out what is in the inbox; -> how many notes there were. Only for the holder of the write lock."""
    notes = sorted((store.root / "inbox").glob("*.json"))
    for note in notes:
        with readable_errors(store.root):
            apply(store, json.loads(note.read_text(encoding="utf-8")))
            note.unlink()
    return len(notes)


def _leave(root: Path, asked: Change) -> Path:
    note = root / "inbox" / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
    with readable_errors(root):
        note.parent.mkdir(exist_ok=True)
        half = note.with_suffix(".part")
        half.write_text(json.dumps(dict(asked)), encoding="utf-8")
        half.replace(note)
    return note
