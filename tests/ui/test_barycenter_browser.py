"""The page for barycenters in headless Chromium: upload, weigh, solve, take the files home."""

# ruff: noqa: F811 (fixtures of the other page's tests)

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from jobs.store import Run
from tests.ui.conftest import CHROMIUM
from tests.ui.test_browser import address, browser, download, page, root  # noqa: F401

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt install chromium"),
]
WORKER = 240_000  # ms, for the real worker on a machine that is busy


def opened(page: Any, address: str) -> Any:
    page.goto(f"{address}/barycenter")
    page.wait_for_selector("#preview-picture")
    return page


def drawn(folder: Path, name: str, rows: slice, columns: slice) -> Path:
    """A black bar on white, 64 pixels a side."""
    grey = np.full((64, 64), 255, np.uint8)
    grey[rows, columns] = 0
    Image.fromarray(grey).save(folder / f"{name}.png")
    return folder / f"{name}.png"


def test_from_pictures_to_the_barycenter(page: Any, address: str, root: Path, tmp_path: Path) -> None:
    opened(page, address)
    for name in ("Ring", "Star", "Cross"):
        page.get_by_label(name, exact=True).uncheck()
    page.wait_for_selector(".checks .missing:has-text('two images at least')")
    left = drawn(tmp_path, "left", slice(24, 40), slice(8, 16))
    right = drawn(tmp_path, "right", slice(24, 40), slice(40, 48))
    (tmp_path / "wrong.png").write_bytes(b"GIF89a")
    page.locator("#upload input[type=file]").set_input_files([left, tmp_path / "wrong.png", right])
    page.wait_for_selector("#image-note .run-error:has-text('wrong.png is not what its name says')")
    page.get_by_label("Dark is mass").check()
    page.locator("#weight-2 input[type=number]").fill("1")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('33.3 %, 66.7 %')")
    page.get_by_label("256", exact=True).check()
    page.locator("#run").click()
    page.wait_for_selector("#results", timeout=WORKER)
    run_id = page.url.partition("run=")[2]
    assert run_id.startswith("barycenter-") and page.locator(".badge").inner_text() == "succeeded"
    job = Run(root / run_id).config.read_text()
    assert "invert: true" in job and "size: 256" in job and str(tmp_path) not in job and ".images" not in job
    density = np.load(download(page, "NPY", tmp_path))
    # Two bars of one shape: the barycenter is that bar, two thirds of the way from the left one to the right one.
    assert density.shape == (256, 256)
    place = (np.arange(256) + 0.5) / 4 @ density.sum(axis=1) / density.sum()
    assert place == pytest.approx(12 / 3 + 2 * 44 / 3, abs=0.05)
    picture = Image.open(download(page, "PNG", tmp_path))
    assert picture.size == (256, 256) and np.asarray(picture).max() == 65535
    page.wait_for_function("document.querySelector('#result-picture').naturalWidth === 256")
    assert page.locator("form-view").count() == 0 or not page.locator("form-view").first.is_visible()
    # The other page shows the run as well, and lists it.
    page.get_by_role("link", name="Structure", exact=True).click()
    page.wait_for_selector(".checks .good")
    page.get_by_role("tab", name="All runs").click()
    page.get_by_text("barycenter", exact=False).last.click()
    page.wait_for_selector("#result-picture")
    assert page.url == f"{address}/?run={run_id}"


def test_preview_follows_the_weights(page: Any, address: str) -> None:
    opened(page, address)
    picture = page.locator("#preview-picture")
    before = picture.get_attribute("src")
    page.locator("#weight-3 input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('#preview-picture').src !== before", arg=before)
    assert page.locator("#weight-3 input[type=number]").input_value() == "0.51"
    page.locator("#drop-3").click()
    page.wait_for_selector(".inputs.n2")
    assert not page.get_by_label("Cross", exact=True).is_checked()
    page.get_by_label("Crescent", exact=True).check()
    page.wait_for_selector(".inputs.n3:has-text('crescent')")
    assert page.locator("#weight-3 input[type=number]").input_value() == "0.5"
