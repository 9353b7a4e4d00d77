"""The tabs that show one run and all runs: read from the run folder every other second, stopped and resumed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from jobs.errors import JobError, RunFolderError
from jobs.launch import spawn
from jobs.runner import open_run
from ui import runs
from ui.plain import html, update
from ui.run_view import watch

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}  # of events
FAST, SLOW = 2.0, 10.0  # seconds between looks at the run folder: at work, at rest


class Shown:
    """The tabs that show one run and all runs."""

    def __init__(self, root: Path, tabs: gr.Tabs) -> None:
        self.root, self.tabs = root, tabs
        with gr.Tab("Run", id="run"):
            with gr.Column(elem_id="watch-head"):
                self.state = html(watch.state(None))
                with gr.Row(elem_id="watch-buttons"):
                    self.stop = gr.Button("Stop", visible=False, elem_id="stop")
                    self.resume = gr.Button("Resume", visible=False, elem_id="resume")
            with gr.Row(elem_id="watch-body"):
                with gr.Column(scale=6, min_width=300):
                    html('<form-view id="watch-view" style="--view-height:412px"></form-view>')
                    self.picture = html("", elem_id="watch-picture")
                with gr.Column(scale=5, min_width=300):
                    self.plot = html(watch.plot(None))
            self.results = html("", elem_id="result-block")
            with gr.Accordion("Log", open=False, elem_id="log-block"):
                self.log = html(watch.log(None))
        with gr.Tab("All runs", id="history"):
            self.history = gr.Radio([], label="Newest first; choose one to open it", elem_classes="run-list")

    def remember(self) -> None:
        """What the browser holds: the id of the run, the stamp of the last look, the clock."""
        self.run_id = gr.Textbox("", visible="hidden", label="Run id", elem_id="run-id")
        self.stamp = gr.State("")
        self.timer = gr.Timer(FAST)

    @property
    def outputs(self) -> list[Any]:
        seen = [self.state, self.picture, self.plot, self.results, self.log]
        return [*seen, self.stop, self.resume, self.timer, self.stamp]

    def unchanged(self) -> list[Any]:
        """Leave all of `outputs` as they are."""
        return [gr.skip()] * len(self.outputs)

    def look(self, run_id: str, stamp: str) -> list[Any]:
        """What has changed since the look that left `stamp`."""
        if not run_id:
            return [*self.unchanged()[:-2], gr.Timer(SLOW), ""]
        try:
            run = runs.view(self.root, run_id)
        except RunFolderError as error:
            return [
                watch.state(None, str(error)),
                update(""),
                watch.plot(None),
                update(""),
                watch.log(None),
                *_buttons(None),
                gr.Timer(SLOW),
                "",
            ]
        mark = f"{run_id} {run.stamp}"
        if mark == stamp:
            return self.unchanged()
        pace = gr.Timer(FAST if any(each.active for each in run.pair or (run,)) else SLOW)
        return [
            watch.state(run),
            update(watch.picture(run)),
            watch.plot(run),
            update(watch.results(run)),
            watch.log(run),
            *_buttons(run),
            pace,
            mark,
        ]

    def list(self, run_id: str) -> Any:
        """The list of runs, newest first."""
        entries = runs.history(self.root)
        choices = [(watch.history_label(e.name, e.state, e.started, _other(e.kind)), e.id) for e in entries]
        known = run_id if any(e.id == run_id for e in entries) else None
        return gr.Radio(choices=choices, value=known, label=_history_title(len(entries)))


def _other(kind: str) -> str:
    """Kinds of jobs are named where they are not the usual one."""
    return "" if kind == "structure" else kind


def _history_title(count: int) -> str:
    return "Newest first; choose one to open it" if count else "No runs yet"


def _buttons(run: runs.RunView | None) -> list[Any]:
    shown = () if run is None else run.pair or (run,)
    stoppable = any(each.active and not each.stopping for each in shown)
    return [gr.Button(visible=stoppable), gr.Button(visible=bool(_resumable(shown)))]


def _resumable(shown: Sequence[runs.RunView]) -> list[runs.RunView]:
    """Those that can go on; none while one of them is at work."""
    if any(each.active for each in shown):
        return []
    return [each for each in shown if each.state in ("stopped", "failed") and each.result is None]


def wire_watch(page: gr.Blocks, shown: Shown) -> None:
    """Open, poll, stop and resume."""

    def load(request: gr.Request) -> list[Any]:
        run_id = str(request.query_params.get("run") or "")
        if not run_id:
            run_id = next((e.id for e in runs.history(shown.root) if e.state in runs.ACTIVE), "")
        chosen = gr.Tabs(selected="run") if run_id else gr.skip()
        return [run_id, chosen, *shown.look(run_id, ""), shown.list(run_id)]

    def open_chosen(run_id: str | None) -> list[Any]:
        return [run_id or "", gr.Tabs(selected="run"), *shown.look(run_id or "", "")]

    def stop(run_id: str) -> list[Any]:
        try:
            run = runs.view(shown.root, run_id)
            for each in run.pair or (run,):
                if each.active:
                    runs.find_run(shown.root, each.id).request_stop()
        except RunFolderError as error:
            gr.Warning(str(error))
        return shown.look(run_id, "")

    def resume(run_id: str) -> list[Any]:
        try:
            run = runs.view(shown.root, run_id)
            wanted = _resumable(run.pair or (run,))
            going_on = [open_run(runs.find_run(shown.root, each.id).folder)[1] for each in wanted]
            for each in going_on:
                each.set_status("queued", "start", "waiting for a worker", pid=0)
            if going_on:
                spawn(*going_on)
        except (RunFolderError, JobError) as error:
            gr.Warning(str(error))
        return shown.look(run_id, "")

    page.load(load, None, [shown.run_id, shown.tabs, *shown.outputs, shown.history], **QUIET)
    shown.timer.tick(shown.look, [shown.run_id, shown.stamp], shown.outputs, **QUIET)
    shown.history.input(open_chosen, shown.history, [shown.run_id, shown.tabs, *shown.outputs], **QUIET)
    shown.tabs.select(shown.list, shown.run_id, shown.history, **QUIET)
    shown.stop.click(stop, shown.run_id, shown.outputs, **QUIET)
    shown.resume.click(resume, shown.run_id, shown.outputs, **QUIET)
