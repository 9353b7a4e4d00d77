"""The server without a browser: what it hands over, and what it does not."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from jobs.store import Run
from tests.ui.conftest import make_run, serve
from tests.ui.test_form import BASE
from ui.serve import main

RUN_ID = "beam-20260101-120000"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("place") / "runs"
    make_run(root)
    return root


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    yield from serve(root)


def test_artifacts_come_as_attachments(address: str, root: Path) -> None:
    answer = httpx.get(f"{address}/runs/{RUN_ID}/files/part.stl")
    assert answer.status_code == 200
    assert answer.content == (Run(root / RUN_ID).artifacts / "part.stl").read_bytes()
    assert answer.headers["content-disposition"] == f'attachment; filename="{RUN_ID}-part.stl"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "attachment" in httpx.get(f"{address}/runs/{RUN_ID}/files/report.html").headers["content-disposition"]
    assert "preset" in httpx.get(f"{address}/runs/{RUN_ID}/job.yaml").text
    assert httpx.get(f"{address}/runs/{RUN_ID}/progress.csv").text.splitlines()[1].startswith("1,10.0")


@pytest.mark.parametrize(
    "path",
    [
        f"/runs/{RUN_ID}/files/unlisted.txt",
        f"/runs/{RUN_ID}/files/..%2Fconfig.yaml",
        f"/runs/{RUN_ID}/files/%2e%2e%2fstatus.json",
        f"/runs/{RUN_ID}/files/../status.json",
        f"/runs/{RUN_ID}/files/PART.STL",
        f"/runs/{RUN_ID}/files//etc/passwd",
        f"/runs/{RUN_ID}/status.json",
        "/runs/../../etc/passwd",
        "/runs/%2e%2e/job.yaml",
        "/runs/..%5c..%5c/job.yaml",
        "/runs/.bodies/job.yaml",
        "/bodies/%2e%2e/about.json",
        f"/bodies/{'0' * 32}/body.glb",
        "/formgrad/..%2Fserve.py",
        "/formgrad/serve.py",
    ],
)
def test_nothing_else_is_handed_over(address: str, path: str) -> None:
    # A raw request: clients tidy paths up before they send them.
    host, port = address.removeprefix("http://").split(":")
    import http.client

    connection = http.client.HTTPConnection(host, int(port))
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 404, answer.read()[:200]


@pytest.mark.parametrize("form", ["{}", "file={}", "../{}", "file/{}", "FILE={}"])
def test_run_folders_are_not_in_the_file_route_of_gradio(address: str, root: Path, form: str) -> None:
    secret = root / RUN_ID / "config.yaml"
    for place in (secret, str(secret).upper(), f"{root}/x/../{RUN_ID}/config.yaml"):
        answer = httpx.get(f"{address}/gradio_api/file={form.format(place)}")
        assert answer.status_code in (403, 404) and "preset" not in answer.text


def test_every_answer_has_the_headers_of_a_closed_page(address: str) -> None:
    for path in ("/", f"/runs/{RUN_ID}/job.yaml", "/formgrad/page.js", "/runs/nothing/job.yaml"):
        headers = httpx.get(address + path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def test_another_host_name_is_not_answered(address: str) -> None:
    assert httpx.get(address, headers={"Host": "evil.example"}).status_code == 400


def test_page_of_another_origin_cannot_call(address: str) -> None:
    answer = httpx.get(f"{address}/config", headers={"Origin": "http://evil.example"})
    assert answer.headers.get("access-control-allow-origin") not in ("*", "http://evil.example", "null")


def test_upload_above_50_mb_is_refused(address: str) -> None:
    large = {"files": ("large.stl", b"\0" * 51_000_001)}
    answer = httpx.post(f"{address}/gradio_api/upload", files=large, timeout=60)
    assert answer.status_code == 413


def test_nothing_can_be_called_by_name(address: str) -> None:
    info = httpx.get(f"{address}/gradio_api/info").json()
    assert info == {"named_endpoints": {}, "unnamed_endpoints": {}}


def test_other_machines_are_let_in_only_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--host", "0.0.0.0"]) == 2
    assert "--let-others-in" in capsys.readouterr().err


def test_form_has_the_fields_that_the_job_needs() -> None:
    import gradio as gr

    from ui.structure import setup

    form = setup.Setup()
    with gr.Blocks(analytics_enabled=False):
        setup.build(form)
    values = form.read({component: component.value for component in form.inputs})
    assert set(values) == set(BASE)
    assert all(set(row) == {"face", "kind", "x", "y", "z", "case"} for row in values["loads"])
    assert [len(values[name]) for name in ("supports", "loads", "keeps")] == [1, 1, 1]
