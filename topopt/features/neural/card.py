"""The card beside the weights: what they are, how they were made, how well they do. Plain JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from topopt.features.neural.model import Model
    from topopt.features.neural.settings import Settings

FIELD_ACCEPTED, CODE_ACCEPTED = 4e-4, 3e-4  # greatest mean squared errors on fresh test sets
TEST_SEED = 2025


def acceptance(model: "Model", count: int = 500, points: int = 1000, seed: int = TEST_SEED) -> dict[str, float]:
    """Mean squared errors on a test set of `count` shapes of each kind: `field`, `code`, and the field of each kind."""
    return model.errors(np.random.default_rng(seed), count, points)


def accepted(errors: Mapping[str, float]) -> bool:
    """Whether the errors are within the bounds of acceptance."""
    return errors["field"] <= FIELD_ACCEPTED and errors["code"] <= CODE_ACCEPTED


def write_card(file: Path, model: "Model", settings: "Settings", errors: Mapping[str, float], command: str) -> None:
    """Write the card of the weights in `file` beside them, as FILE.json."""
    networks = {"encoder": model.encoder, "heaviside decoder": model.heaviside, "code decoder": model.code}
    card = {
        "name": file.name,
        "what": "unified latent space of ellipses, rounded triangles and rounded quadrilaterals: encoder, Heaviside "
        "decoder, code decoder",
        "method": "after Heaviside-SDF topology optimisation (ICML 2025); trained from nothing on data drawn by "
        "topopt.features.neural.samples",
        "licence": "Apache-2.0",
        "date": date.today().isoformat(),
        "command": command,
        "settings": asdict(settings),
        "parameters": {name: sum(p.numel() for p in network.parameters()) for name, network in networks.items()},
        "bytes": file.stat().st_size,
        "shapes seen": settings.steps * settings.shapes,
        "points seen": settings.steps * settings.shapes * settings.points,
        "test": {"shapes of each kind": 500, "points of each": 1000, "seed": TEST_SEED},
        "mean squared errors": dict(errors),
        "accepted at": {"field": FIELD_ACCEPTED, "code": CODE_ACCEPTED},
        "latent limits": model.limits.tolist(),
    }
    file.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
