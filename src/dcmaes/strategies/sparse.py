"""Functions with few interactions, found by sparse regression; see docs/maths.md, section S."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import EXACT, SparseQuadratic, annealed, sparse_quadratic, sparse_quadratic_by_differences
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Part

# Points whose values are waited for, while each may still change the function; and points of a guess.
BATCH = 4
# In spaces with at most so many contrasts the values are asked, at most so many, because the time grows with
# the number of pairs and with the square of the number of values.
SMALL_SPACE, MOST_VALUES = 100, 1200
# In spaces up to this size the differences that single changes have made are asked.
LARGEST_SPACE = 400
# The first look for a function is after so many evaluations for each contrast, in larger spaces after four
# times as many; then whenever there are so many times as many. Beyond the most values used, which are partly
# others then, that is the second factor; in larger spaces up to this many for each contrast.
FIRST_LOOK, LOOK_FACTOR, LATE_FACTOR, LAST_LARGE_LOOK = 4, 1.25, 1.5, 100
# How the lowest points of a function are sought: so many sweeps for each so many contrasts.
N_CHAINS, N_SWEEPS, SWEPT = 32, 200, 64
# Values beyond this are not used.
LARGEST_VALUE = 1e100
# Why there is nothing to do where no function was found.
UNKNOWN = "no sum over few pairs of variables explains the values so far"


@dataclass(frozen=True, eq=False)
class SparseState:
    """State of the search for functions with few interactions.

    Attributes
    ----------
    sites : Sites
        The space: every site is a choice.
    rows : int array of shape (m,)
        Places in the memory of the feasible evaluations that the function has to explain.
    function : SparseQuadratic or None
        The function, as far as the values tell; None if they do not identify it.
    promised : array of shape (k, d)
        Points that it, or else a guess, predicts to be better than all of these, the best one first.
    idle : int
        Evaluations since the last better point.
    has_improved : bool
        Whether there was one.
    why_over : str
        Why there is nothing more to do; empty while there is.
    """

    sites: Sites
    rows: IntArray
    function: SparseQuadratic | None
    promised: FloatArray
    idle: int
    has_improved: bool
    why_over: str


class Sparse(Part[SparseState]):
    """Explain all values by a sum over few pairs of sites, and evaluate the points where that is lowest.

    It needs values to begin with, and is over at once where they are no such sum (docs/maths.md, section S).

    Examples
    --------
    Thirty bits on a ring that should be like their neighbours, but for one bond; the values of 300 points:

    >>> from dcmaes.space import Space
    >>> def value(x):
    ...     return (x[:, 1:] != x[:, :-1]).sum(axis=1) + (x[:, 0] == x[:, -1])
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, size=(300, 30)).astype(float)
    >>> memory = Memory(Space.binary(30).sites)
    >>> known = memory.tell(Evaluations(x, value(x).astype(float), np.zeros(300)))
    >>> strategy = Sparse()
    >>> state = strategy.init(memory.sites, memory, 0, rng)
    >>> len(state.function.pairs), float(known.value.min()), value(state.promised[:1])
    (30, 7.0, array([1]))
    """

    state_type = SparseState

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "sparse"

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> SparseState:
        """Return the first state: the function that explains the values in the memory."""
        return begin(sites, memory.evaluations(np.arange(len(memory))))

    def batch_size(self, state: SparseState) -> int:
        """Return how many results are waited for: none more than there are points to evaluate."""
        return max(1, min(BATCH, len(state.promised)))

    def sample(self, state: SparseState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        return propose(state, n, rng, memory)

    def update(self, state: SparseState, told: Evaluations, memory: Memory) -> SparseState:
        """Return the state after learning from `told`."""
        return learn(state, told, memory)

    def convergence(self, state: SparseState, memory: Memory) -> str | None:
        """Return why the search is over, or None."""
        patience = n_contrasts(state.sites)
        if state.idle > patience:
            return f"no improvement in {state.idle} evaluations (patience {patience})"
        return state.why_over or None

    def interactions(self, state: SparseState, memory: Memory) -> FloatArray:
        """Return the size of the interaction of each pair of sites, shape (d, d); zero without a function."""
        d = state.sites.dimension
        return np.zeros((d, d)) if state.function is None else state.function.strength


def n_contrasts(sites: Sites) -> int:
    """Return how many coefficients a sum over single sites has: n_states - 1 for each site."""
    return int((sites.n_states - 1).sum())


def is_suitable(sites: Sites) -> bool:
    """Tell whether a function is sought in this space: not too many sites, each always a choice."""
    is_plain = bool(sites.is_short.all()) and not sites.has_conditions
    return is_plain and 0 < n_contrasts(sites) <= LARGEST_SPACE


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
    first = 4 * FIRST_LOOK if is_collecting(sites) else FIRST_LOOK
    factor = LATE_FACTOR if n_evaluations >= MOST_VALUES and not is_collecting(sites) else LOOK_FACTOR
    return max(first * n, math.ceil(factor * n_evaluations))


def begin(sites: Sites, known: Evaluations) -> SparseState:
    """Return the state in which the function has been found, if there is one."""
    known = usable(known)
    best, none = known.row[known.order()[:1]], np.empty((0, sites.dimension))
    state = SparseState(sites, best, None, none, 0, False, UNKNOWN)
    if not is_suitable(sites) or len(known) < 2:
        return state
    found = None
    if n_contrasts(sites) <= SMALL_SPACE:
        some = spread(known, MOST_VALUES)
        found = sparse_quadratic(some.x, some.value, sites.n_states)
    if found is not None and found[1]:
        function: SparseQuadratic | None = found[0]
    else:
        function = sparse_quadratic_by_differences(known.x, known.value, sites.n_states)
    if function is None:
        # What the values leave open of the function may matter little where it is low.
        return state if found is None else _guessed(state, found[0], known.value)
    explained = spread(known, max(MOST_VALUES, function.n_enough))
    return _with_promises(replace(state, rows=explained.row), function, explained.value)


def learn(state: SparseState, told: Evaluations, memory: Memory) -> SparseState:
    """Return the state after some results: the same pairs, fitted to these values too."""
    fresh = usable(told.fresh())
    if state.function is None:  # a guess was made
        left = state.promised[~memory.contains(state.promised)]
        return replace(state, promised=left, why_over="" if len(left) else UNKNOWN)
    if len(fresh) == 0:
        return replace(state, idle=state.idle + len(told))
    explained = memory.evaluations(state.rows)
    is_better = bool(fresh.value.min() < explained.value.min())
    explained = Evaluations.join(explained, fresh)
    function = state.function.fitted(explained.x, explained.value)
    state = replace(
        state,
        rows=explained.row,
        idle=0 if is_better else state.idle + len(told),
        has_improved=state.has_improved or is_better,
    )
    if function is None:
        return replace(state, function=None, why_over="a value contradicts the sum over pairs of sites")
    return _with_promises(state, function, explained.value)


def propose(state: SparseState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
    """Return promised points that are not known, and single changes of the best point beside them."""
    points = list(state.promised[~memory.contains(state.promised)][:n])
    while len(points) < n:
        x, site = _best(state, memory), int(rng.integers(state.sites.dimension))
        x[site] = state.sites.uniform(rng.random(state.sites.dimension))[site]
        points.append(x)
    return np.array(points)


def _best(state: SparseState, memory: Memory) -> FloatArray:
    """Return the best of the points that the function has to explain, shape (d,)."""
    explained = memory.evaluations(state.rows)
    best: FloatArray = explained.x[explained.order()[0]]
    return best


def _with_promises(state: SparseState, function: SparseQuadratic, value: FloatArray) -> SparseState:
    """Return the state with the lowest points of a function; it is over if none is lower than the best."""
    # Luck of its own, so that the same values give the same points whoever else draws random numbers.
    rng = np.random.default_rng(len(state.rows))
    n_sweeps = N_SWEEPS * max(1, n_contrasts(state.sites) // SWEPT)
    x = np.unique(annealed(function, n_chains=N_CHAINS, n_sweeps=n_sweeps, rng=rng), axis=0)
    predicted = function.predict(x)
    order = np.argsort(predicted, kind="stable")
    # Lower than the best value by more than what counts as exact.
    order = order[predicted[order] < value.min() - EXACT * float(value.std())]
    why_over = "" if len(order) else "no better point is predicted"
    return replace(state, function=function, promised=x[order], why_over=why_over)


def _guessed(state: SparseState, function: SparseQuadratic, value: FloatArray) -> SparseState:
    """Return the state in which the lowest points of a guess are evaluated, and no more is made of it."""
    guessed = _with_promises(state, function, value)
    return replace(guessed, function=None, promised=guessed.promised[:BATCH])


def usable(told: Evaluations) -> Evaluations:
    """Return the evaluations that violate nothing and have a value whose square does not overflow."""
    return told.take(np.flatnonzero((told.violation == 0) & (np.abs(told.value) < LARGEST_VALUE)))


def spread(known: Evaluations, most: int) -> Evaluations:
    """Return evaluations, the best among them; at most about so many, evenly spread over time."""
    if len(known) <= most:
        return known
    some = np.linspace(0, len(known) - 1, most).astype(np.int64)
    return known.take(np.union1d(some, known.order()[:1]))
