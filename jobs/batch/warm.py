"""What a worker process keeps between jobs, in a few slots: one per class of jobs that share something dear to load.

A template asks for its object by name; it is loaded where the class is cold, and kept until the class has to leave for
another one, the longest unused first. Jobs without a class keep nothing.

    from jobs.batch.warm import SLOTS
    operator = SLOTS.get("operator", lambda: load_operator(path))
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any


class Slots:
    """The slots of this process."""

    def __init__(self) -> None:
        self.held: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.current: dict[str, Any] = {}

    def enter(self, name: str, slots: int) -> bool:
        """A job of class `name` begins, and so many classes may be held. -> whether the class was warm"""
        if not name:
            self.current = {}
            return False
        warm = name in self.held
        self.current = self.held.setdefault(name, {})
        self.held.move_to_end(name)
        while len(self.held) > max(1, slots):
            self.held.popitem(last=False)
        return warm

    def get(self, name: str, load: Callable[[], Any]) -> Any:
        """An object of the current class."""
        if name not in self.current:
            self.current[name] = load()
        return self.current[name]

    @property
    def resident(self) -> list[str]:
        """Classes that are warm, the longest unused first."""
        return list(self.held)


SLOTS = Slots()
