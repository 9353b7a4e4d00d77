"""A chain from a torch function: its steps are differentiated by torch, its memory is the tape's.

    chain = TorchChain(lambda n, s, m: s + dt * f(s, m), parameters=(m,))
    last = tape.record(chain, first)
    bar_first = tape.reverse(chain, bar_last)
    chain.grads                                            # (ds_l/dm)^T bar_last, for each parameter

The graph of one step at a time is in memory, whatever the number of steps.
"""

from collections.abc import Callable, Sequence
from typing import Any


class TorchChain:
    """Args: function, (n, s_n, *parameters) -> s_(n+1), of torch tensors. parameters, by which it is differentiated.

    Attributes: grads, one tensor per parameter; they add up over all that is pulled back. `clear` makes them zero.
    """

    def __init__(self, function: Callable[..., Any], parameters: Sequence[Any] = ()) -> None:
        self._function = function
        self._parameters = tuple(p.detach() for p in parameters)
        self.clear()

    def clear(self) -> None:
        import torch

        self.grads = tuple(torch.zeros_like(p) for p in self._parameters)

    def step(self, n: int, s: Any) -> Any:
        import torch

        with torch.no_grad():
            return self._function(n, s, *self._parameters)

    def pull(self, n: int, s: Any, s_next: Any, bar: Any) -> Any:
        import torch

        given = tuple(value.detach().requires_grad_() for value in (s, *self._parameters))
        with torch.enable_grad():
            out = self._function(n, *given)
        back, *grads = torch.autograd.grad(out, given, bar, allow_unused=True)
        for total, grad in zip(self.grads, grads, strict=True):
            if grad is not None:
                total += grad
        return torch.zeros_like(s) if back is None else back
