"""The pages for PDE-constrained optimisation and for features in headless Chromium."""

# ruff: noqa: F811 (fixtures of the other page's tests)

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.store import Run
from tests.ui.conftest import CHROMIUM
from tests.ui.test_browser import address, browser, download, page, root  # noqa: F401
from tests.ui.test_features import made as features_run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt install chromium"),
]
WORKER = 240_000  # ms, for the real worker on a machine that is busy
NAMELESS = """() => [...document.querySelectorAll('#board input, #board select, #board textarea, #board button')]
    .filter(e => e.offsetParent && !e.labels?.length && !e.ariaLabel && !e.innerText && !e.title)
    .map(e => e.outerHTML.slice(0, 120))"""

OVERTAKING = """(() => {  // each of the next questions to the server waits .2 s less than the one before
    const fetch = window.fetch;
    window.lastAsked = 0;
    window.fetch = async (url, ...rest) => {
        if (String(url).includes('/queue/join')) {
            window.lastAsked = performance.now();
            if (window.overtaking > 0) await new Promise(done => setTimeout(done, 200 * window.overtaking--));
        }
        return fetch(url, ...rest);
    };
})()"""


@pytest.fixture
def quiet(page: Any) -> Iterator[Any]:
    """A page that fails its test if its console reported an error, a breach of the content policy among them."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    assert errors == []


@pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx")
def test_from_equation_to_optimum_by_keyboard(quiet: Any, address: str, root: Path, tmp_path: Path) -> None:
    page = quiet
    page.goto(f"{address}/pde")
    page.wait_for_selector(".checks .good")
    assert page.locator("pre.maths").inner_text().startswith("min   1/2 |u − d|² + α/2 |f|²   −Δu = f")
    assert page.evaluate(NAMELESS) == []
    # Down to the next problem and back again: fields and equation follow.
    page.get_by_label("B1 ·", exact=False).focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#story:has-text('−1/2 ≤ u ≤ 1/2')")
    page.get_by_label("degree", exact=True).wait_for(state="hidden")
    page.keyboard.press("ArrowUp")
    page.get_by_label("degree", exact=True).wait_for()
    page.get_by_label("n", exact=True).fill("0")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .missing:has-text('Parameter n of poisson_control is 0')")
    page.locator("#run").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#run-error [role=alert]:has-text('positive integer')")
    page.get_by_label("n", exact=True).fill("8")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('n = 8')")
    page.locator("#run").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#results", timeout=WORKER)
    run_id = page.url.partition("run=")[2]
    result = Run(root / run_id).result()
    assert result and page.locator(".badge").inner_text() == "succeeded"
    rows = page.locator("#results tbody tr").first.inner_text().split("\t")
    # J* = alpha c / 8 with c = 1 / (1 + 4 alpha pi^4), alpha = 1e-6; the coarse mesh misses it by some per cent.
    known = 1e-6 / (1 + 4e-6 * np.pi**4) / 8
    assert rows[0] == "Objective" and float(rows[1]) == pytest.approx(result["objective"], rel=1e-6)
    assert float(rows[2].partition(" (")[0]) == pytest.approx(known, rel=1e-6)
    assert page.locator(".plot .line.objective").count() == page.locator(".plot .line.kkt").count() == 1
    page.wait_for_function("document.querySelector('.picture-stage img').naturalWidth > 100")
    assert not page.locator("#watch-view").is_visible()
    control = np.load(download(page, "NPZ", tmp_path))
    assert len(control["x"]) == 128  # one value on each of 2 x 8 x 8 triangles


def test_answers_that_overtake_each_other_do_not_leave_an_older_one_on_the_page(quiet: Any, address: str) -> None:
    page = quiet
    page.add_init_script(OVERTAKING)
    page.goto(f"{address}/pde")
    page.wait_for_selector(".checks .good")
    page.evaluate("window.overtaking = 6")
    page.get_by_label("Family · Log-permeability").check()
    page.wait_for_selector(".checks .good:has-text('member = 120')")
    page.wait_for_function("window.overtaking <= 0 || performance.now() - window.lastAsked > 1000")
    page.wait_for_timeout(300)
    assert "member = 120, most forward = 200, tolerance = 0.001." in page.locator(".checks").inner_text()
    assert "Method: Hybrid" in page.locator(".checks").inner_text()


def test_two_methods_run_one_after_the_other_and_are_shown_side_by_side(quiet: Any, address: str, root: Path) -> None:
    page = quiet
    page.goto(f"{address}/pde")
    page.wait_for_selector(".checks .good")
    page.get_by_label("Family · Log-permeability").check()
    page.wait_for_selector(".checks .good:has-text('Family inversion')")
    page.wait_for_selector(".checks .good:has-text('Hybrid: the surrogate proposes, the solver checks')")
    assert page.locator("#story pre.maths").first.inner_text().startswith("min   1/2 |(u − u")
    page.get_by_label("Method", exact=True).click()
    page.get_by_role("option", name="Surrogate alone: one solve to see where it led").click()
    page.wait_for_selector(".checks .good:has-text('Method: Surrogate alone')")
    # Not to the end: a few solves are enough here, and soon there.
    page.get_by_label("most forward", exact=True).fill("6")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('most forward = 6')")
    assert not page.get_by_label("Second method", exact=True).is_visible()
    page.get_by_label("Compare with a second method").check()
    page.get_by_label("Second method", exact=True).wait_for()
    page.wait_for_selector(".checks .good:has-text('Compared with: Solver alone')")
    assert page.evaluate(NAMELESS) == []
    page.locator("#run").click()
    page.wait_for_function("document.querySelectorAll('.badge').length === 2", timeout=WORKER)
    page.wait_for_function("document.querySelectorAll('.badge.succeeded').length === 2", timeout=2 * WORKER)
    page.wait_for_selector("#results.pair")
    first = Run(root / page.url.partition("run=")[2])
    second = Run(root / json.loads((first.folder / "beside.json").read_text())["run"])
    ours, alone = first.result(), second.result()
    assert ours and alone and (ours["method"], alone["method"]) == ("surrogate_only", "solver_only")
    rows = dict(row.split("\t", 1) for row in page.locator("#results tbody tr").all_inner_texts())
    assert rows["Forward solves"] == "2\t6"
    believed, verified = (
        float(rows[name].split("\t")[0]) for name in ("Believed by the surrogate", "The same design, solved")
    )
    assert believed == pytest.approx(ours["believed"], rel=1e-7) and verified == pytest.approx(
        ours["verified"], rel=1e-7
    )
    assert [float(text) for text in rows["Objective, solved"].split("\t")] == pytest.approx(
        [ours["objective"], alone["objective"]], rel=1e-7
    )
    assert page.locator(".plot .line.first").count() == page.locator(".plot .line.second").count() == 2
    page.wait_for_function("[...document.querySelectorAll('.picture-stage img')].every(e => e.naturalWidth > 100)")
    boxes = [figure.bounding_box() for figure in page.locator(".picture-stage figure").all()]
    assert len(boxes) == 2 and boxes[0] and boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[1]["x"] > boxes[0]["x"] + 200
    # A comparison is found again from either of its runs.
    page.goto(f"{address}/pde?run={second.folder.name}")
    page.wait_for_selector("#results.pair")


def test_plate_is_stated_and_outlines_are_watched(quiet: Any, address: str, root: Path) -> None:
    page = quiet
    page.goto(f"{address}/features")
    page.wait_for_selector(".checks .good:has-text('MBB beam')")
    page.get_by_label("L-bracket", exact=True).check()
    page.wait_for_selector(".checks .good:has-text('34.5')")
    page.get_by_label("My plate", exact=True).check()
    page.wait_for_selector(".checks .good:has-text('7\u2009400 triangles')")
    page.get_by_label("Force along y [N]").fill("0")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .missing:has-text('both parts are zero')")
    assert page.evaluate(NAMELESS) == []
    run = features_run(root)
    run.folder.joinpath("looks", "outlines.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="30"><script>document.title="x"</script>'
        '<image href="http://elsewhere.example/a.png"/></svg>'
    )
    page.goto(f"{address}/features?run={run.folder.name}")
    page.wait_for_function("document.querySelector('.picture-stage img')?.naturalWidth === 60")
    assert page.title() == "Formgrad" and re.search("iteration 3$", page.locator("figcaption").inner_text())
