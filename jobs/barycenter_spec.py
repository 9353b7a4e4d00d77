"""The job kind `barycenter`, as it may be stated: what is averaged, with which weights, how finely."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jobs.job import Job
from jobs.strict import JobName, Strict

Part = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class WeightPath(Strict):
    """Frames along a path of weights that begins at `weights`: a film, and one array per frame.

    to: the weights at the other end, or a list of weight vectors to pass one after the other. frames: in all, both ends
    included. format: of the film; png is one picture per frame, npy leaves the arrays alone (volumes have nothing
    else). seconds: per frame.
    """

    to: list[float] | list[list[float]]
    frames: Annotated[int, Field(ge=2, le=600)] = 24
    format: Literal["gif", "mp4", "png", "npy"] = "gif"
    seconds: Annotated[float, Field(gt=0, le=10)] = 0.05

    @property
    def stations(self) -> list[list[float]]:
        """The weight vectors after the first."""
        vectors = [v for v in self.to if isinstance(v, list)]
        return vectors or [[v for v in self.to if not isinstance(v, list)]]


class BarycenterJob(Job):
    """Pictures, volumes or designs in; the density between them and its certificate out.

    inputs: PNG, TIFF, NPY, VTI, STL files or finished run folders. size: cells along the longest side. resize: allow
    inputs of different sizes. invert: dark is mass. volume_fraction: also write a black-and-white design of that
    volume. primal_iterations: of the distances behind the reported F, which they approach from below. upper_bound:
    also bound F from above. regularisation: of the method `debiased`. device: cpu, or cuda or torch (PyTorch).
    """

    job: Literal["barycenter"] = "barycenter"
    name: JobName = "barycenter"
    inputs: list[Path]
    weights: list[float] | None = None
    size: Annotated[int, Field(ge=8, le=65536)] | None = None
    resize: bool = False
    invert: bool = False
    padding: Part = 0.0
    floor: Part = 0.0
    method: Literal["accelerated", "wdha", "sga", "debiased"] = "accelerated"
    iterations: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    regularisation: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.005
    path: WeightPath | None = None
    volume_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    primal_iterations: Annotated[int, Field(ge=1)] = 12
    upper_bound: bool = True
    device: Annotated[str, Field(pattern=r"^(cpu|torch|cuda(:[0-9]+)?)$")] = "cpu"
    threads: Annotated[int, Field(ge=0)] = 0
    checkpoint_every: Annotated[int, Field(ge=1)] = 20

    @model_validator(mode="after")
    def _enough(self) -> "BarycenterJob":
        if len(self.inputs) < 2:
            raise ValueError("a barycenter needs at least two inputs: give another file")
        if self.iterations is not None and self.method == "accelerated":
            raise ValueError(
                "iterations belongs to wdha, sga and debiased; the accelerated method knows when it is done"
            )
        return self

    @property
    def save_every(self) -> int:
        return self.checkpoint_every

    def files(self) -> list[Path]:
        """Every file (or run folder) that the job names."""
        return list(self.inputs)

    def with_files(self, moved: Mapping[Path, Path]) -> "BarycenterJob":
        """The same job with its files elsewhere."""
        return self.model_copy(update={"inputs": [moved[path] for path in self.inputs]})
