"""What follows from the way an attempt ended. Pure rules, one row each.

succeeded                        done
stopped because it was cancelled cancelled
stopped at its wall time         again from its checkpoint, if it got further than before; else timed_out
stopped by the scheduler         again later, for instance when a more urgent job is done; does not count
refused (the user's words)       failed at once: it would be refused again
numerical failure                once more with damped settings, where the kind of job has some
out of memory                    once more with half as much memory again
an error                         again, unless it is the same error twice
lost with its worker             again; does not count, but not for ever
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

MAX_LOSSES = 20  # in a row, without a step forward
MORE_MEMORY = 1.5

Ended = Literal["succeeded", "stopped", "refused", "numerical", "memory", "error", "lost"]


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended.

    Attributes:
        ended: as above. message: for a person. traceback_hash: the same for the same fault.
        iteration: of the newest checkpoint, None without one. can_damp: whether the job has milder settings.
        peak_rss: in MB. seconds: on the clock. exit_code: of the process, negative for a signal.
        warm: whether the process held the job's class ready. resident: the classes that it holds now.
    """

    ended: Ended
    message: str = ""
    traceback_hash: str | None = None
    iteration: int | None = None
    can_damp: bool = False
    peak_rss: float | None = None
    peak_device: float | None = None
    seconds: float = 0.0
    exit_code: int | None = None
    warm: bool | None = None
    resident: Sequence[str] = ()


@dataclass(frozen=True)
class Past:
    """An earlier attempt of the same job, as the store has it."""

    reason: str
    traceback_hash: str | None
    iteration: int | None
    counts: bool


@dataclass(frozen=True)
class Verdict:
    """What becomes of the job.

    Attributes:
        state: its new state. counts: whether the attempt uses up one of those that are allowed.
        settings: changes to the next attempt: `memory_factor`, `damped`.
    """

    state: str
    message: str
    counts: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        return self.state not in ("queued", "checkpointed")


def judge(outcome: Outcome, past: list[Past], wanted: str, allowed: int) -> Verdict:
    """What follows.

    Args:
        past: earlier attempts, oldest first, since the job was last submitted.
        wanted: why the scheduler asked it to stop: "cancel", "wall", "drain" or nothing.
        allowed: attempts that may fail.
    """
    if outcome.ended == "succeeded":
        return Verdict("succeeded", "")
    if wanted == "cancel":
        return Verdict("cancelled", "cancelled while it ran", counts=False)
    again = "queued" if outcome.iteration is None else "checkpointed"
    if wanted == "wall":
        before = max((p.iteration or 0 for p in past), default=0)
        if outcome.iteration is not None and outcome.iteration > before:
            return Verdict(again, "out of time; goes on from its checkpoint", counts=False)
        return Verdict("timed_out", "out of time before it got any further: give it more wall time")
    if outcome.ended == "stopped" or wanted == "drain":
        return Verdict(again, "stopped; goes on later", counts=False)
    if outcome.ended == "refused":
        return Verdict("failed", outcome.message)
    if outcome.ended == "lost":
        return _after_loss(outcome, past, again)
    tried = sum(p.counts for p in past) + 1
    if outcome.ended == "memory":
        if any(p.reason == "memory" for p in past):
            return Verdict("failed", f"{outcome.message}, twice: ask for more memory or for fewer voxels")
        if tried >= allowed:
            return Verdict("failed", outcome.message)
        return Verdict(again, f"{outcome.message}; again with more memory", settings={"memory_factor": MORE_MEMORY})
    if outcome.ended == "numerical":
        if outcome.can_damp and not any(p.reason == "numerical" for p in past) and tried < allowed:
            return Verdict("queued", f"{outcome.message}; again with damped settings", settings={"damped": True})
        return Verdict("failed", outcome.message)
    return _after_error(outcome, past, again, tried, allowed)


def _after_error(outcome: Outcome, past: list[Past], again: str, tried: int, allowed: int) -> Verdict:
    if any(p.traceback_hash == outcome.traceback_hash for p in past if p.traceback_hash):
        return Verdict("failed", f"{outcome.message} (the same error twice)")
    if tried >= allowed:
        return Verdict("failed", f"{outcome.message} ({tried} attempts)")
    return Verdict(again, f"{outcome.message}; tried again")


def _after_loss(outcome: Outcome, past: list[Past], again: str) -> Verdict:
    reached, losses = outcome.iteration or 0, 1
    for p in reversed(past):
        if p.reason != "lost" or (p.iteration or 0) < reached:
            break
        losses += 1
    if losses >= MAX_LOSSES:
        return Verdict("lost", f"{outcome.message}: {losses} times without a step forward")
    return Verdict(again, f"{outcome.message}; tried again", counts=False)
