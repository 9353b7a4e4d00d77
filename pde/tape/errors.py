"""What can go wrong with a tape, in the words of the person who asked."""


class TapeError(RuntimeError):
    """The tape cannot be kept as asked: no memory, no disk, no such schedule; or it is read before it is written."""
