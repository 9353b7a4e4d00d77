"""What a problem or a family is about, as the page shows it."""

from jobs.families import FAMILIES
from jobs.family_story import family_story
from pde.problems import PROBLEMS
from ui.pde.maths import story_html
from ui.pde.methods import family_of
from ui.words import escape


def story(problem: str) -> str:
    """A problem's question, its equation, and its known answer; a family's, and how an operator sees it."""
    family = family_of(problem)
    if family is None:
        shipped = PROBLEMS[problem]
        return _panel(shipped.number, shipped.title, shipped.story)
    title = FAMILIES[family]
    return _panel("Family", f"{title[:1].upper()}{title[1:]}", family_story(family))


def _panel(number: str, title: str, text: str) -> str:
    return (
        f'<div class="panel story"><h2><span class="quiet">{escape(number)}</span> {escape(title)}</h2>'
        f"{story_html(text)}</div>"
    )
