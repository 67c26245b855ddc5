"""Functions of sites with few neighbours each, or of few terms; see docs/maths.md, section W."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.models import (
    EXACT,
    MOST_INDICATORS,
    Sets,
    cliques,
    low_point_of,
    minimum_of,
    polynomial_of,
    sparse_sets,
)
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Part
from dcmaes.strategies.blocks import ROUNDING, elsewhere, is_difference
from dcmaes.strategies.sparse import n_contrasts, spread, usable

# A site that interacts with more sites than this has not a few neighbours only. If these are more than this
# share of those it was compared with, the search is over.
MOST_NEIGHBOURS, MOST_OF_ALL = 16, 0.5
# The search for terms one after the other is given up if this share of all values are at random points.
MOST_RANDOM = 0.25
# The function is fitted again whenever there are this many times as many values.
FIT_FACTOR = 1.15
# So many random points for each term leave none open: if the function does not fit then, there is none.
ENOUGH = 2
# Values that are used at most.
MOST_VALUES = 8000


@dataclass(frozen=True, eq=False)
class NeighboursState:
    """State of the search for neighbours.

    Attributes
    ----------
    sites : Sites
        The space; no site is continuous.
    seed : int
        What orders and random points are drawn from.
    base : array of shape (d,)
        The point at which differences are taken.
    level : Rank
        That of the base.
    other : array of shape (d,)
        Differs from the base at every site that has another state.
    order : tuple of ints
        The sites with more than one state, in the order in which they are asked.
    asked : tuple of tuples of ints
        For each of the first sites, the later ones that it interacts with.
    found : tuple of ints
        Those of the next site, as far as is known.
    at : int
        The place in `order` of the site that it is compared with next.
    is_near : bool
        Whether terms are of neighbours, as far as is known; if not, they are found one after the other.
    n_told, n_random : int
        Evaluations that it has proposed; those of them at random points.
    fit_at : int
        How many evaluations there must be before the function is fitted.
    promised : array of shape (k, d)
        The lowest point of the function, k = 1, or nothing while that is not known.
    predicted : float
        Its value in the function.
    why_over : str
        Why there is nothing more to do; empty while there is.
    """

    sites: Sites
    seed: int
    base: FloatArray
    level: Rank
    other: FloatArray
    order: tuple[int, ...]
    promised: FloatArray
    asked: tuple[tuple[int, ...], ...] = ()
    found: tuple[int, ...] = ()
    at: int = 1
    is_near: bool = True
    n_told: int = 0
    n_random: int = 0
    fit_at: int = 0
    predicted: float = math.nan
    why_over: str = ""

    @property
    def is_asking(self) -> bool:
        """Whether neighbours are asked for, and not all sites were asked yet."""
        return self.is_near and len(self.asked) < len(self.order)

    @property
    def interacts(self) -> NDArray[np.bool_]:
        """Which sites are known to interact, symmetric, shape (d, d)."""
        known = np.zeros((len(self.base), len(self.base)), dtype=np.bool_)
        for site, found in zip(self.order, (*self.asked, self.found), strict=False):
            known[site, list(found)] = True
        return known | known.T

    def changed(self, *sites: int) -> FloatArray:
        """Return the base with some sites as in the other point."""
        x = self.base.copy()
        x[list(sites)] = self.other[list(sites)]
        return x


class Neighbours(Part[NeighboursState]):
    """Find out which sites interact, fit a function with a table for all that interact, and minimize it.

    Exact where each site interacts with a few others and there is no noise. If some interact with more, but
    only in few pairs and triples, these are found in all values; soon over where that cannot be
    (docs/maths.md, section W).

    Examples
    --------
    Twelve bits on a ring, and a random table for each one with its two right neighbours:

    >>> from dcmaes.problems import nk_landscape
    >>> from dcmaes.space import Space
    >>> problem, rng = nk_landscape(12, 2), np.random.default_rng(0)
    >>> memory = Memory(Space.binary(12).sites)
    >>> told = memory.tell(Evaluations(np.zeros((1, 12)), np.array([problem(np.zeros(12))]), np.zeros(1)))
    >>> strategy = Neighbours()
    >>> state = strategy.init(memory.sites, memory, 0, rng)
    >>> while strategy.convergence(state, memory) is None:
    ...     x = strategy.sample(state, 1, rng, memory)
    ...     told = memory.tell(Evaluations(x, np.array([problem(x[0])]), np.zeros(1)))
    ...     state = strategy.update(state, told, memory)
    >>> bool(np.isclose(memory.rank(state.promised[0]).value, problem.optimum)), len(memory) < 200
    (True, True)
    """

    state_type = NeighboursState

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "neighbours"

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> NeighboursState:
        """Return the first state, at the best point of the memory; there must be one."""
        best = memory.evaluations(memory.leaders(1))
        base, level, seed = best.x[0], best.rank(0), int(rng.integers(2**62))
        order = np.random.default_rng(seed).permutation(np.flatnonzero(sites.n_states > 1))
        nothing, other = np.empty((0, len(base))), elsewhere(sites, base, seed)
        state = NeighboursState(sites, seed, base, level, other, tuple(order.tolist()), nothing)
        if sites.has_conditions:  # differences presume that every site is there
            return replace(state, why_over="some variables are active only with certain values of others")
        if level.violation > 0 or not np.isfinite(level.value):
            return replace(state, why_over="no feasible point is known")
        return advance(state, memory)

    def batch_size(self, state: NeighboursState) -> int:
        """Return 1: every result may change what comes next."""
        return 1

    def sample(self, state: NeighboursState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points: those needed next, and random ones beside them, shape (n, d)."""
        out = {row.tobytes() for row in memory.pending}
        points = [x for x in _needed(state, memory) if x.tobytes() not in out][:n]
        while len(points) < n:
            points.append(state.sites.uniform(rng.random(state.sites.dimension)))
        return np.array(points)

    def update(self, state: NeighboursState, told: Evaluations, memory: Memory) -> NeighboursState:
        """Return the state after learning from `told`."""
        n, is_random = len(told.fresh()), not state.is_asking and len(state.promised) == 0
        return advance(
            replace(state, n_told=state.n_told + n, n_random=state.n_random + n * is_random), memory
        )

    def join(self, state: NeighboursState, memory: Memory) -> NeighboursState:
        """Return the state as far on as what others have evaluated takes it."""
        return advance(state, memory)

    def n_asked(self, state: NeighboursState) -> int:
        """Return how many evaluations it has proposed."""
        return state.n_told

    def convergence(self, state: NeighboursState, memory: Memory) -> str | None:
        """Return why the search is over, or None."""
        return state.why_over or None

    def interactions(self, state: NeighboursState, memory: Memory) -> FloatArray:
        """Return 1 for sites that interact, else 0, shape (d, d)."""
        return state.interacts.astype(np.float64)


