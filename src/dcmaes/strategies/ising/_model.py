"""What the strategy has learned, and the way from evaluations to a model of their values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Component, FeatureMap, Regression
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._cliff import find_cliff
from dcmaes.strategies.ising._constants import (
    DOUBT_IN_ERRORS,
    LARGEST_BARRIER_NOISE,
    LOW_SHARES,
    MEMORY,
    PATIENCE,
    PATIENCE_BY_FEATURE,
    SMALLEST_CHOICES,
    WIDTH_IN_GAPS,
)
from dcmaes.strategies.ising._neighbourhood import Neighbourhood, improved
from dcmaes.strategies.ising._plateau import Blame


@dataclass(frozen=True, eq=False)
class IsingState:
    """State of the `ising` strategy.

    Attributes
    ----------
    sites : Sites
        The space.
    centre : array of shape (d,)
        The best point of this run (under noise: by prediction), the origin of the features.
    level : Rank
        That of the centre; infinite before the first results of a run.
    width : array of shape (d,)
        How far each numeric site looks, as a fraction of its range.
    reach : float
        How many choices proposals have lately changed.
    blame : Blame
        Which sites must not change, learned from ties.
    variances : array of shape (7,)
        Hyper-parameters of the regression, by component.
    barrier_variances : array of shape (7,)
        Those of the regression on how far points are beyond the constraints, or a cliff.
    cliff : str
        What tells how far points are beyond a cliff: VALUES, SURPRISES or SIDES; empty if there is none.
    low_share : int
        Which of `LOW_SHARES` says what values count as low.
    window : int
        Largest number of evaluations in a regression.
    n_fitted, n_fits, idle, run : int
        Evaluations in the memory when the variances were last refitted, refits in all, evaluations since this
        run last improved, restarts before this run.
    """

    sites: Sites
    centre: FloatArray
    level: Rank
    width: FloatArray
    reach: float
    blame: Blame
    variances: FloatArray
    barrier_variances: FloatArray
    cliff: str
    low_share: int
    window: int
    n_fitted: int
    n_fits: int
    idle: int
    run: int

    @cached_property
    def feature_map(self) -> FeatureMap:
        """Features relative to the centre."""
        gap = np.where(self.sites.is_numeric, self.sites.spacing(self.sites.coordinate(self.centre)), 0.0)
        return FeatureMap(self.sites, self.centre, np.maximum(self.width, WIDTH_IN_GAPS * gap))

    @property
    def patience(self) -> int:
        """After how many evaluations without improvement a run is over."""
        return PATIENCE + PATIENCE_BY_FEATURE * self.feature_map.n_features


@dataclass(frozen=True, eq=False)
class Fit:
    """What the evaluations nearest to the centre say, given the variances of a state.

    Attributes
    ----------
    used : Neighbourhood
        These evaluations, with labels: those beyond constraints or a cliff, if the barrier tells which.
    values : Regression
        On the values of the others.
    limit : Regression or None
        On how far points are beyond the constraints or a cliff; None if few or none are.
    barrier : Regression or None
        The same if it tells which points are beyond.
    """

    used: Neighbourhood
    values: Regression
    limit: Regression | None
    barrier: Regression | None


def model(state: IsingState, memory: Memory) -> Fit:
    """Return what the memory says, the same object while both are the same."""
    told, known = memory.recall(MEMORY), state.__dict__.get("_model")
    if known is None or known[0] is not told:
        known = told, fit(state, around(state, memory))
        state.__dict__["_model"] = known  # as a cached property does
    found: Fit = known[1]
    return found


def around(state: IsingState, memory: Memory) -> Neighbourhood:
    """Return the evaluations nearest to the centre, with the constraints as labels."""
    told = memory.recall(MEMORY)
    return Neighbourhood.around(state.feature_map, told, state.reach, state.window, memory.deviation)


def fit(state: IsingState, near: Neighbourhood) -> Fit:
    """Return the regressions on evaluations near the centre."""
    used, limit = labelled(state, near)
    values = used.regression(LOW_SHARES[state.low_share], state.variances)
    return Fit(used, values, limit, limit if _is_barrier(state) else None)


def labelled(state: IsingState, near: Neighbourhood) -> tuple[Neighbourhood, Regression | None]:
    """Return evaluations with what is beyond a cliff labelled as well, and the regression on how far.

    From here on only excess counts. If no regression tells who is beyond, nobody is: rises have penalties.
    """
    found = find_cliff(near, LOW_SHARES[state.low_share], state.variances) if state.cliff else None
    used = near if found is None else found[0].labelled(near, state.cliff)
    limit = used.limit(state.barrier_variances)
    return (used if limit is not None and _is_barrier(state) else used.penalized), limit


def _is_barrier(state: IsingState) -> bool:
    """Tell whether the regression on violations explains them; with a cliff, that was judged before."""
    return bool(state.cliff) or bool(state.barrier_variances[Component.NOISE] <= LARGEST_BARRIER_NOISE)


def refined(state: IsingState, near: Neighbourhood) -> IsingState:
    """Return the state with variances of higher likelihood, one step further."""
    found = fit(state, near)
    variances = improved(found.values).variances
    least = SMALLEST_CHOICES * variances[Component.RADIAL]
    variances[Component.CHOICES] = max(variances[Component.CHOICES], least)
    if found.limit is None:
        return replace(state, variances=variances)
    return replace(state, variances=variances, barrier_variances=improved(found.limit).variances)


def foresight(state: IsingState, near: Neighbourhood) -> float:
    """Return how well the regression predicts values that were left out (Q9)."""
    used, _ = labelled(state, near)
    return used.foresight(LOW_SHARES[state.low_share], state.variances)


def best_of(told: Evaluations, deviation: float) -> tuple[FloatArray, Rank] | None:
    """Return the best point of all runs, with its violation and value; None without evaluations."""
    if len(told) == 0:
        return None
    # Under noise the best one is that with the lowest mean beyond doubt: (Q17)
    doubt = DOUBT_IN_ERRORS * deviation / np.sqrt(told.count)
    best = int(np.lexsort((told.value + doubt, told.violation))[0])
    return told.x[best], told.rank(best)
