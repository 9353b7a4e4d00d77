"""What can be wrong with features, told with the remedy."""

from topopt.errors import DesignError


class FeatureError(DesignError):
    """A feature or a feature design that cannot be what was asked. The message names the field and the remedy."""
