"""How the networks of the neural back-end are trained, in numbers. The defaults made the weights that are shipped."""

from dataclasses import dataclass
from typing import Literal

from topopt.features.errors import FeatureError


@dataclass(frozen=True)
class Settings:
    """How the networks are trained.

    Attributes:
        seed: of everything that is random. steps, code_steps: of the two stages, in whole blocks.
        width, depth: of the Heaviside decoder.
        shapes, points: per step, shapes of all three kinds together and points around each. code_shapes: in stage two.
        block: steps that one draw of data serves.
        rate, code_rate: learning rates. decay: the part of a stage over which they fall to zero.
        kl: weight of the KL term. weight_decay: of both optimisers.
        precision: of the Heaviside decoder's products while it learns; the weights stay in single precision.
        threads: of torch. save_every: seconds between checkpoints.
    """

    seed: int = 7
    steps: int = 3000
    code_steps: int = 2400
    width: int = 256
    depth: int = 8
    shapes: int = 256
    points: int = 8
    code_shapes: int = 512
    block: int = 24
    rate: float = 4e-3
    code_rate: float = 2e-3
    decay: float = 0.26
    kl: float = 5e-7
    weight_decay: float = 1e-2
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    threads: int = 1
    save_every: float = 120.0

    def __post_init__(self) -> None:
        if self.shapes % 3 and self.shapes * self.block % 3:
            raise FeatureError(f"shapes x block is {self.shapes * self.block}: make it a multiple of the three kinds")
        if self.steps % self.block or self.code_steps % self.block:
            raise FeatureError(f"steps and code_steps must be multiples of block ({self.block})")
        if not 0 < self.decay <= 1:
            raise FeatureError(f"decay is {self.decay:g}: it is a part of the stage, above 0 and at most 1")
