"""The left side: which problem, its parameters, and how it is solved. Builds the form and reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from jobs.families import FAMILIES
from pde.problems import PROBLEMS, Parameter
from ui.pde.form import MOST, SAVES, START, about_parameters, parameters
from ui.pde.methods import FAMILY, choices, family_of, others, usual
from ui.plain import html, update
from ui.run_view.shown import QUIET
from ui.words import escape


@dataclass
class Setup:
    """Every input of the form, by name; the numbers of the chosen problem apart, in its order."""

    fields: dict[str, Any] = field(default_factory=dict)
    numbers: list[Any] = field(default_factory=list)
    about: Any = None
    loop: Any = None

    @property
    def inputs(self) -> list[Any]:
        return [*self.fields.values(), *self.numbers]

    def read(self, form: Mapping[Any, Any]) -> dict[str, Any]:
        """Component values -> the plain form that `ui.pde.form` understands."""
        values = {name: form[component] for name, component in self.fields.items()}
        keys = parameters(values["problem"])
        values["parameters"] = {key: form[number] for key, number in zip(keys, self.numbers, strict=False)}
        of_family = {name: values.pop(f"family_{name}") for name in METHODS}
        return {**values, **(of_family if family_of(values["problem"]) else {})}


METHODS = ("method", "second")  # fields that families have of their own


def build(setup: Setup) -> None:
    """Draw the form into the page that is being built."""
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="problem-block"):
        f["problem"] = gr.Radio(_problems(), value=START, label="Problem", elem_id="problem")
    with gr.Column(elem_classes="block-card", elem_id="parameters"):
        html('<div class="card-head"><h2>Parameters</h2></div>')
        with gr.Row(elem_classes="tight"):
            setup.numbers += [gr.Number(min_width=110, **told) for told in _fields(START)]
        setup.about = html(_about(START))
    with gr.Column(elem_classes="block-card", elem_id="method-block"):
        f["method"] = _dropdown("Method", choices(False), usual(START)[0], "method")
        f["family_method"] = _dropdown("Method", choices(True), "hybrid_corrected", "family-method", visible=False)
        f["compare"] = gr.Checkbox(False, label="Compare with a second method", elem_id="compare")
        f["second"] = _dropdown("Second method", others(False), usual(START)[1], "second", visible=False)
        f["family_second"] = _dropdown("Second method", others(True), "solver_only", "family-second", visible=False)
    with gr.Accordion("Advanced", open=False, elem_id="advanced"):
        f["name"] = gr.Textbox("", label="Name of the run", placeholder="that of the problem", elem_id="job-name")
        with gr.Row(elem_classes="tight") as setup.loop:
            f["max_iterations"] = gr.Number(
                0, label="Most iterations, 0: the problem's own", min_width=150, elem_id="iterations"
            )
            f["checkpoint_every"] = gr.Number(SAVES, label="Iterations between saves", min_width=150)


def wire_form(setup: Setup) -> None:
    """The fields follow the problem, and the second method its tick."""
    f = setup.fields

    def on_problem(name: str, ticked: bool) -> list[Any]:
        family, (first, second) = family_of(name) is not None, usual(name)
        methods = [_shown(not family, not family, first), _shown(family, family, first)]
        numbers = [gr.Number(**told) for told in _fields(name)]
        return [*numbers, update(_about(name)), *methods, *_seconds(family, ticked, second), gr.Row(visible=not family)]

    def on_compare(name: str, ticked: bool) -> list[Any]:
        return _seconds(family_of(name) is not None, ticked, usual(name)[1])

    asked, seconds = [f["problem"], f["compare"]], [f["second"], f["family_second"]]
    changed = [*setup.numbers, setup.about, f["method"], f["family_method"], *seconds, setup.loop]
    f["problem"].change(on_problem, asked, changed, **QUIET)
    f["compare"].change(on_compare, asked, seconds, **QUIET)


def _seconds(family: bool, ticked: bool, usual: str) -> list[Any]:
    """The fields of the second method of problems and of families: one of them is shown once it is asked for."""
    return [_shown(ticked and not family, not family, usual), _shown(ticked and family, family, usual)]


def _shown(visible: bool, own: bool, usual: str) -> gr.Dropdown:
    """A list of methods, shown or not; own: it is that of the problem, and begins with the usual one."""
    return gr.Dropdown(visible=visible, value=usual) if own else gr.Dropdown(visible=visible)


def _dropdown(label: str, methods: Mapping[str, str], value: str, place: str, visible: bool = True) -> gr.Dropdown:
    pairs = [(words, name) for name, words in methods.items()]
    return gr.Dropdown(pairs, value=value, label=label, elem_id=place, visible=visible)


def _problems() -> list[tuple[str, str]]:
    """Label and value of the shipped problems, then of the families."""
    shipped = [(f"{problem.number} · {problem.title}", name) for name, problem in PROBLEMS.items()]
    return shipped + [(f"Family · {title[:1].upper()}{title[1:]}", name + FAMILY) for name, title in FAMILIES.items()]


def _fields(name: str) -> list[dict[str, Any]]:
    """What the fields of numbers show for a problem; the rest of them is hidden."""
    told = [
        {"value": p.default, "label": p.name.replace("_", " ") if family_of(name) else p.name, "step": _step(p)}
        for p in parameters(name).values()
    ]
    shown = [{**each, "visible": True} for each in told]
    return shown + [{"value": None, "label": "", "step": 1, "visible": False}] * (MOST - len(told))


def _step(parameter: Parameter) -> float:
    """Of the arrow keys."""
    return 1 if parameter.kind is int else abs(parameter.default) / 10


def _about(name: str) -> str:
    return f'<p class="quiet facts">{escape(about_parameters(name))}</p>'
