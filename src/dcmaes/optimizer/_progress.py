"""Progress in plain lines."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from dcmaes.optimizer._optimizer import Optimizer

_N_LINES = 10
_SECONDS = 10.0


class ProgressLines:
    """A callback that writes a line at every tenth of the budget, and after 10 seconds without one.

    Parameters
    ----------
    stream : text stream or None
        Where to write; None is standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._begun = self._last = time.monotonic()
        self._n_tenths = 0

    def __call__(self, optimizer: Optimizer) -> None:
        """Write a line if it is time for one."""
        n_tenths = optimizer.n_evaluations * _N_LINES // optimizer.budget
        now = time.monotonic()
        if n_tenths > self._n_tenths or now - self._last >= _SECONDS:
            self._n_tenths, self._last = n_tenths, now
            self.write(describe_progress(optimizer, now - self._begun))

    def write(self, line: str) -> None:
        """Write a line at once."""
        print(line, file=self._stream or sys.stderr, flush=True)


def describe_progress(optimizer: Optimizer, seconds: float) -> str:
    """Return how far a run is, in one line.

    >>> import dcmaes as dc
    >>> describe_progress(dc.Optimizer(dc.Space.binary(3), budget=300), 0.0)
    '    0/300  nothing found yet  (0.0 s)'
    """
    width = len(str(optimizer.budget)) + 2
    best = optimizer.best
    found = "nothing found yet" if best is None else f"best {best.value:.6g}"
    if best is not None and best.violation > 0.0:
        found += f", infeasible by {best.violation:.3g}"
    return f"{optimizer.n_evaluations:>{width}}/{optimizer.budget}  {found}  ({seconds:.1f} s)"
