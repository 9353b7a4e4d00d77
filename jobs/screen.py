"""What the command line shows: a live line while a run goes on, and tables of what it found."""

import time
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from jobs.kinds import KINDS
from jobs.observer import Log
from jobs.store import Run

console = Console(highlight=False, soft_wrap=True)


class Screen:
    """An `Observer` for a person: a live line on a terminal, plain lines elsewhere."""

    def __init__(self, name: str) -> None:
        self.name, self.began, self.row, self.text = name, time.monotonic(), {}, ""
        self.current = ("", "")
        self.log = None if console.is_terminal else Log()
        self.live = Live(console=console, refresh_per_second=8, transient=True, get_renderable=self._draw)

    def __enter__(self) -> "Screen":
        if self.log is None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.log is None:
            self.live.stop()

    def phase(self, name: str, message: str) -> None:
        if self.log is not None:
            self.log.phase(name, message)
            return
        console.print(f"[dim]{time.monotonic() - self.began:6.1f} s[/]  [bold]{name:<10}[/] {message}")
        self.current = (name, message)

    def iteration(self, row: dict[str, Any], text: str) -> None:
        if self.log is not None:
            if row["iteration"] == 1 or row["iteration"] % 5 == 0:
                self.log.iteration(row, text)
            return
        self.row, self.text = row, text

    def _draw(self) -> Text:
        if self.current[0] != "optimise" or not self.row:
            return Text(f"{time.monotonic() - self.began:6.1f} s  ...", style="dim")
        left = self.row.get("seconds_left")
        about = f"about {left:.0f} s left to the form   " if left is not None else ""
        return Text.assemble(
            (f"{time.monotonic() - self.began:6.1f} s  ", "dim"),
            (f"iteration {self.row['iteration']:3d}   ", "bold"),
            f"{self.text}   ",
            (f"{about}Ctrl-C stops and saves", "dim"),
        )


def print_status(run: Run) -> None:
    status, rows = run.status(), run.progress()
    console.print(f"{run.folder}: {status['state']} ({status['phase']}) {status['message']}")
    if rows:
        console.print(", ".join(f"{key} {value}" for key, value in rows[-1].items()))


def print_result(result: dict[str, Any], run: Run) -> None:
    """What was found, and where the files are."""
    KINDS[result.get("job", "structure")].printer()(result, run)


def print_barycenter(result: dict[str, Any], run: Run) -> None:
    cells = " x ".join(map(str, result["shape"]))
    console.print(f"{result['name']}: {cells} cells, {result['iterations']} iterations, method {result['method']}")
    console.print(f"F {result['primal_value']:.6g}, of which shape {result['shape_value']:.6g} (evaluated, from below)")
    console.print(f"No density has a shape part below {result['shape_bound']:.6g} (certified)")
    if result.get("shape_upper") is not None:
        console.print(f"That of this one is below {result['shape_upper']:.6g} (certified)")
    for note in result.get("notes", []):
        console.print(f"note: {note}")
    for name in result["artifacts"]:
        console.print(str(run.folder / name))


def print_features(result: dict[str, Any], run: Run) -> None:
    table = Table("", "compliance", "volume")
    table.title = f"{result['name']}: {result['features']} features, {result['iterations']} iterations"
    table.title_justify = "left"
    table.add_row("smooth field", f"{result['smooth']:.5g}", "")
    table.add_row("cut at the outline", f"{result['compliance']:.5g}", f"{result['volume']:.4f}")
    table.add_row("outline, meshed to fit", f"{result['outline_compliance']:.5g}", f"{result['outline_volume']:.4f}")
    if result["published"]:
        table.add_row("best published", f"{result['published']:.5g}", "")
    console.print(table)
    for note in result["notes"]:
        console.print(f"note: {note}")
    for name in result["artifacts"]:
        console.print(str(run.folder / name))


