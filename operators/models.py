"""Every operator behind one call, by name, with its units, on disk and back, and with its derivatives.

model = build(Settings("virtual_fourier", inputs=3, outputs=1))
model.fit(x, u)                                  # statistics of the training data
model(x, (x_r, u_r))                             # physical units in and out
save(model, path);  model = load(path)
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.functional import jvp, vjp

from operators.errors import OperatorError
from operators.networks.point import MIXERS, PointNetwork
from operators.normaliser import Normaliser
from operators.reference import ReferenceOperator
from operators.settings import Settings

type Reference = tuple[Tensor, Tensor]


def _grid(settings: Settings) -> nn.Module:
    from operators.networks.grid import GridNetwork

    return GridNetwork(settings)


def _geometry(settings: Settings) -> nn.Module:
    from operators.networks.geometry import GeometryNetwork

    return GeometryNetwork(settings)


KINDS: dict[str, Callable[[Settings], nn.Module]] = {
    **dict.fromkeys(MIXERS, PointNetwork),
    **dict.fromkeys(("fno", "tfno", "uno"), _grid),
    "gino": _geometry,
}


class Operator(nn.Module):
    """A reference operator with its units: x : (B, M, inputs) and u : (B, M, outputs) are physical.

    Where `settings.homogeneous`, reference states are brought to unit size before they enter, and answers back after:
    twice the load is twice the state at the same design, whatever the weights are. Without a reference it must be off.

    Args:
        kept: inputs that are not normalised, such as coordinates and masks.
    """

    def __init__(self, settings: Settings, kept: Iterable[int] = ()) -> None:
        super().__init__()
        if settings.kind not in KINDS:
            raise OperatorError(f"there is no operator {settings.kind!r}: choose one of {', '.join(KINDS)}")
        self.settings = settings
        self.inner = ReferenceOperator(settings, KINDS[settings.kind](settings))
        self.of_inputs, self.of_states = Normaliser(settings.inputs, kept), Normaliser(settings.outputs)

    def fit(self, x: Tensor, u: Tensor) -> None:
        """Take mean and deviation from training data."""
        self.of_inputs.fit(x)
        self.of_states.fit(u / size_of(u) if self.settings.homogeneous else u)

    def forward(
        self,
        x: Tensor,
        reference: Reference | None = None,
        mask: Tensor | None = None,
        weights: Tensor | None = None,
        still: Tensor | None = None,
    ) -> Tensor:
        """State at x, (B, M, outputs); see `operators.reference`.

        Raises:
            OperatorError: shapes do not fit.
        """
        if x.ndim != 3 or x.shape[-1] != self.settings.inputs:
            raise OperatorError(f"x has shape {tuple(x.shape)}: give (batch, points, {self.settings.inputs})")
        size = torch.ones((), dtype=x.dtype, device=x.device)
        if reference is not None:
            reference, size = self._scaled(reference)
        return size * self.of_states.back(self.inner(self.of_inputs(x), reference, mask, weights, still))

    def still(self, reference: Reference, mask: Tensor | None = None, weights: Tensor | None = None) -> Tensor | None:
        """What all queries from one reference share, to be handed to each of them; None where they share nothing."""
        return self.inner.still(self._scaled(reference)[0], mask, weights)

    def _scaled(self, reference: Reference) -> tuple[Reference, Tensor]:
        x_r, u_r = reference
        size = size_of(u_r) if self.settings.homogeneous else torch.ones((), dtype=u_r.dtype, device=u_r.device)
        return (self.of_inputs(x_r), self.of_states(u_r / size)), size

    def jvp(self, x: Tensor, h: Tensor, reference: Reference | None = None) -> tuple[Tensor, Tensor]:
        """State at x, and its change along h : (B, M, inputs)."""
        return cast(Reference, jvp(lambda y: self(y, reference), x, h, create_graph=self.training))

    def vjp(self, x: Tensor, w: Tensor, reference: Reference | None = None) -> tuple[Tensor, Tensor]:
        """State at x, and the derivative of <w, state> with respect to x; w : (B, M, outputs)."""
        return cast(Reference, vjp(lambda y: self(y, reference), x, w, create_graph=self.training))

    def objective_and_gradient(
        self, J: Callable[[Tensor, Tensor], Tensor], x: Tensor, reference: Reference | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """J(u(x), x) : (B,), its derivative with respect to x in physical units, and u."""
        with torch.enable_grad():
            x = x if x.requires_grad else x.detach().requires_grad_()
            u = self(x, reference)
            value = J(u, x)
            (slope,) = torch.autograd.grad(value.sum(), x, create_graph=self.training)
        return (value, slope, u) if self.training else (value.detach(), slope, u.detach())


def build(settings: Settings, kept: Iterable[int] = (), seed: int = 0) -> Operator:
    """An untrained operator; the same seed gives the same weights.

    Raises:
        OperatorError: a kind that does not exist, sizes that do not fit.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Operator(settings, kept)


def size_of(u: Tensor) -> Tensor:
    """(B, 1, 1): the root mean square of u : (B, M, outputs)."""
    return (u**2).mean(dim=(1, 2), keepdim=True).clamp(min=1e-30).sqrt()


def state_error(predicted: Tensor, true: Tensor, weights: Tensor | None = None) -> Tensor:
    """Relative error per sample and component, (B, outputs), in the norm of the quadrature weights : (B, M)."""
    w = torch.ones_like(true[..., :1]) if weights is None else weights[..., None]
    return ((w * (predicted - true) ** 2).sum(1) / (w * true**2).sum(1).clamp(min=1e-300)).sqrt()


def weights_of(model: Operator) -> dict[str, Tensor]:
    """Every parameter and buffer by name; neuraloperator's networks add notes of their own, which are no tensors."""
    return {name: value for name, value in model.state_dict().items() if isinstance(value, Tensor)}


def save(model: Operator, path: Path, about: dict[str, Any] | None = None) -> None:
    """Weights, statistics and settings in one safetensors file; `about` is kept beside them."""
    from safetensors.torch import save_file

    card = {"settings": asdict(model.settings), "kept": model.of_inputs.kept, "about": about or {}}
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in weights_of(model).items()}
    part = path.with_name(path.name + ".part")
    save_file(tensors, part, metadata={"formgrad": json.dumps(card)})
    part.replace(path)


def load(path: Path, device: str = "cpu") -> Operator:
    """What `save` wrote, ready to be asked.

    Raises:
        OperatorError: no such file, or no operator in it.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise OperatorError(f"{path} does not exist: train an operator first, or check the path")
    try:
        with safe_open(path, framework="pt") as file:
            card = json.loads((file.metadata() or {})["formgrad"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
        settings = card["settings"]
        settings["grid"] = tuple(settings["grid"]) if settings["grid"] else None
        model = build(Settings(**settings), card["kept"])
        if any(value.dtype == torch.float64 for value in tensors.values()):
            model.double()  # unlike `to`, this leaves complex weights complex
        model.load_state_dict(tensors)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise OperatorError(f"{path.name} holds no operator of this version: train it again") from error
    return model.to(device).eval()


def card(path: Path) -> dict[str, Any]:
    """What `save` was told about the model."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return json.loads((file.metadata() or {}).get("formgrad", "{}")).get("about", {})
