"""Places where snapshots are kept: as they are, in the memory of the processor, or in files.

Files are written and read by one thread beside the computation, in the order in which they were asked for: a read never
overtakes the write of the same state. At most one write and one read are under way, so no more than two states are in
memory on their account.
"""

import errno
import shutil
import tempfile
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from optim.arrays import Array, namespace
from pde.tape.errors import TapeError
from pde.tape.schedule import Place


class Snapshots(Protocol):
    """States by slot."""

    def put(self, slot: int, state: Array) -> None: ...

    def get(self, slot: int) -> Array: ...

    def expect(self, slot: int) -> None:
        """This slot is asked for next."""
        ...

    def drop(self, slot: int) -> None: ...

    def close(self) -> None: ...


class InMemory:
    """States as they are, not copied."""

    def __init__(self) -> None:
        self._states: dict[int, Array] = {}

    def put(self, slot: int, state: Array) -> None:
        self._states[slot] = state

    def get(self, slot: int) -> Array:
        return self._states[slot]

    def expect(self, slot: int) -> None:
        pass

    def drop(self, slot: int) -> None:
        self._states.pop(slot, None)

    def close(self) -> None:
        self._states.clear()


class OnHost:
    """States of a torch or JAX device as arrays of the processor, pinned where the device is a GPU under torch."""

    def __init__(self) -> None:
        self._states: dict[int, tuple[Any, _Origin]] = {}

    def put(self, slot: int, state: Array) -> None:
        if isinstance(state, np.ndarray):
            raise TapeError("the states are NumPy arrays and on the host already: keep them in 'memory' or on 'disk'")
        self._states[slot] = (_to_host(state), _origin(state))

    def get(self, slot: int) -> Array:
        return _from_host(*self._states[slot])

    def expect(self, slot: int) -> None:
        pass

    def drop(self, slot: int) -> None:
        self._states.pop(slot, None)

    def close(self) -> None:
        self._states.clear()


class OnDisk:
    """States as files of a temporary folder, which goes when the tape is closed, dropped, or fails.

    Args:
        folder: where the temporary folder is made; None: where the system makes them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="formgrad-tape-", dir=folder, ignore_cleanup_errors=True)
        except OSError as reason:
            raise TapeError(
                f"no temporary folder can be made for snapshots ({reason}): name another folder"
            ) from reason
        self._thread = ThreadPoolExecutor(1)
        self._finally = weakref.finalize(self, _clean, self._thread, self._folder)
        self._origins: dict[int, _Origin] = {}
        self._writing: Future[None] | None = None
        self._reading: tuple[int, Future[NDArray[Any]]] | None = None

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)

    def put(self, slot: int, state: Array) -> None:
        self._written()
        self._reading = None
        self._origins[slot] = _origin(state)
        self._writing = self._thread.submit(_write, self._file(slot), _to_host(state))

    def get(self, slot: int) -> Array:
        self._written()
        self.expect(slot)
        assert self._reading is not None
        try:
            values = self._reading[1].result()
        except OSError as reason:
            raise TapeError(f"a snapshot cannot be read back from {self.folder} ({reason.strerror})") from reason
        self._reading = None
        return _from_host(values, self._origins[slot])

    def expect(self, slot: int) -> None:
        if self._reading is None or self._reading[0] != slot:
            self._reading = (slot, self._thread.submit(np.load, self._file(slot), allow_pickle=False))

    def drop(self, slot: int) -> None:
        self._written()
        self._file(slot).unlink(missing_ok=True)

    def close(self) -> None:
        self._writing = self._reading = None
        self._finally()

    def _written(self) -> None:
        writing, self._writing = self._writing, None
        if writing is None:
            return
        try:
            writing.result()
        except OSError as reason:
            full = reason.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            why = "the disk is full" if full else str(reason.strerror)
            raise TapeError(
                f"a snapshot cannot be written to {self.folder}, {why}: free some space, name another folder, or keep "
                "fewer snapshots"
            ) from reason

    def _file(self, slot: int) -> Path:
        return self.folder / f"{slot}.npy"


def make(place: Place, folder: Path | None = None) -> Snapshots:
    """Snapshots at a place."""
    return OnDisk(folder) if place == "disk" else OnHost() if place == "host" else InMemory()


def room_on_disk(folder: Path | None = None) -> int:
    """Bytes that are free where `OnDisk` writes."""
    return shutil.disk_usage(folder or tempfile.gettempdir()).free


def _write(file: Path, values: NDArray[Any]) -> None:
    np.save(file, values, allow_pickle=False)


def _clean(thread: ThreadPoolExecutor, folder: Any) -> None:
    thread.shutdown(wait=True, cancel_futures=True)
    folder.cleanup()


@dataclass(frozen=True)
class _Origin:
    """Where a state came from: name of its library, and its device."""

    library: str
    device: Any


def _origin(state: Array) -> _Origin:
    return _Origin(namespace(state).name, getattr(state, "device", None))


def _to_host(state: Array) -> Any:
    if isinstance(state, np.ndarray):
        return state
    if namespace(state).name == "torch":
        import torch

        state = state.detach()
        values = torch.empty(state.shape, dtype=state.dtype, pin_memory=state.is_cuda)
        values.copy_(state)
        return values.numpy()
    return np.array(state)


def _from_host(values: NDArray[Any], origin: _Origin) -> Array:
    if origin.library == "numpy":
        return values
    if origin.library == "torch":
        import torch

        return torch.from_numpy(values).to(origin.device, copy=True)
    import jax

    return jax.device_put(values, origin.device)