def print_hybrid(result: dict[str, Any], run: Run) -> None:
    where = f"{result['problem']}, member {result['member']}, {result['method']}"
    console.print(f"{where}: J {result['start']:.6g} -> {result['objective']:.6g} (solved), {result['message']}")
    if result.get("believed") is not None:
        verified = _figure(result["verified"])
        console.print(f"{result['surrogate']} believed {result['believed']:.9g}, a solve made it {verified}")
    console.print(", ".join(f"{count} {name}" for name, count in result["counts"].items()), style="dim")
    for name in result["artifacts"]:
        console.print(str(run.folder / name))


def print_pde(result: dict[str, Any], run: Run) -> None:
    table = Table("", "found", "known")
    table.title = f"{result['problem']}: {result['iterations']} iterations of {result['method']}"
    table.title_justify = "left"
    for name, value in result["figures"].items():
        known = result["known"].get(name)
        table.add_row(name.replace("_", " "), _figure(value), "" if known is None else _figure(known))
    console.print(table)
    console.print(result.get("ended") or result["status"])
    spent = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in result["counts"].items())
    console.print(spent, style="dim")
    for note in result["notes"]:
        console.print(f"note: {note}")
    for name in result["artifacts"]:
        console.print(str(run.folder / name))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.9g}"


def print_structure(result: dict[str, Any], run: Run) -> None:
    table = Table(title=f"{result['name']}: {result['voxels']:,} voxels, {result['iterations']} iterations")
    table.title_justify = "left"
    table.add_column("", no_wrap=True)
    for heading in ("compliance\nN mm", "differ-\nence", "largest\ndispl. mm", "von Mises MPa\n99.9 % / max", "safety"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("claim", f"{result['compliance']:.5g}")
    if referee := result["referee"]:
        table.add_row("referee", *_verdict(referee))
    if again := result["reanalysis"]:
        stress = f"{again['von_mises_p999_mpa']:.3g} / {again['von_mises_max_mpa']:.3g}"
        table.add_row("re-analysis", *_verdict(again), stress, f"{again['safety_factor']:.3g}")
    console.print(table)
    console.print("claim: the optimiser. referee: the exported surface, voxelised again.", style="dim")
    if again:
        console.print("re-analysis: the exported body, quadratic tetrahedra, DOLFINx.", style="dim")
    mass = f", {result['mass_kg']:.4g} kg" if result["mass_kg"] else ""
    console.print(f"volume {result['volume_fraction']:.2%} of the body{mass}, grey {result['grey']:.4f}")
    for hole in result["holes"]:
        console.print(f"hole of radius {hole['radius_mm']:g} mm: {hole['measured_mm']:.4f} mm in the exported body")
    for note in result["notes"]:
        console.print(f"note: {note}")
    for row in result["exports"]:
        closed = {True: "watertight", False: "OPEN", None: "fields"}[row["watertight"]]
        pieces = f", {row['components']} component{'s' if row['components'] != 1 else ''}" if row["components"] else ""
        console.print(f"{run.folder / row['path']}: {closed}{pieces}, {row['volume_mm3']:.1f} mm3")
    for path in result.get("artifacts", []):
        console.print(str(run.folder / path))
    console.print(f"{run.folder / result['report']}")


def _verdict(look: dict[str, Any]) -> tuple[str, str, str]:
    return f"{look['compliance']:.5g}", f"{look['relative_difference']:+.1%}", f"{look['max_displacement_mm']:.4g}"


def print_materials() -> None:
    from topopt.materials import catalogue

    table = Table("material", "E [MPa]", "nu", "density [kg/m3]", "yield [MPa]", "source")
    for m in catalogue().values():
        table.add_row(m.name, f"{m.E:g}", f"{m.nu:g}", f"{m.density * 1e12:g}", f"{m.yield_strength:g}", m.source)
    console.print(table)


def print_presets() -> None:
    import inspect

    from topopt.presets import PRESETS

    table = Table("preset", "options", "what it is")
    for name, make in PRESETS.items():
        options = ", ".join(f"{p.name}={p.default}" for p in inspect.signature(make).parameters.values())
        table.add_row(name, options, inspect.getdoc(make))
    console.print(table)
