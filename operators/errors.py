"""What can be wrong about an operator, its data or its training, in one sentence with the remedy."""


class OperatorError(ValueError):
    """Shapes, names or settings that do not fit together."""


class TrainingError(RuntimeError):
    """Training cannot go on: a loss is not finite, a checkpoint is damaged."""
