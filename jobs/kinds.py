"""The kinds of jobs: one row each, with the places where its model, its template and its printed result live.

The places are names, so that a job of one kind never loads what another kind needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.job import Job
    from jobs.observer import Observer
    from jobs.store import Run
    from jobs.templates import Template


@dataclass(frozen=True)
class Kind:
    """One kind.

    Attributes:
        spec, template, printed: "module:name" of the pydantic model, of the template, and of the function
            `(result, run)` that shows a result on the command line.
        working, ready: what it does while it iterates, and what is there at the end, for a person.
        hidden: for tests of the job layer; not named to users.
    """

    spec: str
    template: str
    printed: str
    working: str
    ready: str
    hidden: bool = False

    def model(self) -> "type[Job]":
        return _named(self.spec)

    def begin(self, job: "Job", run: "Run", observer: "Observer") -> "Template":
        return _named(self.template)(job, run, observer)

    def printer(self) -> "Callable[[dict[str, Any], Run], None]":
        return _named(self.printed)


KINDS = {
    "structure": Kind(
        spec="jobs.structure_spec:StructureJob",
        template="jobs.templates.structure:Structure",
        printed="jobs.screen:print_structure",
        working="finding the form",
        ready="the part is ready",
    ),
    "barycenter": Kind(
        spec="jobs.barycenter_spec:BarycenterJob",
        template="jobs.templates.barycenter:BarycenterRun",
        printed="jobs.screen:print_barycenter",
        working="moving the measures together",
        ready="the barycenter is ready",
    ),
    "features": Kind(
        spec="jobs.features_spec:FeaturesJob",
        template="jobs.templates.features:FeaturesRun",
        printed="jobs.screen:print_features",
        working="moving the features",
        ready="the part is ready",
    ),
    "pde": Kind(
        spec="jobs.pde_spec:PdeJob",
        template="jobs.templates.pde_ranks:PdeTogether",
        printed="jobs.screen:print_pde",
        working="searching for the optimum",
        ready="the design is ready",
    ),
    "hybrid": Kind(
        spec="jobs.hybrid_spec:HybridJob",
        template="jobs.templates.hybrid:HybridRun",
        printed="jobs.screen:print_hybrid",
        working="solving where it matters",
        ready="the best solved design is ready",
    ),
    "operator_data": Kind(
        spec="jobs.operator_data_spec:OperatorDataJob",
        template="jobs.templates.operator_data:OperatorData",
        printed="jobs.operator_screen:print_data",
        working="recording runs",
        ready="the runs are there",
    ),
    "operator_train": Kind(
        spec="jobs.operator_train_spec:OperatorTrainJob",
        template="jobs.templates.operator_train:OperatorTrain",
        printed="jobs.operator_screen:print_training",
        working="training",
        ready="the operator is trained",
    ),
    "probe": Kind(
        spec="jobs.batch.probe:ProbeJob",
        template="jobs.batch.probe:Probe",
        printed="jobs.batch.probe:print_probe",
        working="counting",
        ready="the probe has run",
        hidden=True,
    ),
}


def _named(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)
