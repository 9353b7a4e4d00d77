"""Files of runs and bodies, by our own routes: listed names only, and always as attachments."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse

from jobs.errors import RunFolderError
from jobs.store import Run
from ui.bodies import BODY_FILES, find_body
from ui.downloads import artifact, progress_csv
from ui.runs import find_run, look_file

ASSETS = Path(__file__).with_name("assets")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    # Gradio's own front end evaluates templates and inline styles; everything else must come from this server.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'self'",
}


# A drawing may style itself and nothing else, even where somebody opens it as a page.
DRAWING = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


def add_routes(app: FastAPI, root: Path) -> None:
    """Routes under /runs, /bodies and /formgrad, and the headers of every answer."""

    @app.middleware("http")
    async def headers(request: Request, call_next: Any) -> Response:
        response = await call_next(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.get("/formgrad/{name}")
    def asset(name: str) -> Response:
        if name not in {path.name for path in ASSETS.iterdir()}:
            raise HTTPException(404)
        return FileResponse(ASSETS / name, headers={"Cache-Control": "no-cache"})

    @app.get("/runs/{run_id}/preview.glb")
    def preview(run_id: str) -> Response:
        return _file(_run(root, run_id).preview, "preview.glb")

    @app.get("/runs/{run_id}/job.yaml")
    def job(run_id: str) -> Response:
        return _file(_run(root, run_id).config, "job.yaml")

    @app.get("/runs/{run_id}/progress.csv")
    def progress(run_id: str) -> Response:
        about = {"Content-Disposition": f'attachment; filename="{run_id}-progress.csv"', "Cache-Control": "no-store"}
        return Response(progress_csv(_run(root, run_id)), media_type="text/csv", headers=about)

    @app.get("/runs/{run_id}/files/{name}")
    def run_file(run_id: str, name: str) -> Response:
        return _file(artifact(_run(root, run_id), name), f"{run_id}-{name}")

    @app.get("/runs/{run_id}/looks/{name}")
    def look(run_id: str, name: str) -> Response:
        return _file(look_file(_run(root, run_id), name), name)

    @app.get("/bodies/{body_id}/{name}")
    def body_file(body_id: str, name: str) -> Response:
        folder = find_body(root, body_id)
        return _file(folder / name if folder and name in BODY_FILES else None, name)


def _run(root: Path, run_id: str) -> Run:
    try:
        return find_run(root, run_id)
    except RunFolderError as error:
        raise HTTPException(404) from error


def _file(path: Path | None, name: str) -> Response:
    if path is None or not path.is_file():
        raise HTTPException(404)
    about = {"Cache-Control": "no-store", **(DRAWING if path.suffix == ".svg" else {})}
    return FileResponse(path, filename=name, content_disposition_type="attachment", headers=about)
