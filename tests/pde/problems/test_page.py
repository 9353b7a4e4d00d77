"""The page about PDE-constrained design: its program runs, and its code is the program's."""

import importlib.util
import re
import textwrap
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_code_on_the_page_is_code_of_the_program():
    program = textwrap.dedent((DOCS / "pdeco.py").read_text())
    lines = {line.strip() for line in program.splitlines()}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "pdeco.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 7
    for block in blocks[:-1]:  # the last one is about the shipped problems
        for line in block.strip().splitlines():
            assert line.strip() in lines, line


@pytest.fixture
def program():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    spec = importlib.util.spec_from_file_location("pdeco_page", DOCS / "pdeco.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return page


@pytest.mark.fem
def test_program_designs_and_draws(program, tmp_path, capsys):
    found = program.main(n=12, picture=tmp_path / "plate.png")
    assert found["designed"] < 0.15 * found["uniform"]
    assert found["used"] <= 0.4 * (1 + 1e-6)
    assert (tmp_path / "plate.png").stat().st_size > 10_000
    assert "derivative: right; Hessian action: right" in capsys.readouterr().out


@pytest.mark.fem
@pytest.mark.slow
def test_program_prints_what_the_page_shows(program, tmp_path, capsys):
    program.main(picture=tmp_path / "plate.png")
    said, shown = (
        [line.split() for line in text.splitlines() if line.endswith(" iterations)")]
        for text in (capsys.readouterr().out, (DOCS / "pdeco.md").read_text())
    )
    assert len(said) == len(shown) == 1
    for here, there in zip(said[0], shown[0], strict=True):
        numbers = [word.strip("(,") for word in (here, there)]
        if numbers[0][0].isdigit():
            # Five digits of the objective; MMA's count follows rounding, which is another on another machine.
            within = 1e-3 if "e" in numbers[0] else 0.05
            assert float(numbers[0]) == pytest.approx(float(numbers[1]), rel=within)
        else:
            assert here == there
