"""One page that proves a design: what was asked, what came out, who checked it. Self-contained HTML, no scripts.

The page states the optimiser's claim, the referee's and the re-analysis's verdict, and the differences.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topopt.cad.whole import write_whole

if TYPE_CHECKING:
    from topopt.density import Info, Result
    from topopt.part import Part

INK, ACCENT, SOFT = "#1c2733", "#0b6e8a", "#c2703d"


def write_report(
    path: Path,
    job: Mapping[str, Any],
    part: "Part | None",
    result: "Result",
    summary: Mapping[str, Any],
    pictures: Sequence[Path],
) -> Path:
    """Write report.html.

    Args:
        job: the resolved job as plain data. part: None for a preset. summary: what result.json will hold.
        pictures: PNG files to embed; the first is the title picture.

    Raises:
        ExportError: the file cannot be written.
    """
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    environment.filters |= {"figure": _figure, "percent": lambda v: f"{v:+.1%}"}
    page = environment.get_template("report.html.j2").render(
        job=job,
        material=part.material if part else None,
        inputs=_inputs(part, result),
        r=summary,
        plot=convergence_svg(result.history),
        pictures=[_data_address(p) for p in pictures],
        job_text=_yaml(job),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return write_whole(path, page.encode())


def convergence_svg(history: "Sequence[Info]") -> str:
    """Compliance, and the grey measure with the volume below it, against the iteration; an <svg> element."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    steps = [info.iteration for info in history]
    plt.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "formgrad", "font.size": 9, "font.family": "sans-serif"}
    )
    figure, (top, low) = plt.subplots(2, 1, figsize=(7.2, 4.2), sharex=True, height_ratios=(3, 2), layout="constrained")
    top.plot(steps, [info.compliance for info in history], color=ACCENT, lw=1.8)
    top.set(ylabel="compliance", yscale="log")
    top.yaxis.set_major_formatter("{x:g}")
    top.yaxis.set_minor_formatter("{x:g}")
    low.plot(steps, [info.grey for info in history], color=SOFT, lw=1.6, label="grey measure")
    low.plot(steps, [info.volume for info in history], color=INK, lw=1.2, ls="--", label="volume fraction")
    low.set(xlabel="iteration", ylim=(0, 1))
    low.legend(frameon=False, ncols=2, loc="upper right")
    for axes in (top, low):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e6eaee", lw=0.6, which="both" if axes is top else "major")
        for beta in _sharpenings(history):
            axes.axvline(beta, color="#d5dbe1", lw=0.8, zorder=0)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _sharpenings(history: "Sequence[Info]") -> list[float]:
    """Where the projection was made sharper: half an iteration before."""
    return [after.iteration - 0.5 for before, after in pairwise(history) if after.beta != before.beta]


def _inputs(part: "Part | None", result: "Result") -> list[tuple[str, str]]:
    grid = result.problem.grid
    size = " x ".join(f"{n}" for n in grid.shape)
    rows = [("grid", f"{size} elements of {grid.steps[0]:.4g} mm")]
    if part is None:
        return [("preset", result.problem.name), *rows]
    low, high = part.body.surface.bounds
    extent = " x ".join(f"{v:.4g}" for v in high - low)
    rows = [("body", f"{part.body.name}, {extent} mm, {part.body.volume:,.0f} mm3"), *rows]
    for support in part.supports:
        axes = ", ".join(axis for axis, held in zip("xyz", support.components, strict=True) if held)
        rows.append(("support", f"{support.patch.name}: {axes} held, {support.patch.area:,.0f} mm2"))
    for case in part.cases:
        loads = [_load(load) for load in case.loads]
        if any(case.gravity):
            loads.append("gravity (" + ", ".join(f"{g / 9806.65:g}" for g in case.gravity) + ") g")
        rows.append((f"load case {case.name}, weight {case.weight:g}", "; ".join(loads)))
    return rows


def _load(load: Any) -> str:
    kind = type(load).__name__.lower()
    value = load.value if kind == "pressure" else "(" + ", ".join(f"{v:g}" for v in load.vector) + ")"
    unit = {"force": "N", "pressure": "MPa", "moment": "N mm"}[kind]
    return f"{kind} {value} {unit} on {load.patch.name}, {load.patch.area:,.0f} mm2"


def _figure(value: Any) -> str:
    return "-" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _data_address(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _yaml(job: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    buffer = io.StringIO()
    YAML().dump(dict(job), buffer)
    return buffer.getvalue()
