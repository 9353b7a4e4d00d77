"""The features page in headless Chromium: a drawing comes in, edges are chosen, and an exact part goes out."""

# ruff: noqa: F811 (fixtures of the other page's tests)

from pathlib import Path
from typing import Any

import pytest

from jobs.store import Run
from tests.ui.conftest import CHROMIUM
from tests.ui.test_browser import PATIENCE, address, browser, download, page, root  # noqa: F401
from tests.ui.test_pde_browser import NAMELESS, WORKER, quiet  # noqa: F401
from topopt.cad.dxf_read import read_dxf

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt install chromium"),
]
ASSETS = Path(__file__).parents[2] / "assets"


def choose(page: Any, label: str, words: str) -> None:
    """Type into a list of edges until one is left, and take it."""
    field = page.get_by_label(label, exact=True)
    field.click()
    field.press_sequentially(words)
    page.wait_for_selector(f"[role=option]:has-text('{words}')")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")


def test_from_a_drawing_to_an_exact_part(quiet: Any, address: str, root: Path, tmp_path: Path) -> None:
    page = quiet
    page.goto(f"{address}/features")
    page.wait_for_selector(".checks .good")
    page.get_by_label("My outline", exact=True).check()
    page.wait_for_selector(".checks .missing:has-text('upload a DXF drawing')")
    wrong = tmp_path / "wrong.dxf"
    wrong.write_text("no drawing")
    page.set_input_files("#upload input[type=file]", str(wrong))
    page.wait_for_selector("#outline-note [role=alert]")
    page.get_by_label("Remove this file").or_(page.get_by_label("Clear")).first.click()
    page.set_input_files("#upload input[type=file]", str(ASSETS / "outlines" / "lever.dxf"))
    page.wait_for_selector("#outline-note:has-text('lever.dxf: one face')")
    page.wait_for_selector(".sketch.outline[aria-label='Outline with 13 numbered edges']")
    page.wait_for_selector(".checks .missing:has-text('Supports: choose the edges')")
    choose(page, "Held in all directions", "hole d9, at (12, 14)")
    page.wait_for_selector(".checks .missing:has-text('Loads: choose edges')")
    choose(page, "Held in all directions", "hole d9, at (12, 56)")
    choose(page, "Load 1, acts on", "hole d16")
    page.wait_for_selector(".checks .missing:has-text('Load 1: both parts')")
    page.get_by_label("Load 1 along y [N]").fill("-500")
    page.get_by_label("Element size [mm]").fill("2.5")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('2 edges or holes held, 1 load in 1 case')")
    page.wait_for_selector(".checks .good:has-text('triangles of 2.50 mm')")
    assert page.evaluate(NAMELESS) == []
    assert page.locator(".sketch.outline path[style*='--support']").count() == 2
    page.get_by_text("Advanced").click()
    page.get_by_label("Most iterations").fill("12")
    page.keyboard.press("Tab")
    page.locator("#run").click()
    page.wait_for_selector("#results", timeout=WORKER)
    run = Run(root / page.url.partition("run=")[2])
    result = run.result()
    assert result and result["sound"] and result["thickness"] == 6
    (part,) = read_dxf(download(page, "DXF", tmp_path))
    full = read_dxf(ASSETS / "outlines" / "lever.dxf")[0]
    assert part.area == pytest.approx(result["outline_volume"] * full.area, rel=1e-9)
    # The bolt holes and the bore are where they were, to the last digit.
    bores = {tuple(round(v, 9) for v in (*hole.bounds[0], *hole.bounds[1])) for hole in full.holes}
    assert bores <= {tuple(round(v, 9) for v in (*hole.bounds[0], *hole.bounds[1])) for hole in part.holes}


def test_a_face_of_a_body_is_chosen(quiet: Any, address: str) -> None:
    page = quiet
    page.goto(f"{address}/features")
    page.wait_for_selector(".checks .good")
    page.get_by_label("My outline", exact=True).check()
    page.set_input_files("#upload input[type=file]", str(ASSETS / "parts" / "bracket.step"))
    page.wait_for_selector("#outline-note:has-text('bracket.step: 10 faces')")
    page.wait_for_selector(".panel-title:has-text('looks along −z, 120 × 80 mm, 4 holes')")
    page.get_by_label("Face to design in, the largest first").click()
    page.get_by_role("option", name="looks along +z").first.click()
    page.wait_for_selector(".panel-title:has-text('looks along +z, 70 × 80 mm, 0 holes')")
    assert page.get_by_label("Thickness [mm]").input_value() == "60"