def advance(state: NeighboursState, memory: Memory) -> NeighboursState:
    """Return the state as far on as what is known takes it."""
    while not state.why_over and next(_needed(state, memory), None) is None:
        if state.is_asking:
            state = _compared(state, memory)
        elif len(state.promised) == 0:
            state = _fitted(state, memory)
        else:
            state = _judged(state, memory)
    return state


def _needed(state: NeighboursState, memory: Memory) -> Iterator[FloatArray]:
    """Yield the points without which the state cannot go on, and then some that it will need later."""
    if state.is_asking:
        points = _corners(state, state.at)
        if all(memory.rank(x) is not None for x in points):
            return
        points += [x for at in range(state.at + 1, len(state.order)) for x in _corners(state, at)]
        yield from (x for x in points if memory.rank(x) is None)
    elif len(state.promised):
        yield from (x for x in state.promised if memory.rank(x) is None)
    elif len(memory) < state.fit_at:
        rng = np.random.default_rng([state.seed, len(memory)])
        yield from state.sites.uniform(rng.random((state.fit_at - len(memory), state.sites.dimension)))


def _corners(state: NeighboursState, at: int) -> list[FloatArray]:
    """Return the points of a second difference: of the site with another one, or with all that seem far."""
    site = state.order[len(state.asked)]
    far = (state.order[at],) if at < len(state.order) else _far(state, site)  # (W1)
    return [state.changed(site), state.changed(*far), state.changed(site, *far)]


