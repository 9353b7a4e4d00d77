"""What a person who optimises can get wrong, told with the remedy."""


class OptimError(ValueError):
    """The problem, the start or the method cannot be right as stated. The message names the argument and the remedy."""


class BoundsError(OptimError):
    """Lower and upper bounds that no point can meet, or that the method cannot use."""


class StartError(OptimError):
    """A start from which nothing can begin: outside the bounds, of another shape, or without a finite value."""


class ShapeError(OptimError):
    """A gradient or a Jacobian whose shape or type does not fit the variables."""


class MethodError(OptimError):
    """A method that does not take this kind of problem."""
