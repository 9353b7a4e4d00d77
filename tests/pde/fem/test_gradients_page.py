"""The page about gradients: its program runs and finds what the page says, and its code is the program's."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_code_on_the_page_is_code_of_the_program():
    lines = {line.strip() for line in (DOCS / "gradients.py").read_text().splitlines()}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "gradients.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 5
    for block in blocks[:-1]:  # the last one names the bridges
        for line in block.strip().splitlines():
            assert line.strip() in lines, line


@pytest.mark.fem
def test_bridges_named_on_the_page_exist():
    from pde.fem.bridges import jax_function, jax_state, torch_function, torch_state

    assert all(callable(f) for f in (jax_function, jax_state, torch_function, torch_state))


@pytest.mark.fem
@pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]")
def test_program_finds_what_the_page_says(capsys):
    spec = importlib.util.spec_from_file_location("gradients_page", DOCS / "gradients.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    found = page.main(n=4)
    assert found["rate"] > 1.95
    assert (found["right"], found["wrong"], found["same"], found["refused"]) == (1, 0, 1, 1)
    assert found["asymmetry"] < 1e-10
    assert found["covector"] > 10  # two halvings of the mesh, sixteen times smaller areas
    assert found["representative"] == pytest.approx(1, abs=0.01)
    printed = capsys.readouterr().out
    assert "derivative: right; Hessian action: right" in printed
    assert "derivative: WRONG" in printed
