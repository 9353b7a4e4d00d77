"""A run as named arrays, and back, bit for bit: what `numpy.savez` can write without pickle.

np.savez(path, **optim.pack(result.state))
snapshot = optim.unpack(dict(np.load(path)), optim.start(problem, x0, method))
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.arrays import Array, namespace
from optim.errors import OptimError
from optim.result import Info, Snapshot

OUTLINE = "outline"


def pack(snapshot: Snapshot) -> dict[str, NDArray[Any]]:
    """Every array under its place, everything else as JSON under "outline"."""
    arrays: dict[str, NDArray[Any]] = {}
    outline = _outline(snapshot, "", arrays)
    return {**arrays, OUTLINE: np.array(json.dumps(outline))}


def unpack(data: Mapping[str, NDArray[Any]], like: Snapshot) -> Snapshot:
    """The snapshot that was packed.

    Args:
        data: from `pack`. like: a snapshot of the same problem and method; its arrays say which library and device.

    Raises:
        OptimError: the data is not of this problem and method.
    """
    try:
        outline = json.loads(str(data[OUTLINE]))
        snapshot = _rebuilt(outline, data, like, like.x)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptimError("this checkpoint belongs to another method or was damaged: start afresh") from error
    if snapshot.x.shape != like.x.shape:
        raise OptimError(f"this checkpoint has {snapshot.x.shape[0]} variables, the problem has {like.x.shape[0]}")
    return snapshot


def _outline(value: Any, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value)]
        return {name: _outline(getattr(value, name), f"{place}.{name}".strip("."), arrays) for name in names}
    if isinstance(value, tuple | list):
        return [_outline(v, f"{place}.{i}", arrays) for i, v in enumerate(value)]
    if isinstance(value, dict):
        return {k: _outline(v, f"{place}.{k}", arrays) for k, v in value.items()}
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        host = not isinstance(value, np.ndarray)
        arrays[place] = value if not host else _exact(value)
        return {"array": place, "host": not host}
    return value.item() if isinstance(value, np.generic) else value


def _exact(x: Array) -> NDArray[Any]:
    return x.detach().cpu().numpy() if namespace(x).name == "torch" else np.asarray(x)


def _rebuilt(outline: Any, data: Mapping[str, NDArray[Any]], like: Any, x: Array) -> Any:
    if isinstance(outline, dict) and set(outline) == {"array", "host"}:
        array = np.array(data[outline["array"]])
        return array if outline["host"] else namespace(x).like(array, x)
    if dataclasses.is_dataclass(like) and not isinstance(like, type):
        if isinstance(like, Snapshot):
            rows = tuple(Info(**row) for row in outline.pop("history"))
            counts = tuple(outline.pop("counts"))
            rest = {k: _rebuilt(v, data, getattr(like, k), x) for k, v in outline.items()}
            return Snapshot(**rest, counts=counts, history=rows)  # pyright: ignore[reportArgumentType]
        return type(like)(**{k: _rebuilt(v, data, getattr(like, k), x) for k, v in outline.items()})
    if isinstance(outline, list):
        return tuple(_rebuilt(v, data, None, x) for v in outline)
    return outline
