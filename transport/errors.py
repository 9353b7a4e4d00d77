"""What can go wrong in transport, in the words of the person who asked."""


class TransportError(ValueError):
    """The question cannot be answered as it was put. One sentence that names the input and the remedy."""


class ImageError(TransportError):
    """A picture, volume or design that cannot be read as a density."""


class AscentError(RuntimeError):
    """The dual ascent broke down. Nothing is returned, because its last iterate is not an answer."""
