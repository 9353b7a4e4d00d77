"""The page about time-dependent problems: its program runs, and its code is the program's."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_code_on_the_page_is_code_of_the_program():
    lines = {line.strip() for line in (DOCS / "heating.py").read_text().splitlines()}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "time.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 8
    for block in blocks[:-1]:  # the last one is about a shipped problem
        for line in block.strip().splitlines():
            assert line.strip() in lines, line


@pytest.mark.fem
@pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]")
def test_program_heats_and_draws(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("heating_page", DOCS / "heating.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    found = page.main(n=5, steps=30, picture=tmp_path / "heating.png")
    assert found["heated"] < 0.02 * found["cold"]
    assert found["largest"] == 1.0  # the bound is active
    assert (tmp_path / "heating.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert "derivative: right; Hessian action: right" in said
    assert said.count("True") == 3
    assert "steps again" in said
