"""The optimizer can be chosen in the job file."""

import pytest

from jobs.errors import JobError
from jobs.spec import parse_job
from jobs.store import Run
from jobs.templates.structure import Structure


class Silent:
    def phase(self, name, message):
        pass

    def iteration(self, row):
        pass


@pytest.mark.parametrize(("optimize", "method"), [({}, "oc"), ({"method": "mma"}, "mma")])
def test_method_reaches_the_design(tmp_path, optimize, method):
    job = parse_job({"preset": {"name": "mbb_beam", "options": {"nx": 12, "ny": 4}}, "optimize": optimize})
    template = Structure(job, Run(tmp_path), Silent())
    state = template.setup()
    assert template.design is not None and template.design.settings.method == method
    state, _ = template.step(state)
    assert bool(state.memory) == (method == "mma")


def test_an_unknown_method_is_refused():
    with pytest.raises(JobError, match=r"optimize\.method: .*'oc' or 'mma'"):
        parse_job({"preset": {"name": "mbb_beam"}, "optimize": {"method": "simplex"}})
