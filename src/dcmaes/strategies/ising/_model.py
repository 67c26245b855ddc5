"""The way from evaluations to a model: those nearest to the centre, labelled, regressed on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Component, Regression
from dcmaes.strategies._evaluations import Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._cliff import find_cliff
from dcmaes.strategies.ising._constants import (
    DOUBT_IN_ERRORS,
    LARGEST_BARRIER_NOISE,
    LOW_SHARES,
    MEMORY,
    SMALLEST_CHOICES,
)
from dcmaes.strategies.ising._neighbourhood import Neighbourhood, improved
from dcmaes.strategies.ising._state import IsingState


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
    low_share = LOW_SHARES[state.low_share]
    used = labelled(state, near)
    limit = used.limit(state.barrier_variances)
    # The barrier of a cliff was judged when the cliff was found.
    is_barrier = bool(state.cliff) or state.barrier_variances[Component.NOISE] <= LARGEST_BARRIER_NOISE
    barrier = limit if is_barrier else None
    if barrier is None:
        used = used.penalized
    return Fit(used, used.regression(low_share, state.variances), limit, barrier)


def labelled(state: IsingState, near: Neighbourhood) -> Neighbourhood:
    """Return evaluations with what is beyond a cliff labelled as well: from here on, only excess counts."""
    found = find_cliff(near, LOW_SHARES[state.low_share], state.variances) if state.cliff else None
    return near if found is None else found[0].labelled(near, state.cliff)


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
    return fit(state, near).used.foresight(LOW_SHARES[state.low_share], state.variances)


def best_of(told: Evaluations, deviation: float) -> tuple[FloatArray, Rank] | None:
    """Return the best point of all runs, with its violation and value; None without evaluations."""
    if len(told) == 0:
        return None
    # Under noise the best one is that with the lowest mean beyond doubt: (Q17)
    doubt = DOUBT_IN_ERRORS * deviation / np.sqrt(told.count)
    best = int(np.lexsort((told.value + doubt, told.violation))[0])
    return told.x[best], told.rank(best)
