"""Which function explains the values, and where it is lower than all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.models import SparseQuadratic, annealed, sparse_quadratic, sparse_quadratic_by_differences
from dcmaes.space import Sites
from dcmaes.strategies._choices import is_choice
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.sparse._state import SparseState

# In spaces with at most so many contrasts the values are asked, at most so many, because the time grows with
# the number of pairs and with the square of the number of values.
SMALL_SPACE, MOST_VALUES = 100, 1200
# In spaces up to this size the differences that single changes have made are asked.
LARGEST_SPACE = 400
# The first look for a function is after so many evaluations for each contrast, in small spaces and in larger
# ones; then whenever there are so many times as many; in small spaces, beyond the most values used, which may
# be others then, twice as many; in larger ones up to this many for each contrast.
FIRST_LOOK, FIRST_LARGE_LOOK, LOOK_FACTOR, LATE_FACTOR, LAST_LARGE_LOOK = 4, 16, 1.25, 2.0, 100
# How the lowest points of a function are sought: so many sweeps for each so many contrasts.
N_CHAINS, N_SWEEPS, SWEPT = 32, 200, 64
# Values beyond this are not used.
LARGEST_VALUE = 1e100
# How much lower than the best value a prediction must be, in standard deviations of the values.
SMALLEST_GAIN = 1e-6


def n_contrasts(sites: Sites) -> int:
    """Return how many coefficients a sum over single sites has: n_states - 1 for each site."""
    return int((sites.n_states - 1).sum())


def is_suitable(sites: Sites) -> bool:
    """Tell whether a function is sought in this space: not too many sites, each of them a choice."""
    return bool(is_choice(sites).all()) and 0 < n_contrasts(sites) <= LARGEST_SPACE


def is_collecting(sites: Sites) -> bool:
    """Tell whether evaluations are collected and their single changes looked at: in larger spaces."""
    return is_suitable(sites) and n_contrasts(sites) > SMALL_SPACE


def next_look(sites: Sites, n_evaluations: int) -> float:
    """Return after how many evaluations a function is looked for next; infinite if not any more.

    >>> from dcmaes.space import Space
    >>> next_look(Space.binary(10).sites, 0), next_look(Space.binary(10).sites, 100)
    (40, 125)
    """
    n = n_contrasts(sites)
    if not is_suitable(sites) or (is_collecting(sites) and n_evaluations >= LAST_LARGE_LOOK * n):
        return math.inf
    first = FIRST_LARGE_LOOK if is_collecting(sites) else FIRST_LOOK
    factor = LATE_FACTOR if n_evaluations >= MOST_VALUES and not is_collecting(sites) else LOOK_FACTOR
    return max(first * n, math.ceil(factor * n_evaluations))


def begin(sites: Sites, known: Evaluations) -> SparseState:
    """Return the state in which the function has been found, if there is one."""
    known = _usable(known)
    best, none = known.take(known.order()[:1]), np.empty((0, sites.dimension))
    state = SparseState(sites, best, None, none, 0, False, "the values are no sum over few pairs of sites")
    if not is_suitable(sites) or len(known) < 2:
        return state
    function = None
    if n_contrasts(sites) <= SMALL_SPACE:
        some = _spread(known, MOST_VALUES)
        function = sparse_quadratic(some.x, some.value, sites.n_states)
    if function is None:
        function = sparse_quadratic_by_differences(known.x, known.value, sites.n_states)
    if function is None:
        return state
    return _with_promises(
        replace(state, memory=_spread(known, max(MOST_VALUES, function.n_enough))), function
    )


def learn(state: SparseState, told: Evaluations) -> SparseState:
    """Return the state after some results: the same pairs, fitted to these values too."""
    fresh = _usable(told.take(np.flatnonzero(~told.is_repeat)))
    if state.function is None or len(fresh) == 0:
        return replace(state, idle=state.idle + len(told))
    is_better = bool(fresh.value.min() < state.memory.value.min())
    memory = Evaluations.join(state.memory, fresh)
    function = state.function.fitted(memory.x, memory.value)
    state = replace(
        state,
        memory=memory,
        idle=0 if is_better else state.idle + len(told),
        has_improved=state.has_improved or is_better,
    )
    if function is None:
        return replace(state, function=None, why_over="a value contradicts the sum over pairs of sites")
    return _with_promises(state, function)


def propose(state: SparseState, n: int, rng: np.random.Generator, is_known: NDArray[np.bool_]) -> FloatArray:
    """Return promised points that are not known, and single changes of the best point beside them."""
    points = list(state.promised[~is_known][:n])
    while len(points) < n:
        x, site = state.best.copy(), int(rng.integers(state.sites.dimension))
        x[site] = state.sites.uniform(rng.random(state.sites.dimension))[site]
        points.append(x)
    return np.array(points)


def _with_promises(state: SparseState, function: SparseQuadratic) -> SparseState:
    """Return the state with the lowest points of a function; it is over if none is lower than the best."""
    # Luck of its own, so that the same values give the same points whoever else draws random numbers.
    rng = np.random.default_rng(len(state.memory))
    n_sweeps = N_SWEEPS * max(1, n_contrasts(state.sites) // SWEPT)
    x = np.unique(annealed(function, n_chains=N_CHAINS, n_sweeps=n_sweeps, rng=rng), axis=0)
    predicted, value = function.predict(x), state.memory.value
    order = np.argsort(predicted, kind="stable")
    order = order[predicted[order] < value.min() - SMALLEST_GAIN * float(value.std())]
    why_over = "" if len(order) else "no better point is predicted"
    return replace(state, function=function, promised=x[order], why_over=why_over)


def _usable(told: Evaluations) -> Evaluations:
    """Return the evaluations that violate nothing and have a value whose square does not overflow."""
    return told.take(np.flatnonzero((told.violation == 0) & (np.abs(told.value) < LARGEST_VALUE)))


def _spread(known: Evaluations, most: int) -> Evaluations:
    """Return evaluations, the best among them; at most about so many, evenly spread over time."""
    if len(known) <= most:
        return known
    some = np.linspace(0, len(known) - 1, most).astype(np.int64)
    return known.take(np.union1d(some, known.order()[:1]))
