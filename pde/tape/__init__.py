"""Long computations gone through backwards: checkpointed adjoints of any chain of steps.

    from pde.tape import Budget, Tape, keep_all, revolve

    tape = Tape(steps=1000, schedule=revolve(20))      # or keep_all("disk"), or Budget(memory=2**30, offload="disk")
    last = tape.record(chain, first)
    bar_first = tape.reverse(chain, bar_last)

A chain is any object with `step` and `pull` (`pde.tape.tape.Chain`); `pde.tape.torch_chain` makes one from a torch
function, `pde.fem.transient` from a time-dependent PDE.
"""

from pde.tape.errors import TapeError
from pde.tape.planner import Budget, Plan, Timing, plan
from pde.tape.schedule import Schedule, actions, keep_all, least_steps, repeated_steps, revolve
from pde.tape.tape import Chain, Tape

__all__ = [
    "Budget",
    "Chain",
    "Plan",
    "Schedule",
    "Tape",
    "TapeError",
    "Timing",
    "actions",
    "keep_all",
    "least_steps",
    "plan",
    "repeated_steps",
    "revolve",
]
