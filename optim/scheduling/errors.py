"""What can be wrong about a trace or a plan."""


class SchedulingError(ValueError):
    """Sizes, release times or slots that cannot be; the message says which and what to give instead."""
