"""Sizes of operators for two processor cores: all kinds of a family have about as many real parameters."""

from typing import Any

from operators.settings import Settings

POINT_WIDTHS = {"virtual_fourier": 52, "physics_attention": 68, "subspace_attention": 76}


def small(
    kind: str,
    output: str,
    *,
    inputs: int,
    outputs: int,
    grid: tuple[int, ...],
    width: int = 16,
    blocks: int = 3,
    modes: int = 10,
    frequencies: int = 0,
    homogeneous: bool = False,
) -> Settings:
    """Args: inputs, outputs, homogeneous: as in `Settings`. grid, width, blocks, modes: of networks on grids.
    frequencies: of point networks."""
    common: dict[str, Any] = {"kind": kind, "inputs": inputs, "outputs": outputs, "output": output}
    common |= {"reference_dropout": 0.0, "homogeneous": homogeneous}
    if kind not in POINT_WIDTHS:
        return Settings(**common, width=width, blocks=blocks, modes=modes, grid=grid)
    common |= {"heads": 4, "sensors": 16, "hidden": 1, "frequencies": frequencies}
    return Settings(**common, width=POINT_WIDTHS[kind], blocks=3, modes=9)
