"""What the strategy has learned, frozen."""

from __future__ import annotations

from dataclasses import dataclass

from dcmaes._validation import FloatArray
from dcmaes.space import Sites

# Who proposes the points of a batch.
MODEL, POPULATION = "model", "population"


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
    turn : str
        Who proposes points now: MODEL or POPULATION.
    gains, spent : tuples of two floats
        What the points of either have added to the hypervolume lately, in units of the front, and how many
        there were.
    due : float
        What share of a batch the population is owed.
    """

    sites: Sites
    variances: FloatArray
    n_unfitted: int
    n_fits: int
    n_seen: int
    turn: str
    gains: tuple[float, float]
    spent: tuple[float, float]
    due: float
