"""The page in headless Chromium: state a problem, run it, watch it, take the STL home; nothing leaves the machine."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trimesh

import jobs.launch
from jobs.store import Run
from tests.ui.conftest import CHROMIUM, QUIET_CHROMIUM, make_run, serve, spawn_fake
from ui.run_view import shown as shown_module

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt install chromium"),
]
PARTS = Path(__file__).parents[2] / "assets" / "parts"
BLANK = """canvas => {
  const empty = document.createElement("canvas");
  Object.assign(empty, { width: canvas.width, height: canvas.height });
  return empty.toDataURL();
}"""
PATIENCE = 60_000  # ms, for machines that are busy


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "runs"


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    yield from serve(root)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET_CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that fails its test if it asked anyone but this machine, or if its scripts broke."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    asked, broken = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: broken.append(str(error)))
    yield page
    context.close()
    strangers = [url for url in asked if not re.match(r"(http|ws)://127\.0\.0\.1:|data:|blob:", url)]
    assert len(asked) > 20 and strangers == [] and broken == []


@pytest.fixture
def fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.launch, "spawn", spawn_fake)
    monkeypatch.setattr(shown_module, "spawn", spawn_fake)


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector(".checks .good")
    return page


def download(page: Any, label: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("link", name=re.compile(f"^{label} ")).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@pytest.mark.usefixtures("fake_worker")
def test_from_problem_to_stl_by_keyboard(page: Any, address: str, tmp_path: Path) -> None:
    opened(page, address)
    page.get_by_label("Elements along x").fill("24")
    page.wait_for_function("document.querySelector('.checks').textContent.includes('Grid 24')")
    page.locator("#run").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".plot .line.compliance")
    page.wait_for_selector("#results")
    assert "run=cantilever_3d-" in page.url
    assert page.locator(".badge").inner_text() == "succeeded"
    assert "136.0" in page.locator("#results").inner_text()
    page.wait_for_selector("#announcer:has-text('succeeded')", state="attached")
    mesh = trimesh.load_mesh(download(page, "STL", tmp_path))
    assert mesh.is_watertight and mesh.volume == pytest.approx(60 * 16 * 12)


@pytest.mark.usefixtures("fake_worker")
def test_picture_is_drawn_and_turns(page: Any, address: str, root: Path) -> None:
    make_run(root, "shown-20260101-120000")
    page.goto(f"{address}/?run=shown-20260101-120000")
    page.wait_for_selector("#watch-view canvas[aria-label*='60 × 16 × 12 mm']")
    canvas = page.locator("#watch-view canvas")
    before = canvas.evaluate("c => c.toDataURL()")
    blank = canvas.evaluate(BLANK)
    assert before != blank
    canvas.focus()
    page.keyboard.press("ArrowRight")
    assert canvas.evaluate("c => c.toDataURL()") != before


@pytest.mark.usefixtures("fake_worker")
def test_run_outlives_the_browser_and_can_be_stopped(
    page: Any, browser: Any, address: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PAUSE", "0.7")
    first = opened(browser.new_page(), address)
    first.locator("#run").click()
    first.wait_for_selector(".badge.running")
    url = first.url
    first.close()
    page.goto(url)
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".badge.stopped")
    run = Run(root / url.partition("run=")[2])
    done = len(run.progress())
    assert 1 <= done < 12 and run.result() is None
    monkeypatch.setenv("FAKE_PAUSE", "0.05")
    page.get_by_role("button", name="Resume").click()
    page.wait_for_selector("#results")
    assert [row["iteration"] for row in run.progress()] == list(range(1, 13))


def test_history_reopens_a_run(page: Any, address: str, root: Path) -> None:
    make_run(root, "older-20250101-120000")
    opened(page, address)
    page.get_by_role("tab", name="All runs").click()
    page.get_by_text("older").first.click()
    page.wait_for_selector("#results")
    assert page.url.endswith("run=older-20250101-120000")


def test_unknown_run_is_one_sentence(page: Any, address: str) -> None:
    page.goto(f"{address}/?run=..%2F..%2Fetc")
    page.wait_for_selector(".message.failed")
    assert page.locator(".message.failed").inner_text() == (
        "that is not the name of a run: choose one from the list of runs"
    )


def test_part_is_uploaded_and_its_faces_are_chosen(page: Any, address: str) -> None:
    opened(page, address)
    page.get_by_label("My part").check()
    page.locator("#run").click()
    page.wait_for_selector("#run-error:has-text('No part yet')")
    page.locator("#upload input[type=file]").set_input_files(PARTS / "bracket.step")
    page.wait_for_selector("#body-view canvas[aria-label*='120 × 80 × 60 mm']")
    page.wait_for_selector(".faces li:has-text('hole d30')")
    for label, face in (("Support 1, face", "all 4 holes d10"), ("Load 1, face", "hole d30")):
        page.get_by_label(label, exact=True).click()
        page.get_by_role("option", name=face).first.click()
    page.get_by_label("Load 1, z", exact=True).fill("-2000")
    page.wait_for_selector(".checks .good:has-text('force (0, 0, -2000) N on hole d30')")
    assert page.locator(".checks .missing").count() == 0
    page.get_by_text("The same on the command line").click()
    page.wait_for_selector("#command-line :text('radius')")


def test_damaged_upload_is_one_sentence(page: Any, address: str, tmp_path: Path) -> None:
    (tmp_path / "bad.stl").write_bytes(b"solid nothing\nendsolid\n")
    opened(page, address)
    page.get_by_label("My part").check()
    page.locator("#upload input[type=file]").set_input_files(tmp_path / "bad.stl")
    page.wait_for_selector("#body-note .run-error")
    told = page.locator("#body-note .run-error").inner_text()
    assert "bad.stl" in told and "Traceback" not in told and len(told) < 400


@pytest.mark.slow
def test_real_worker_forms_a_watertight_part(page: Any, address: str, tmp_path: Path) -> None:
    opened(page, address)
    for axis, count in zip("xyz", ("24", "12", "6"), strict=True):
        page.get_by_label(f"Elements along {axis}").fill(count)
    page.locator("#run").click()
    page.wait_for_selector("#results", timeout=300_000)
    mesh = trimesh.load_mesh(download(page, "STL", tmp_path))
    # 30 % of 24 x 12 x 6 mm3, as the gate of the export demands.
    assert mesh.is_watertight and mesh.volume == pytest.approx(0.3 * 24 * 12 * 6, rel=2e-3)
    assert "watertight" in page.locator("#results").inner_text()
