"""What can go wrong on an unstructured mesh, in the words of the person who asked."""


class FemError(ValueError):
    """A question that has no answer on this mesh: wrong shapes, a body that is not held, a number that is none."""


class FemUnavailable(RuntimeError):
    """DOLFINx, or the compiler that it needs, is not here. The message says how to install it."""


class FemSolverError(RuntimeError):
    """The linear solver did not reach its tolerance. The last iterate is not returned: it is not an answer."""
