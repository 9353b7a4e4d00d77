"""Reading what a person wrote into a mapping: one clear sentence for everything that does not fit."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topopt.errors import DesignError

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Words:
    """A mapping whose values are asked for by name and kind.

    Args:
        given: what was written.
        where: what it is called in messages.

    Raises:
        DesignError: `given` is not a mapping with words as keys.
    """

    def __init__(self, given: Any, where: str) -> None:
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise DesignError(f"{where} must be a mapping of keys to values, not {given!r}")
        self.given: Mapping[str, Any] = given
        self.where = where

    def only(self, known: Sequence[str]) -> None:
        """Refuse keys that nobody knows, with the nearest one that somebody does; refuse no keys at all."""
        for key in self.given:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean `{near[0]}`?" if near else "known are " + ", ".join(known)
                raise DesignError(f"{self.where}: unknown key `{key}`; {hint}")
        if not self.given:
            raise DesignError(f"{self.where} is empty: give at least one of {', '.join(known)}")

    def has(self, key: str) -> bool:
        return key in self.given

    def inner(self, key: str) -> "Words":
        """The mapping under a key."""
        return Words(self.given[key], f"{self.where} {key}")

    def number(self, key: str) -> float:
        """A finite number."""
        value = self._needed(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise DesignError(f"{self.where}: `{key}` must be a finite number, not {value!r}")
        return float(value)

    def positive(self, key: str, default: float | None = None) -> float:
        """A positive number, or the default where the key is missing."""
        if default is not None and key not in self.given:
            return default
        value = self.number(key)
        if value <= 0:
            raise DesignError(f"{self.where}: `{key}` must be positive, not {value:g}")
        return value

    def flag(self, key: str) -> bool:
        value = self._needed(key)
        if not isinstance(value, bool):
            raise DesignError(f"{self.where}: `{key}` must be true or false, not {value!r}")
        return value

    def vector(self, key: str) -> NDArray[np.float64]:
        """Three finite numbers, (3,)."""
        return self._numbers(key, 3)

    def span(self, key: str) -> tuple[float, float]:
        """Two finite numbers, the lower one first."""
        low, high = self._numbers(key, 2)
        if not low < high:
            raise DesignError(f"{self.where}: `{key}` must be [low, high] with low < high, not {self.given[key]!r}")
        return float(low), float(high)

    def direction(self, key: str) -> NDArray[np.float64]:
        """A unit vector from "x", "y", "z" (or "-x", ...) or three numbers, (3,)."""
        value = self._needed(key)
        if isinstance(value, str):
            if value.lstrip("+-").lower() not in AXES or len(value) > 2:
                raise DesignError(f"{self.where}: `{key}` must be x, y, z or three numbers, not {value!r}")
            sign = -1.0 if value.startswith("-") else 1.0
            return sign * np.array(AXES[value.lstrip("+-").lower()]) + 0.0
        vector = self._numbers(key, 3)
        length = float(np.linalg.norm(vector))
        if length == 0 or not np.isfinite(length):
            raise DesignError(f"{self.where}: `{key}` must be a direction, not {value!r}")
        return vector / length

    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The corners of {min, max}, (3,) each."""
        self.only(("min", "max"))
        low, high = self.vector("min"), self.vector("max")
        if not (low < high).all():
            raise DesignError(f"{self.where}: `min` must be below `max` along every axis")
        return low, high

    def _numbers(self, key: str, count: int) -> NDArray[np.float64]:
        value = self._needed(key)
        fits = isinstance(value, (list, tuple, np.ndarray)) and len(value) == count
        plain = fits and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in value)
        if not plain or not np.isfinite(np.asarray(value, float)).all():
            raise DesignError(f"{self.where}: `{key}` must be {count} finite numbers, not {value!r}")
        return np.asarray(value, float)

    def _needed(self, key: str) -> Any:
        if key not in self.given:
            raise DesignError(f"{self.where}: `{key}` is missing")
        return self.given[key]
