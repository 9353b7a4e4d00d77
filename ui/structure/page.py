"""The page: puts the form, the problem, the run and the history together and wires their events.

Handlers read folders, write a job and start a worker; none of them computes. What the browser knows of a run is its id.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from jobs.errors import JobError, RunFolderError
from jobs.launch import spawn, start
from jobs.runner import open_run
from topopt.errors import DesignError
from ui import bodies, runs
from ui.structure import presets, problem, setup, watch
from ui.structure.form import checked_job, findings
from ui.structure.plain import html, update
from ui.structure.tables import filled, outputs
from ui.words import escape

FAST, SLOW = 2.0, 10.0  # seconds between looks at the run folder: at work, at rest
LOGO = (
    '<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linejoin="round" '
    'stroke-linecap="round" aria-hidden="true"><path d="M4 6v20M4 8l24 8L4 24M4 8l12 12 M4 24l12-12"/></svg>'
)
TOP = (
    f'<div class="top-bar">{LOGO}<h1>Formgrad</h1>'
    '<p class="quiet">From supports, loads and material to a part that can be made</p>'
    '<button type="button" id="theme-switch">Light / dark</button></div>'
)


def build(root: Path) -> gr.Blocks:
    """The page over the runs under `root`."""
    form = setup.Setup()
    with gr.Blocks(title="Formgrad", analytics_enabled=False, delete_cache=(3600, 86400), fill_width=True) as page:
        html(TOP, elem_id="top")
        with gr.Row(elem_id="board"):
            with gr.Column(elem_id="left"):
                setup.build(form)
                with gr.Column(elem_id="run-bar"):
                    error = html("", elem_id="run-error")
                    run_button = gr.Button("Run", variant="primary", elem_id="run")
            with gr.Column(elem_id="right"):
                with gr.Tabs(selected="problem") as tabs:
                    asked = _Asked(form, root)
                    shown = _Shown(root, tabs)
                shown.remember()
        _wire_form(page, form, root, asked)
        _wire_run(form, root, run_button, error, shown)
        _wire_watch(page, shown)
    return page


class _Asked:
    """The tab that shows the problem."""

    def __init__(self, form: setup.Setup, root: Path) -> None:
        self.form, self.root = form, root
        name = setup.START["preset"]
        with gr.Tab("Problem", id="problem"), gr.Column(elem_classes="problem"):
            self.sketch = html(problem.preset_stage(name, False))
            with gr.Column(visible=False) as self.body:
                html('<form-view id="body-view" style="--view-height:380px"></form-view>')
                self.source = html(problem.body_source(None, {}), elem_id="body-source")
                self.faces = html("")
            self.checks = html("")
            with gr.Accordion("The same on the command line and in Python", open=False, elem_id="command-line"):
                self.job = gr.Code("", language="yaml", label="job.yaml", interactive=False, show_label=False)

    @property
    def outputs(self) -> list[Any]:
        return [self.sketch, self.source, self.checks, self.job]

    def look(self, values: Mapping[Any, Any]) -> list[Any]:
        """Everything that follows from the form."""
        form = self.form.read(values)
        card = bodies.body_card(self.root, form["body_id"])
        part = form["source"] == "part"
        return [
            update(problem.preset_stage(form["preset"], part)),
            problem.body_source(card, form) if part else gr.skip(),
            update(problem.check_list(findings(form, card))),
            problem.job_text(form, card),
        ]


class _Shown:
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
        return [self.state, self.plot, self.results, self.log, self.stop, self.resume, self.timer, self.stamp]

    def look(self, run_id: str, stamp: str) -> list[Any]:
        """What has changed since the look that left `stamp`."""
        if not run_id:
            return [gr.skip()] * 6 + [gr.Timer(SLOW), ""]
        try:
            run = runs.view(self.root, run_id)
        except RunFolderError as error:
            return [
                watch.state(None, str(error)),
                watch.plot(None),
                "",
                watch.log(None),
                *_buttons(None),
                gr.Timer(SLOW),
                "",
            ]
        mark = f"{run_id} {run.stamp}"
        if mark == stamp:
            return [gr.skip()] * 8
        pace = gr.Timer(FAST if run.active else SLOW)
        return [
            watch.state(run),
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
        choices = [(watch.history_label(e.name, e.state, e.started), e.id) for e in entries]
        known = run_id if any(e.id == run_id for e in entries) else None
        return gr.Radio(choices=choices, value=known, label=_history_title(len(entries)))


def _history_title(count: int) -> str:
    return "Newest first; choose one to open it" if count else "No runs yet"


def _buttons(run: runs.RunView | None) -> list[Any]:
    resumable = run is not None and run.state in ("stopped", "failed") and run.result is None
    return [gr.Button(visible=run is not None and run.active), gr.Button(visible=resumable)]


def _wire_form(page: gr.Blocks, form: setup.Setup, root: Path, asked: _Asked) -> None:
    f, blocks = form.fields, form.blocks

    def on_preset(name: str) -> list[Any]:
        numbers = list(presets.sizes(name).items())
        fields = [
            gr.Number(value=numbers[k][1], label=setup.size_label(numbers[k][0]), visible=True)
            if k < len(numbers)
            else gr.Number(value=None, visible=False)
            for k in range(setup.SIZE_FIELDS)
        ]
        words = presets.choice(name)
        option = (
            gr.Dropdown(words[1], value=words[1][0], visible=True)
            if words
            else gr.Dropdown([""], value="", visible=False)
        )
        return [*fields, option, round(100 * presets.volume(name))]

    def on_source(source: str, amount: str) -> list[Any]:
        part = source == "part"
        shown = [gr.Column(visible=not part), *(gr.Column(visible=part) for _ in range(4))]
        by_mass = part and amount == "mass"
        return [
            *shown,
            gr.Column(visible=part),
            gr.Slider(visible=not by_mass),
            gr.Number(visible=by_mass),
            gr.Textbox(visible=part),
            gr.Number(visible=not part),
        ]

    def admit(path: Path | None, units: str, sample: str = "") -> list[Any]:
        if path is None:
            return ["", update(""), update(""), *filled(form.tables, None)]
        try:
            card = bodies.admit(root, path, setup.UNITS[units] or None)
        except (DesignError, OSError) as error:
            note = f'<p class="run-error" role="alert">{escape(error)}</p>'
            return ["", update(note), update(""), *filled(form.tables, None)]
        note = f'<p class="quiet">{escape(card.summary)}</p>'
        return [
            card.id,
            update(note),
            update(problem.face_list(card)),
            *filled(form.tables, card, setup.sample_job(sample)),
        ]

    def on_upload(path: str | None, units: str) -> list[Any]:
        return admit(Path(path) if path else None, units)

    def on_sample(name: str) -> list[Any]:
        known = {path.stem: path for path in setup.SAMPLES.glob("*.step")}
        return admit(known.get(name), "as the file says", name)

    f["preset"].change(
        on_preset, f["preset"], [*form.sizes, f["choice"], f["volume_percent"]], api_visibility="private"
    )
    for source in (f["source"], f["amount"]):
        source.change(
            on_source,
            [f["source"], f["amount"]],
            [
                *(blocks[name] for name in ("preset", "part", "conditions", "material", "resolution")),
                asked.body,
                f["volume_percent"],
                f["mass_kg"],
                f["preserve"],
                f["thickness"],
            ],
            api_visibility="private",
        )
    taken = [f["body_id"], blocks["body_note"], asked.faces, *outputs(form.tables)]
    blocks["upload"].upload(on_upload, [blocks["upload"], blocks["units"]], taken, api_visibility="private")
    blocks["units"].input(on_upload, [blocks["upload"], blocks["units"]], taken, api_visibility="private")
    blocks["upload"].clear(lambda: admit(None, ""), None, taken, api_visibility="private")
    blocks["sample"].input(on_sample, blocks["sample"], taken, api_visibility="private")
    f["material"].change(setup.material_note, f["material"], blocks["material_note"], api_visibility="private")
    for table in form.tables.values():
        _wire_table(table)
    page.load(asked.look, set(form.inputs), asked.outputs, show_progress="hidden", api_visibility="private")
    gr.on(
        [c.change for c in form.inputs],
        asked.look,
        set(form.inputs),
        asked.outputs,
        trigger_mode="always_last",
        show_progress="hidden",
        api_visibility="private",
    )


def _wire_table(table: setup.Table) -> None:
    def add(shown: list[bool]) -> list[Any]:
        free = next((k for k, on in enumerate(shown) if not on), None)
        shown = [on or k == free for k, on in enumerate(shown)]
        return [shown, *(gr.Row(visible=on) for on in shown)]

    table.add.click(add, table.shown, [table.shown, *table.rows], show_progress="hidden", api_visibility="private")
    for number, cells in enumerate(table.cells):

        def drop(shown: list[bool], number: int = number) -> list[Any]:
            shown = [on and k != number for k, on in enumerate(shown)]
            return [shown, gr.Row(visible=False), ""]

        cells["drop"].click(
            drop,
            table.shown,
            [table.shown, table.rows[number], cells["face"]],
            show_progress="hidden",
            api_visibility="private",
        )


def _wire_run(form: setup.Setup, root: Path, button: gr.Button, error: gr.HTML, shown: _Shown) -> None:
    def run(values: Mapping[Any, Any]) -> list[Any]:
        asked = form.read(values)
        try:
            job = checked_job(asked, bodies.body_card(root, asked["body_id"]))
            started = start(job, root)
        except (JobError, DesignError, RunFolderError) as problem_found:
            told = f'<p class="run-error" role="alert">{escape(problem_found)}</p>'
            return [update(told), gr.skip(), gr.skip(), *([gr.skip()] * 8)]
        run_id = started.folder.name
        return [update(""), run_id, gr.Tabs(selected="run"), *shown.look(run_id, "")]

    button.click(
        run,
        set(form.inputs),
        [error, shown.run_id, shown.tabs, *shown.outputs],
        show_progress="hidden",
        api_visibility="private",
    )


def _wire_watch(page: gr.Blocks, shown: _Shown) -> None:
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
            runs.find_run(shown.root, run_id).request_stop()
        except RunFolderError as error:
            gr.Warning(str(error))
        return shown.look(run_id, "")

    def resume(run_id: str) -> list[Any]:
        try:
            _, run = open_run(runs.find_run(shown.root, run_id).folder)
            run.set_status("queued", "start", "waiting for a worker", pid=0)
            spawn(run)
        except (RunFolderError, JobError) as error:
            gr.Warning(str(error))
        return shown.look(run_id, "")

    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    page.load(load, None, [shown.run_id, shown.tabs, *shown.outputs, shown.history], **quiet)
    shown.timer.tick(shown.look, [shown.run_id, shown.stamp], shown.outputs, **quiet)
    shown.history.input(open_chosen, shown.history, [shown.run_id, shown.tabs, *shown.outputs], **quiet)
    shown.tabs.select(shown.list, shown.run_id, shown.history, **quiet)
    shown.stop.click(stop, shown.run_id, shown.outputs, **quiet)
    shown.resume.click(resume, shown.run_id, shown.outputs, **quiet)
