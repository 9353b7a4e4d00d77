"""What a family is about, from the docstrings of its own modules; nothing heavy is imported for it."""

import ast
from importlib.util import find_spec
from pathlib import Path


def family_story(name: str) -> str:
    """The recipe's own words, after those of the problem where the recipe states no equation."""
    recipe = _body(_docstring("operators", "recipes", name))
    problem = _docstring("pde", "problems", name) or _docstring("operators", "problems", name)
    equation = "" if "\n    min" in f"\n{recipe}" else _body(problem)
    return "\n\n".join(part for part in (equation, recipe) if part).replace("`", "")


def _docstring(package: str, *place: str) -> str:
    found = find_spec(package)
    folder = Path(*(found.submodule_search_locations or [])) if found else Path()
    file = folder.joinpath(*place).with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "" if file.is_file() else ""


def _body(text: str) -> str:
    """Without the first paragraph, which is a title."""
    return text.partition("\n\n")[2].strip("\n")
