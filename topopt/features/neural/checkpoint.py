"""A training run as named tensors and back, bit for bit, in one safetensors file: no pickle.

Each part (a network, an optimiser) becomes the tensors of its state, named PART/PLACE. The file is replaced at once, so
that a run killed while it writes keeps its last state.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topopt.features.errors import FeatureError

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer


def save(
    file: Path, networks: "Mapping[str, nn.Module]", optimizers: "Mapping[str, Optimizer]", notes: Mapping[str, object]
) -> None:
    """Write the state; `notes` is plain data that `restore` gives back."""
    from safetensors.torch import save_file

    tensors: dict[str, Tensor] = {}
    for name, network in networks.items():
        tensors |= {f"{name}/{key}": value.contiguous() for key, value in network.state_dict().items()}
    for name, optimizer in optimizers.items():
        for place, state in optimizer.state_dict()["state"].items():
            tensors |= {f"{name}/{place}/{key}": value.contiguous() for key, value in state.items()}
    fresh = file.with_suffix(".part")
    save_file(tensors, fresh, {"notes": json.dumps(notes)})
    fresh.replace(file)


def restore(file: Path, networks: "Mapping[str, nn.Module]", optimizers: "Mapping[str, Optimizer]") -> dict[str, Any]:
    """Bring networks and optimisers into the saved state, and give the notes back.

    Raises:
        FeatureError: the file is of a run with other networks.
    """
    from safetensors import safe_open

    with safe_open(file, "pt") as opened:
        notes = json.loads(opened.metadata()["notes"])
        found = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - not a mapping
    try:
        for name, network in networks.items():
            network.load_state_dict(_under(found, name))
    except RuntimeError as error:
        raise FeatureError(f"{file} was written by a run with other networks: remove it to start afresh") from error
    for name, optimizer in optimizers.items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _under(found, name).items():
            place, entry = key.split("/")
            state.setdefault(int(place), {})[entry] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return notes


def _under(tensors: "Mapping[str, Tensor]", name: str) -> "dict[str, Tensor]":
    return {key.removeprefix(name + "/"): value for key, value in tensors.items() if key.startswith(name + "/")}
