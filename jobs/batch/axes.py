"""The values that one entry of a job takes in a sweep, as they are written on a command line or in YAML.

    0.2,0.3,0.4          these
    range(1.5, 3.5, 0.5) from, to (included where it is met), step; counted in decimals, so 0.3 stays 0.3
    lin(0, 1, 5)         from, to, how many
    log(1e-3, 1, 4)      the same, evenly on a logarithmic scale
    uniform(0, 1)        anything between: for sampled sweeps
    loguniform(1e-3, 1)
    integer(2, 8)        any whole number between, ends included

A text that holds none of these is one value. Commas inside brackets and quotes do not split.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from jobs.errors import JobError

DIGITS = 6  # significant ones, of values that are computed


@dataclass(frozen=True)
class Axis:
    """One entry and its values.

    Attributes:
        key: dotted, as in overrides. values: what it takes, or None for a continuum.
        at: value at a place in [0, 1).
    """

    key: str
    values: tuple[Any, ...] | None
    at: Callable[[float], Any]


def axis(key: str, value: Any) -> Axis:
    """From a list, or from a text as above.

    Raises:
        JobError: the text is none of these, or makes no values.
    """
    if isinstance(value, list | tuple):
        return _listed(key, list(value))
    if not isinstance(value, str):
        return _listed(key, [value])
    called = re.fullmatch(r"\s*([a-z]+)\s*\((.*)\)\s*", value)
    if called and called[1] in _MAKERS:
        return _MAKERS[called[1]](key, _numbers(key, called[1], called[2]))
    parts = _split(value)
    return _listed(key, [_yaml(key, part) for part in parts])


def is_swept(text: str) -> bool:
    """Whether the value of an override stands for more than one, so that the override is an axis."""
    called = re.fullmatch(r"\s*([a-z]+)\s*\(.*\)\s*", text)
    return bool(called and called[1] in _MAKERS) or len(_split(text)) > 1


def _listed(key: str, values: Sequence[Any]) -> Axis:
    if not values:
        raise JobError(f"sweep: {key} has no values; give some, such as {key}=1,2,3")
    kept = tuple(values)
    return Axis(key, kept, lambda u: kept[min(int(u * len(kept)), len(kept) - 1)])


def _range(key: str, numbers: list[Decimal]) -> Axis:
    if len(numbers) not in (2, 3):
        raise JobError(f"sweep: {key}: write range(from, to, step), for instance range(1.5, 3.5, 0.5)")
    start, stop, step = numbers if len(numbers) == 3 else (*numbers, Decimal(1))
    if step == 0 or (stop - start) / step < 0:
        raise JobError(f"sweep: {key}: a step of {step} does not lead from {start} to {stop}")
    count = int((stop - start) / step) + 1
    if count > 100_000:
        raise JobError(f"sweep: {key}: {count} values are too many; take a larger step")
    return _listed(key, [_plain(start + k * step) for k in range(count)])


def _lin(key: str, numbers: list[Decimal]) -> Axis:
    start, stop, count = _ends_and_count(key, "lin", numbers)
    return _listed(key, [_rounded(start + (stop - start) * k / max(count - 1, 1)) for k in range(count)])


def _log(key: str, numbers: list[Decimal]) -> Axis:
    start, stop, count = _ends_and_count(key, "log", numbers)
    if start <= 0 or stop <= 0:
        raise JobError(f"sweep: {key}: log needs ends above zero")
    return _listed(key, [_rounded(start * (stop / start) ** (k / max(count - 1, 1))) for k in range(count)])


def _uniform(key: str, numbers: list[Decimal]) -> Axis:
    low, high = _ends(key, "uniform(0, 1)", numbers)
    return Axis(key, None, lambda u: _rounded(low + (high - low) * u))


def _loguniform(key: str, numbers: list[Decimal]) -> Axis:
    low, high = _ends(key, "loguniform(1e-3, 1)", numbers)
    if low <= 0:
        raise JobError(f"sweep: {key}: loguniform needs ends above zero")
    return Axis(key, None, lambda u: _rounded(low * (high / low) ** u))


def _integer(key: str, numbers: list[Decimal]) -> Axis:
    low, high = (int(x) for x in _ends(key, "integer(2, 8)", numbers))
    return _listed(key, list(range(low, high + 1)))


_MAKERS: dict[str, Callable[[str, list[Decimal]], Axis]] = {
    "range": _range,
    "lin": _lin,
    "log": _log,
    "uniform": _uniform,
    "loguniform": _loguniform,
    "integer": _integer,
}


def _ends(key: str, example: str, numbers: list[Decimal]) -> tuple[float, float]:
    if len(numbers) != 2 or numbers[0] >= numbers[1]:
        raise JobError(f"sweep: {key}: write the smaller and the larger end, for instance {example}")
    return float(numbers[0]), float(numbers[1])


def _ends_and_count(key: str, name: str, numbers: list[Decimal]) -> tuple[float, float, int]:
    if len(numbers) != 3 or numbers[2] != int(numbers[2]) or not 1 <= numbers[2] <= 100_000:
        raise JobError(f"sweep: {key}: write {name}(from, to, how many), for instance {name}(0.1, 1, 4)")
    return float(numbers[0]), float(numbers[1]), int(numbers[2])


def _numbers(key: str, name: str, text: str) -> list[Decimal]:
    try:
        found = [Decimal(part.strip()) for part in text.split(",")]
    except InvalidOperation as error:
        raise JobError(f"sweep: {key}: {name}({text}) takes numbers, separated by commas") from error
    if not all(number.is_finite() for number in found):
        raise JobError(f"sweep: {key}: {name}({text}) takes finite numbers")
    return found


def _plain(number: Decimal) -> int | float:
    whole = "." not in str(number) and "E" not in str(number)
    return int(number) if whole else float(number)


def _rounded(x: float) -> float:
    return float(f"{x:.{DIGITS}g}") if math.isfinite(x) else x


def _yaml(key: str, text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise JobError(f"sweep: {key}: {text!r} is not valid YAML") from error


def _split(text: str) -> list[str]:
    """At commas that stand outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
