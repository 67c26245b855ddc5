"""What the strategy has learned, frozen."""

from __future__ import annotations

from dataclasses import dataclass

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._credit import Credit

# Who proposes the points of a batch: regressions on the objectives, Gaussian processes of them, a population.
MODEL, PROCESS, POPULATION = 0, 1, 2


@dataclass(frozen=True, eq=False)
class FrontState:
    """State of the `front` strategy.

    Attributes
    ----------
    sites : Sites
        The space.
    variances : array of shape (m + 1, 7)
        Hyper-parameters of the regression on each objective, and on violations, by component.
    n_unfitted, n_fits, n_seen : int
        Evaluations since the variances were last refitted, refits in all, evaluations told in all.
    scales : array of shape (m, f + 2)
        Hyper-parameters of the Gaussian process of each objective.
    n_fitted : int
        Evaluations when they were last refitted.
    turn : int
        Who proposes points now: MODEL, PROCESS or POPULATION.
    credit : Credit
        What the points of each have added to the hypervolume lately, in units of the front.
    """

    sites: Sites
    variances: FloatArray
    n_unfitted: int
    n_fits: int
    n_seen: int
    scales: FloatArray
    n_fitted: int
    turn: int
    credit: Credit
