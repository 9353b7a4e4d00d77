"""Start the page: on this machine only, without accounts, analytics, or anything from elsewhere."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

# Read by Gradio and its dependencies when they are imported: nothing asks the network for anything.
QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "GRADIO_SSR_MODE": "False",
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def main(arguments: Sequence[str] | None = None) -> int:
    """`python app.py [--port 7860] [--host 127.0.0.1] [--runs runs/]`. -> exit code"""
    options = _options(arguments)
    if options.host not in LOOPBACK and not options.let_others_in:
        print(
            f"app.py: --host {options.host} would let other machines start runs and read every part here, without a "
            "password; put a proxy with TLS and log-in in front of 127.0.0.1, or say --let-others-in",
            file=sys.stderr,
        )
        return 2
    import uvicorn

    app = application(options.runs, open_to_others=options.let_others_in, port=options.port, host=options.host)
    print(f"Formgrad is at http://{options.host}:{options.port}, runs are in {options.runs.resolve()}.", flush=True)
    print("Ctrl-C ends the page, not the runs.", flush=True)
    try:
        uvicorn.run(app, host=options.host, port=options.port, log_level="warning", timeout_graceful_shutdown=2)
    except OSError as error:
        print(
            f"app.py: cannot listen on {options.host}:{options.port}: {error.strerror}; choose another --port",
            file=sys.stderr,
        )
        return 2
    return 0


def application(root: Path, *, open_to_others: bool = False, port: int = 7860, host: str = "127.0.0.1") -> "FastAPI":
    """Our routes and the page in one application.

    Args:
        root: the folder of the runs; made if it is not there.
        open_to_others: answer under any host name, rather than under those of this machine only.
    """
    os.environ.update(QUIET)
    import gradio as gr
    from fastapi import FastAPI
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from ui import bodies, images, routes, theme
    from ui.barycenter import page as barycenter
    from ui.barycenter.setup import sample_css
    from ui.features import page as features
    from ui.features.sketches import task_css
    from ui.pde import page as pde
    from ui.structure import page as structure
    from ui.structure import presets
    from ui.top import pages as known

    root = root.resolve()
    root.mkdir(parents=True, exist_ok=True)
    bodies.forget_old(root)
    images.forget_old(root)
    app = FastAPI(title="Formgrad", docs_url=None, redoc_url=None, openapi_url=None)
    if not open_to_others:
        # A page elsewhere could name this machine by a DNS entry of its own; it is not answered.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"])
    routes.add_routes(app, root)
    pages = structure.build(root)
    further = {"Barycenter": barycenter.add, "PDE": pde.add, "Features": features.add}
    for name, add in further.items():
        if name in known():
            add(pages, root)
    # Gradio says so whenever there are several pages, even if nobody asked for rendering on the server.
    warnings.filterwarnings("ignore", "SSR mode is not supported with multi-page apps", UserWarning)
    return gr.mount_gradio_app(
        app,
        pages,
        path="/",
        server_name=host,
        server_port=port,
        footer_links=[],
        run_history=False,
        allowed_paths=[],
        blocked_paths=[str(root)],
        max_file_size=50_000_000,
        show_error=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        theme=theme.theme(),
        css=theme.css() + presets.card_css() + task_css() + sample_css(),
        head=theme.HEAD,
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="app.py", description="The web page of Formgrad, on this machine.")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine only")
    parser.add_argument(
        "--let-others-in",
        action="store_true",
        help="needed for any other --host: everyone who reaches the port can start runs and read all parts",
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs, default runs/")
    return parser.parse_args(arguments)
