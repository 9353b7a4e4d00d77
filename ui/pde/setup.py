"""The left side: which problem, its parameters, and how it is solved. Builds the form and reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from pde.problems import PROBLEMS, Parameter
from ui.pde.form import CHOICES, MOST, SAVES, START, about_parameters
from ui.plain import html, update
from ui.run_view.shown import QUIET
from ui.words import escape


@dataclass
class Setup:
    """Every input of the form, by name; the numbers of the chosen problem apart, in its order."""

    fields: dict[str, Any] = field(default_factory=dict)
    numbers: list[Any] = field(default_factory=list)
    about: Any = None

    @property
    def inputs(self) -> list[Any]:
        return [*self.fields.values(), *self.numbers]

    def read(self, form: Mapping[Any, Any]) -> dict[str, Any]:
        """Component values -> the plain form that `ui.pde.form` understands."""
        values = {name: form[component] for name, component in self.fields.items()}
        keys = PROBLEMS[values["problem"]].parameters
        values["parameters"] = {key: form[number] for key, number in zip(keys, self.numbers, strict=False)}
        return values


def build(setup: Setup) -> None:
    """Draw the form into the page that is being built."""
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="problem-block"):
        f["problem"] = gr.Radio(
            [(f"{shipped.number} · {shipped.title}", name) for name, shipped in PROBLEMS.items()],
            value=START,
            label="Problem",
            elem_id="problem",
        )
    with gr.Column(elem_classes="block-card", elem_id="parameters"):
        html('<div class="card-head"><h2>Parameters</h2></div>')
        with gr.Row(elem_classes="tight"):
            setup.numbers += [gr.Number(min_width=110, **told) for told in _fields(START)]
        setup.about = html(_about(START))
    with gr.Column(elem_classes="block-card", elem_id="method-block"):
        f["method"] = gr.Dropdown(
            [(words, name) for name, words in CHOICES.items()], value="", label="Method", elem_id="method"
        )
    with gr.Accordion("Advanced", open=False, elem_id="advanced"):
        f["name"] = gr.Textbox("", label="Name of the run", placeholder="that of the problem", elem_id="job-name")
        with gr.Row(elem_classes="tight"):
            f["max_iterations"] = gr.Number(
                0, label="Most iterations, 0: the problem's own", min_width=150, elem_id="iterations"
            )
            f["checkpoint_every"] = gr.Number(SAVES, label="Iterations between saves", min_width=150)


def wire_form(setup: Setup) -> None:
    """The fields follow the problem."""

    def on_problem(name: str) -> list[Any]:
        return [*(gr.Number(**told) for told in _fields(name)), update(_about(name))]

    problem = setup.fields["problem"]
    problem.change(on_problem, problem, [*setup.numbers, setup.about], **QUIET)


def _fields(name: str) -> list[dict[str, Any]]:
    """What the fields of numbers show for a problem; the rest of them is hidden."""
    told = [
        {"value": p.default, "label": p.name, "step": _step(p), "visible": True}
        for p in PROBLEMS[name].parameters.values()
    ]
    return told + [{"value": None, "label": "", "step": 1, "visible": False}] * (MOST - len(told))


def _step(parameter: Parameter) -> float:
    """Of the arrow keys."""
    return 1 if parameter.kind is int else abs(parameter.default) / 10


def _about(name: str) -> str:
    return f'<p class="quiet facts">{escape(about_parameters(name))}</p>'
