"""The pictures of the pages in docs/images: before, during and after a run, a barycenter, a plate with voids, PDEs.

    python docs/screenshots.py [--only structure barycenter features features-outline pde compare]

Starts the page on a free port with an empty folder of runs, states the sample bracket, and lets the real worker run;
then the barycenter of four samples, a plate whose voids are features, a problem of PDE-constrained optimisation, and
two methods side by side.
Needs Chromium and playwright, and some minutes.
"""

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader"]
FLAGS += ["--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking", "--disable-sync"]
WIDTH, HEIGHT = 1440, 900
LOADED = "Load 1, acts on"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voxels", default="60000", help="inside the bracket")
    parser.add_argument("--only", choices=PAGES, nargs="+", default=PAGES, help="some of the pages; default, all")
    parser.add_argument("--out", type=Path, default=HERE / "images")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("screenshots: no Chromium on this machine; install it first", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs, _page_server(Path(runs)) as address:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(120_000)
            if "structure" in options.only:
                page.goto(address)
                _before(page, options.voxels, options.out / "page-before.png")
                _during(page, options.out / "page-during.png")
                _after(page, options.out / "page-after.png")
            for name, take in FURTHER.items():
                if name in options.only:
                    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
                    page.goto(f"{address}/{ADDRESSES.get(name, name)}")
                    take(page, options.out / f"page-{name}.png")
            browser.close()
    return 0


def _before(page: Any, voxels: str, picture: Path) -> None:
    page.wait_for_selector(".checks .good")
    page.get_by_label("My part").check()
    page.get_by_label("Sample part").click()
    page.get_by_role("option", name="bracket").click()
    page.wait_for_selector(".checks .good:has-text('force')")
    page.get_by_label("Voxels in the body").fill(voxels)
    page.wait_for_selector(f".checks .good:has-text('{int(voxels):,}')".replace(",", "\u2009"))
    page.locator("#left").evaluate("left => left.scrollTo(0, 0)")
    _settle(page)
    page.screenshot(path=picture)


def _during(page: Any, picture: Path) -> None:
    page.locator("#run").click()
    page.wait_for_function("document.querySelectorAll('.reading').length >= 24", timeout=900_000)
    page.locator("#left").evaluate("left => left.scrollTo(0, 0)")
    _settle(page)
    page.screenshot(path=picture)


def _after(page: Any, picture: Path) -> None:
    page.wait_for_selector("#results", timeout=1_800_000)
    _settle(page)
    # As tall as what there is to see, so that one picture shows all of it.
    tall = page.locator("#right").evaluate("right => right.scrollHeight + right.getBoundingClientRect().top")
    page.set_viewport_size({"width": WIDTH, "height": round(tall)})
    _settle(page)
    page.screenshot(path=picture)


def _barycenter(page: Any, picture: Path) -> None:
    page.wait_for_selector("#preview-picture")
    page.get_by_label("Two discs", exact=True).check()
    page.wait_for_selector(".inputs.n4")
    page.locator("#weight-2 input[type=number]").fill("0.2")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('11.8 %')")
    page.locator("#run").click()
    page.wait_for_selector("#results", timeout=600_000)
    _after(page, picture)


def _features(page: Any, picture: Path) -> None:
    page.wait_for_selector(".checks .good")
    page.get_by_label("My plate", exact=True).check()
    page.wait_for_selector(".checks .good:has-text('Held at')")
    page.get_by_label("Element size [mm]").fill("2")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('of 2.00 mm')")
    page.locator("#run").click()
    page.wait_for_selector("#results", timeout=1_800_000)
    _after(page, picture)


def _outline(page: Any, picture: Path) -> None:
    page.wait_for_selector(".checks .good")
    page.get_by_label("My outline", exact=True).check()
    page.set_input_files("#upload input[type=file]", str(HERE.parent / "assets" / "outlines" / "lever.dxf"))
    page.wait_for_selector(".sketch.outline")
    for place, edge in (
        ("Held in all directions", "(12, 14)"),
        ("Held in all directions", "(12, 56)"),
        (LOADED, "d16"),
    ):
        field = page.get_by_label(place, exact=True)
        field.click()
        field.press_sequentially(edge)
        page.wait_for_selector(f"[role=option]:has-text('{edge}')")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
    page.get_by_label("Load 1 along y [N]").fill("-500")
    page.keyboard.press("Tab")
    page.wait_for_selector(".checks .good:has-text('1 load in 1 case')")
    page.locator("#own-supports").scroll_into_view_if_needed()
    _settle(page)
    page.screenshot(path=picture)


def _pde(page: Any, picture: Path) -> None:
    page.wait_for_selector(".checks .good")
    page.get_by_label("B5b ·").check()
    page.wait_for_selector(".checks .good:has-text('double_pipe')")
    page.locator("#run").click()
    page.wait_for_selector(".badge")
    page.wait_for_selector("#results", timeout=1_800_000)
    _after(page, picture)


def _compare(page: Any, picture: Path) -> None:
    page.wait_for_selector(".checks .good")
    page.get_by_label("Family · Log-permeability").check()
    page.wait_for_selector(".checks .good:has-text('Family inversion')")
    page.get_by_label("Compare with a second method").check()
    page.wait_for_selector(".checks .good:has-text('Compared with: Solver alone')")
    page.locator("#run").click()
    page.wait_for_function("document.querySelectorAll('.badge.succeeded').length === 2", timeout=900_000)
    page.wait_for_selector("#results.pair")
    page.get_by_label("Family · Log-permeability").scroll_into_view_if_needed()
    _after(page, picture)


FURTHER = {
    "barycenter": _barycenter,
    "features": _features,
    "features-outline": _outline,
    "pde": _pde,
    "compare": _compare,
}
ADDRESSES = {"features-outline": "features", "compare": "pde"}
PAGES = ("structure", *FURTHER)


def _settle(page: Any) -> None:
    """Let pictures load and notices fade."""
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(2500)


@contextmanager
def _page_server(runs: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "app.py", "--port", str(port), "--runs", str(runs)]
    server = subprocess.Popen(command, cwd=HERE.parent)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(3000):
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    sys.exit(main())
