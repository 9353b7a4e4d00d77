"""What the tests of batches share."""

import importlib.util
import sys
from pathlib import Path

import pytest

# Tests are imported one by one (importlib mode), so what they share is made known here.
_spec = importlib.util.spec_from_file_location("batches", Path(__file__).with_name("batches.py"))
assert _spec and _spec.loader
batches = importlib.util.module_from_spec(_spec)
sys.modules["batches"] = batches
_spec.loader.exec_module(batches)


@pytest.fixture
def root(tmp_path):
    """A batch folder that is not there yet."""
    return tmp_path / "batch"
