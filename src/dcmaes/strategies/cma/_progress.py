"""How a run is getting on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dcmaes.strategies._protocol import Evaluations


@dataclass(frozen=True)
class Progress:
    """How a run and the restarts before it have gone, in numbers.

    Attributes
    ----------
    generation : int
        Generations of this run.
    best : tuple of two floats
        Violation and value of the best point of this run; smaller is better.
    idle : int
        Evaluations paid for since this run last improved.
    n_free : int
        Generations in a row in which every point drawn was known already.
    run : int
        Number of restarts before this run.
    evaluations : int
        Evaluations paid for in this run.
    budgets : tuple of two ints
        Evaluations spent in runs of growing and of small populations before this run.
    """

    generation: int = 0
    best: tuple[float, float] = (math.inf, math.inf)
    idle: int = 0
    n_free: int = 0
    run: int = 0
    evaluations: int = 0
    budgets: tuple[int, int] = (0, 0)

    def advance(self, told: Evaluations, best: int) -> Progress:
        """Return the progress after a population whose best point is in row `best`."""
        n_paid = len(told) - int(told.is_repeat.sum())
        found = told.level(best)
        is_better = found < self.best
        return Progress(
            generation=self.generation + 1,
            best=found if is_better else self.best,
            idle=0 if is_better else self.idle + n_paid,
            n_free=0 if n_paid else self.n_free + 1,
            run=self.run,
            evaluations=self.evaluations + n_paid,
            budgets=self.budgets,
        )
