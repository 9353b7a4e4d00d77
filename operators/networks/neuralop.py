"""The one place where neuraloperator is imported: it takes seconds, and would talk to a tracking service."""

import os
from typing import Any


def models() -> Any:
    """`neuralop.models`, with tracking switched off."""
    os.environ.setdefault("WANDB_MODE", "disabled")
    from neuralop import models

    return models
