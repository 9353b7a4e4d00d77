"""What an operator is made of: plain data that is stored beside its weights."""

from dataclasses import dataclass
from typing import Literal

from operators.layers.virtual_fourier import Spectrum

Kind = Literal["virtual_fourier", "physics_attention", "subspace_attention", "fno", "tfno", "uno", "gino"]
Output = Literal["state", "increment"]


@dataclass(frozen=True)
class Settings:
    """Sizes of an operator.

    Attributes:
        kind: of the network; `operators.models.KINDS`.
        inputs: features of a point: coordinates, design, masks. outputs: components of the state.
        output: "state", or "increment" on the reference state.
        width: channels. blocks: layers. modes: Fourier modes, per axis on grids.
        heads, sensors, hidden, spectrum, dropout: of the point networks; sensors are virtual sensors or slices.
        frequencies: of the point networks: sines and cosines of pi, 2 pi, 4 pi, ... times each coordinate that the
            query's embedding sees besides the inputs.
        grid: points per axis, where the points are a grid in `ij` order. dim: of the coordinates, which come first.
        padding: of grids, a part of the side. radius: of the graph kernels of "gino", in units of the coordinates.
        reference_dropout: probability per training batch that the reference is left out.
        homogeneous: the state is proportional to a load that the reference tells: see `operators.models.Operator`.
    """

    kind: Kind
    inputs: int
    outputs: int
    output: Output = "increment"
    width: int = 128
    blocks: int = 3
    modes: int = 16
    heads: int = 8
    sensors: int = 128
    hidden: int = 3
    spectrum: Spectrum = "complex"
    dropout: float = 0.0
    grid: tuple[int, ...] | None = None
    dim: int = 2
    padding: float = 0.25
    radius: float = 0.15
    reference_dropout: float = 0.3
    frequencies: int = 0
    homogeneous: bool = False