def _far(state: NeighboursState, site: int) -> tuple[int, ...]:
    """Return the sites that a site does not interact with."""
    near = state.interacts[site]
    return tuple(j for j in state.order if j != site and not near[j])


def _compared(state: NeighboursState, memory: Memory) -> NeighboursState:
    """Return the state after one second difference."""
    depends = is_difference(state.level, [memory.rank(x) or WORST for x in _corners(state, state.at)])
    if state.at >= len(state.order):  # all others together: what seems far has to be far
        if depends:
            return _one_by_one(state, memory, "a variable depends on more than its neighbours")
        asked = (*state.asked, state.found)
        return replace(state, asked=asked, found=(), at=len(asked) + 1)
    found = (*state.found, state.order[state.at]) if depends else state.found
    state = replace(state, found=found, at=state.at + 1)
    n_found = int(state.interacts[state.order[len(state.asked)]].sum())
    if n_found > MOST_NEIGHBOURS:
        if n_found > MOST_OF_ALL * (state.at - 1):
            return replace(state, why_over="a variable interacts with most others")
        return _one_by_one(state, memory, f"a variable interacts with more than {MOST_NEIGHBOURS} others")
    return state


def _one_by_one(state: NeighboursState, memory: Memory, reason: str) -> NeighboursState:
    """Return the state in which terms are found one after the other; it is over if there may be too many."""
    if n_contrasts(state.sites) > MOST_INDICATORS:
        return replace(state, why_over=reason)
    return replace(state, is_near=False, fit_at=len(memory))


def _fitted(state: NeighboursState, memory: Memory) -> NeighboursState:
    """Return the state with the lowest point of the function, if there are enough values to know it."""
    known, n_states = usable(memory.evaluations(np.arange(len(memory)))), state.sites.n_states
    if state.is_near:
        sets = cliques(state.interacts, n_states)
        if sets is None:
            return _one_by_one(state, memory, "the function has too many terms")
    else:
        sets = sparse_sets(known.x, known.value, n_states)
    known = spread(known, MOST_VALUES)
    function = None if sets is None else polynomial_of(sets, known.x, known.value, n_states)
    if function is None:
        return _waiting(state, memory, sets)
    x = minimum_of(function)
    if x is None:
        x = low_point_of(function)
    return replace(state, promised=x[None], predicted=float(function.predict(x[None])[0]))


def _waiting(state: NeighboursState, memory: Memory, sets: Sets | None) -> NeighboursState:
    """Return the state that waits for more values, unless those at random points would have been enough."""
    if not state.is_near:
        if state.n_random > MOST_RANDOM * len(memory):
            return replace(state, why_over="the values are no function of few pairs and triples")
        return replace(state, fit_at=math.ceil(FIT_FACTOR * len(memory)))
    n_terms = sum(int(np.prod(state.sites.n_states[list(s)] - 1)) for level in sets or [] for s in level)
    if state.n_random > ENOUGH * n_terms:
        return replace(state, why_over="the values are no function of neighbours")
    return replace(state, fit_at=math.ceil(FIT_FACTOR * max(len(memory), n_terms)))


def _judged(state: NeighboursState, memory: Memory) -> NeighboursState:
    """Return the state after the lowest point of the function: over, or with the function to be fitted again.

    Values may leave terms open that they do not depend on; the lowest point then does.
    """
    value = (memory.rank(state.promised[0]) or WORST).value
    if abs(value - state.predicted) <= EXACT * abs(value - state.level.value) + ROUNDING * abs(value):
        return replace(state, why_over="the lowest point of the function is known")
    return replace(state, promised=state.promised[:0], fit_at=math.ceil(FIT_FACTOR * len(memory)))
