"""Equations as the docstrings of the problems write them, with the signs of mathematics."""

import re
from itertools import groupby

from ui.words import escape

SIGNS = {
    "alpha": "α", "gamma": "γ", "theta": "θ", "kappa": "κ", "sigma": "σ", "Omega": "Ω", "eps": "ε", "rho": "ρ",
    "psi": "ψ", "pi": "π", "nu": "ν", "mu": "μ", "int": "∫", "<=": "≤", ">=": "≥", "->": "→",
}  # fmt: skip
# `grad u`, `div(...)`, `Laplace y`: operators stand before what they act on.
OPERATORS = {"grad": "∇", "div": "∇·", "Laplace": "Δ"}
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
WORD = re.compile(r"<=|>=|->|(?<![A-Za-z])(?:" + "|".join(w for w in SIGNS if w.isalpha()) + r")(?![A-Za-z])")
OPERATOR = re.compile(r"(?<![A-Za-z])(grad|div|Laplace) ?(?=[A-Za-z(]\w?\b|\()")
GAP = 3  # blanks between two parts of a line, at least


def typeset(text: str) -> str:
    """`int alpha |grad u|^2 <= 1` -> `∫ α |∇u|² ≤ 1`; what stood in one column still does."""
    cells = [_cells(line) for line in text.split("\n")]
    lines = [""] * len(cells)
    for column in sorted({start for row in cells for start, _ in row}):
        with_it = [(k, part) for k, row in enumerate(cells) for start, part in row if start == column]
        place = max(len(lines[k]) + GAP * bool(lines[k]) for k, _ in with_it)
        for k, part in with_it:
            lines[k] = lines[k].ljust(place) + _signs(part)
    return "\n".join(lines)


def _cells(line: str) -> list[tuple[int, str]]:
    """Where the parts of a line begin, and what they are."""
    return [(found.start(), found[0]) for found in re.finditer(r"\S+(?: \S+)*", line)]


def _signs(text: str) -> str:
    # Operators first: the letter after `grad ` may be the end of a word that becomes a sign.
    text = OPERATOR.sub(lambda found: OPERATORS[found[1]], text)
    text = WORD.sub(lambda found: SIGNS[found[0]], text)
    text = re.sub(r"\^(-?\d+)", lambda found: found[1].translate(RAISED), text)
    text = re.sub(r"(?<=[A-Za-zα-ωΩ∫])_(\d)\b", lambda found: found[1].translate(LOWERED), text)
    return re.sub(r"(?<![\w^])-(?=[\dA-Za-zα-ωΔ∇(])|(?<= )-(?= )", "−", text)


def story_html(story: str) -> str:
    """Indented lines as equations, the others as paragraphs."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", story.strip("\n")):
        for indented, group in groupby(paragraph.split("\n"), key=lambda line: line.startswith("    ")):
            text = "\n".join(line[4:] if indented else line for line in group)
            if indented:
                parts.append(f'<pre class="maths" tabindex="0">{escape(typeset(text))}</pre>')
            else:
                parts.append(f"<p>{escape(_signs(text.replace(chr(10), ' ')))}</p>")
    return "".join(parts)
