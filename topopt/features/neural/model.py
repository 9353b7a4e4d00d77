"""The trained networks together: their limits, their file, their errors on fresh data.

A file of weights is one safetensors file; its header names the width and the depth. `shipped` opens the file that comes
with Formgrad (`assets/features/`, made by `formgrad features train`, described by the JSON card beside it).
"""

import json
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from topopt.features.errors import FeatureError
from topopt.features.neural import samples
from topopt.features.neural.codes import Kind
from topopt.features.neural.networks import CodeDecoder, Encoder, HeavisideDecoder

Field = NDArray[np.float64]

SHIPPED = Path(__file__).parents[3] / "assets" / "features" / "unified.safetensors"
MARGIN = 1.2  # the optimiser may leave the latent limits of the data by this factor


class Model(nn.Module):
    """Encoder, Heaviside decoder, code decoder, and the range (2, latent) of latent means over the data."""

    limits: Tensor

    def __init__(self, encoder: Encoder, heaviside: HeavisideDecoder, code: CodeDecoder) -> None:
        super().__init__()
        self.encoder, self.heaviside, self.code = encoder, heaviside, code
        self.register_buffer("limits", torch.tensor([[-1.0], [1.0]]).repeat(1, heaviside.latent))

    @classmethod
    def fresh(cls, width: int = 256, depth: int = 8) -> Self:
        """Untrained networks; how they start is a matter of torch's random state."""
        return cls(Encoder(), HeavisideDecoder(width=width, depth=depth), CodeDecoder())

    @torch.no_grad()
    def measure_limits(self, rng: np.random.Generator, count: int = 20_000) -> None:
        """Least and greatest latent means over `count` random shapes of each kind."""
        code, _, _ = samples.draw(rng, count, 0)
        z, _ = self.encoder(torch.as_tensor(code, dtype=self.limits.dtype))
        self.limits.copy_(torch.stack([z.amin(0), z.amax(0)]))

    @property
    def bounds(self) -> Field:
        """Bounds (2, latent) of the latent variables in a design."""
        return MARGIN * self.limits.detach().double().numpy()

    @torch.no_grad()
    def encode(self, code: Field) -> Field:
        """Latent means (n, latent) of codes (n, 15)."""
        z, _ = self.encoder(torch.as_tensor(code, dtype=self.limits.dtype))
        return z.double().numpy()

    @torch.no_grad()
    def decode(self, z: Field) -> Field:
        """Codes (n, 15) of latent points (n, latent), as the network gives them: see `outlines.nearest_code`."""
        return self.code(torch.as_tensor(z, dtype=self.limits.dtype)).double().numpy()

    @torch.no_grad()
    def errors(self, rng: np.random.Generator, count: int = 500, points: int = 1000) -> dict[str, float]:
        """Mean squared errors of H (all, and for each kind) and of the code, on fresh shapes."""
        found: dict[str, float] = {}
        of_code: list[float] = []
        for kind in Kind:
            code = samples.draw_codes(rng, count, kind)
            place = samples.draw_points(rng, code, kind, points)
            target = samples.target(code, kind, place)
            of_h = [self._field_error(*batch) for batch in zip(code, place, target, strict=True)]
            found[kind.name.lower()] = float(np.mean(of_h))
            of_code.append(float(np.mean((self.decode(self.encode(code)) - code) ** 2)))
        return {"field": float(np.mean(list(found.values()))), "code": float(np.mean(of_code)), **found}

    def _field_error(self, code: Field, place: Field, target: Field) -> float:
        kind = self.limits.dtype
        z, _ = self.encoder(torch.as_tensor(code[None], dtype=kind))
        h = self.heaviside(z.expand(len(place), -1), torch.as_tensor(place, dtype=kind))
        return float(((h.double().numpy() - target) ** 2).mean())

    def save(self, file: Path) -> None:
        """Write all weights, the running statistics and the limits."""
        shape = {"width": self.heaviside.width, "depth": self.heaviside.depth}
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file(
            {name: value.contiguous() for name, value in self.state_dict().items()},
            file,
            {"networks": json.dumps(shape)},
        )
        file.chmod(0o644)  # the writer makes it private

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read what `save` wrote, in evaluation mode.

        Raises:
            FeatureError: no such file, or not one of ours.
        """
        try:
            with safe_open(file, "pt") as opened:
                shape = json.loads((opened.metadata() or {})["networks"])
                tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - not a mapping
            model = cls.fresh(shape["width"], shape["depth"])
            model.load_state_dict(tensors)
        except FileNotFoundError as error:
            raise FeatureError(f"there are no weights at {file}: make them with `formgrad features train`") from error
        except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
            raise FeatureError(f"{file} does not hold the weights of the neural back-end") from error
        return model.eval()


@cache
def shipped() -> Model:
    """The model that comes with Formgrad, in single precision."""
    return Model.load(SHIPPED)
