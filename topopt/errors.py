"""What a person who designs can get wrong, told with the remedy."""


class DesignError(ValueError):
    """The design problem cannot be posed as it was stated. The message names the field and the remedy."""


class BodyError(DesignError):
    """A body that cannot be used: missing, open, inside out, without a solid, of doubtful size."""


class ExportError(RuntimeError):
    """The body that was formed does not pass a gate of the export, and says which."""


class ReanalysisError(RuntimeError):
    """The body that was formed could not be meshed or solved again, so its figures are the optimiser's claim only."""


class OutlineError(DesignError):
    """An outline that is none: open, crossing itself, without area, or an arc whose numbers do not match."""
