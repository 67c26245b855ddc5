"""Everything the strategy has learned, frozen."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import FeatureMap, Regression
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._cliff import find_cliff
from dcmaes.strategies.ising._constants import (
    DOUBT_IN_ERRORS,
    LOW_SHARES,
    MEMORY,
    PATIENCE,
    PATIENCE_BY_FEATURE,
    VAGUE,
    WIDTH_IN_GAPS,
)
from dcmaes.strategies.ising._plateau import Blame
from dcmaes.strategies.ising._relevance import Neighbourhood


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

    def given(self, memory: Memory) -> Posterior:
        """Return the state with the evaluations that its model is of: the same object while they are."""
        told, known = memory.recall(MEMORY), self.__dict__.get("_given")
        if known is None or known.memory is not told:
            learned = {part.name: getattr(self, part.name) for part in fields(IsingState)}
            known = Posterior(**learned, memory=told, deviation=memory.deviation)
            self.__dict__["_given"] = known  # as a cached property does
        return known


@dataclass(frozen=True, eq=False)
class Posterior(IsingState):
    """What was learned, together with the evaluations: what the model says of the values.

    Attributes
    ----------
    memory : Evaluations
        The evaluations that the model may use.
    deviation : float
        Standard deviation of one value at the same point; 0 while no noise was seen.
    """

    memory: Evaluations
    deviation: float

    @property
    def learned(self) -> IsingState:
        """The state alone."""
        return IsingState(**{part.name: getattr(self, part.name) for part in fields(IsingState)})

    @property
    def is_noisy(self) -> bool:
        """Whether some point was seen to have different values."""
        return self.deviation > 0

    @cached_property
    def around(self) -> Neighbourhood:
        """The evaluations nearest to the centre, those beyond the constraints or a cliff told apart."""
        around = Neighbourhood.around(self.feature_map, self.memory, self.reach, self.window, self.deviation)
        if not self.cliff:
            return around
        found = find_cliff(around, LOW_SHARES[self.low_share], self.variances)
        return around if found is None else found[0].told_apart(around, self.cliff)

    @cached_property
    def limit(self) -> Regression | None:
        """The regression on how far points are beyond the constraints or a cliff; None if few or none are."""
        return self.around.limit(self.barrier_variances)

    @property
    def barrier(self) -> Regression | None:
        """The same if it tells which points are beyond, else None."""
        return self.limit if self.cliff or self.barrier_variances[-1] <= VAGUE else None

    @cached_property
    def neighbourhood(self) -> Neighbourhood:
        """The same; without a barrier, infeasible points count as points of high value."""
        return self.around if self.barrier is not None else self.around.regardless

    @cached_property
    def model(self) -> Regression:
        """The regression on them."""
        return self.neighbourhood.regression(LOW_SHARES[self.low_share], self.variances)

    @cached_property
    def foresight(self) -> float:
        """How well the regression predicts values that were left out (Q9)."""
        return self.neighbourhood.foresight(LOW_SHARES[self.low_share], self.variances)


def best_of(state: Posterior) -> tuple[FloatArray, Rank]:
    """Return the best point of all runs that is remembered, with its violation and value."""
    if len(state.memory) == 0:
        return state.centre, state.level
    memory = state.memory
    # Under noise the best one is that with the lowest mean beyond doubt: (Q17)
    doubt = DOUBT_IN_ERRORS * state.deviation / np.sqrt(memory.count)
    best = int(np.lexsort((memory.value + doubt, memory.violation))[0])
    return memory.x[best], memory.rank(best)


def chosen_shares(state: Posterior) -> tuple[FloatArray, ...]:
    """Return how often low, near points have each state of a two-state or one-of-c site; equal at first."""
    feature_map, sites = state.feature_map, state.sites
    has_model = len(state.memory) > 0 and feature_map.n_features > 0
    features = state.model.features if has_model else np.zeros((1, feature_map.n_features))
    weights = state.model.weights / state.model.weights.sum() if has_model else np.zeros(1)
    mean = weights @ features
    shares = []
    for i, n_states in enumerate(sites.n_states):
        own = feature_map.choice_site == i
        if not own.any():
            shares.append(np.empty(0))
            continue
        share = np.full(n_states, 1 / n_states)
        if has_model:
            share[feature_map.choice_state[own].astype(np.int64)] = mean[: len(own)][own]
            share[int(state.centre[i])] = 1 - mean[: len(own)][own].sum()
        shares.append(np.clip(share, 0.0, 1.0))
    return tuple(shares)
