"""Sets of sites that matter only together, and rarely show; see docs/maths.md, section H."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Part
from dcmaes.strategies.blocks import MOST_STATES, ROUNDING, Block

# So many random points without a surprise end the search: a set that shows in one of `MOST_STATES` points is
# then missed with a probability of exp(-4).
PATIENCE = 4 * MOST_STATES
# The search is over when more than this share of the sites are in sets that were of no use.
MOST_USELESS = 0.5


@dataclass(frozen=True, eq=False)
class HiddenState:
    """State of the search for hidden sets.

    Attributes
    ----------
    sites : Sites
        The space; no site is continuous.
    seed : int
        What random points are drawn from.
    base : array of shape (d,)
        The point at which differences are taken.
    level : Rank
        That of the base.
    best : array of shape (d,)
        The base with all sets changed that make it better.
    fixed : bool array of shape (d,)
        Sites that keep the state of the base: those of the sets that were found, and those that make no
        difference alone, as on a plateau, or have no other state.
    other : array of shape (d,)
        The random point that is looked at.
    candidates : tuple of ints
        The sites at which it differs from the base, in random order; those that may still be in the set.
    low, high : int
        With the first `low` candidates there is no surprise, with the first `high` there is; `high` is 0
        while that is not known of any.
    found : tuple of ints
        Sites of the set that is being found.
    is_found : bool
        Whether these are all: then the best point is compared with what they make of it.
    n_told : int
        Evaluations that it has proposed.
    n_drawn, idle : int
        Random points so far, and since the last surprise.
    n_useless : int
        Sites of sets that have not made the best point better.
    why_over : str
        Why there is nothing more to do; empty while there is.
    """

    sites: Sites
    seed: int
    base: FloatArray
    level: Rank
    best: FloatArray
    fixed: NDArray[np.bool_]
    other: FloatArray
    candidates: Block = ()
    low: int = 0
    high: int = 0
    found: Block = ()
    is_found: bool = False
    n_told: int = 0
    n_drawn: int = 0
    idle: int = 0
    n_useless: int = 0
    why_over: str = ""

    @property
    def tested(self) -> Block:
        """The sites whose joint change is looked at."""
        if not self.high:
            return self.candidates
        return self.found if self.low == self.high else self.found + self.candidates[: self.middle]

    @property
    def middle(self) -> int:
        """Up to where the candidates are bisected."""
        return (self.low + self.high) // 2

    def changed(self, sites: Block) -> FloatArray:
        """Return the base with some sites as in the other point."""
        return _with(self.base, self.other, sites)


class Hidden(Part[HiddenState]):
    """Find sets of sites that add something to a sum over single sites when all of them are changed at once.

    Exact without noise, and soon over where the values are no such sum (docs/maths.md, section H).

    Examples
    --------
    Twelve bits, each 1 is worth -1; but if the bits 2, 5 and 7 are 0 and bit 9 is 1, that is worth -6:

    >>> from dcmaes.space import Space
    >>> def value(x):
    ...     return -x.sum(axis=1) - 6.0 * ((x[:, [2, 5, 7]] == 0).all(axis=1) & (x[:, 9] == 1))
    >>> memory, rng = Memory(Space.binary(12).sites), np.random.default_rng(0)
    >>> told = memory.tell(Evaluations(np.ones((1, 12)), value(np.ones((1, 12))), np.zeros(1)))
    >>> strategy = Hidden()
    >>> state = strategy.init(memory.sites, memory, 0, rng)
    >>> while (state.best == state.base).all():
    ...     x = strategy.sample(state, 1, rng, memory)
    ...     state = strategy.update(state, memory.tell(Evaluations(x, value(x), np.zeros(1))), memory)
    >>> np.flatnonzero(state.best == 0), len(memory) < 100
    (array([2, 5, 7]), True)
    """

    state_type = HiddenState

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "hidden"

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> HiddenState:
        """Return the first state, at the best point of the memory; there must be one."""
        best = memory.evaluations(memory.leaders(1))
        base, seed = best.x[0], int(rng.integers(2**62))
        state = HiddenState(sites, seed, base, best.rank(0), base, sites.n_states == 1, base)
        return advance(_drawn(state), memory)

    def batch_size(self, state: HiddenState) -> int:
        """Return 1: every result may change what comes next."""
        return 1

    def sample(self, state: HiddenState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return the points that are needed next, and random ones beside them, shape (n, d)."""
        out = {row.tobytes() for row in memory.pending}
        points = [x for x in _needed(state, memory) if x.tobytes() not in out][:n]
        rest = state.sites.uniform(rng.random((n - len(points), len(state.base))))
        return np.array([*points, *rest])

    def update(self, state: HiddenState, told: Evaluations, memory: Memory) -> HiddenState:
        """Return the state after learning from `told`."""
        return advance(replace(state, n_told=state.n_told + len(told)), memory)

    def n_asked(self, state: HiddenState) -> int:
        """Return how many evaluations it has proposed."""
        return state.n_told

    def convergence(self, state: HiddenState, memory: Memory) -> str | None:
        """Return why the search is over, or None."""
        return state.why_over or None

    def interactions(self, state: HiddenState, memory: Memory) -> FloatArray:
        """Return zeros: the sets do not say which of their sites interact."""
        return np.zeros((len(state.base), len(state.base)))


def advance(state: HiddenState, memory: Memory) -> HiddenState:
    """Return the state as far on as what is known takes it."""
    while not state.why_over and not _needed(state, memory):
        state = _judged(state, memory) if state.is_found else _measured(state, memory)
    return state


def _needed(state: HiddenState, memory: Memory) -> list[FloatArray]:
    """Return the points without which the state cannot go on."""
    if state.is_found:
        points = [_with(state.best, state.other, state.found)]
    else:
        points = [*(state.changed((site,)) for site in state.tested), state.changed(state.tested)]
    return [x for x in points if memory.rank(x) is None]


def _measured(state: HiddenState, memory: Memory) -> HiddenState:
    """Return the state after a joint change: the set is bisected if it was, or was not, a surprise (H2)."""
    changes = _changes(state, memory)
    if not np.isfinite(changes).all():
        return replace(state, why_over="a point is not feasible")
    surprise = _is_surprise(changes, state.level)
    if not state.high:  # a fresh random point
        fixed = state.fixed.copy()
        fixed[np.array(state.candidates, dtype=np.int64)[changes[1:] == 0]] = True
        state = replace(state, fixed=fixed)
        if not surprise:
            return _drawn(replace(state, idle=state.idle + 1))
        return _bisected(replace(state, high=len(state.candidates), idle=0))
    if state.low == state.high:  # the sites found so far
        if surprise:
            return replace(state, is_found=True)
        return _bisected(replace(state, low=0))
    state = replace(state, high=state.middle) if surprise else replace(state, low=state.middle)
    return _bisected(state)


def _bisected(state: HiddenState) -> HiddenState:
    """Return the state with another site found, once a single candidate is left."""
    if state.high - state.low > 1:
        return state
    at = state.high - 1
    found = (*state.found, state.candidates[at])
    # Whether these are all is looked at next; if not, the others are among the candidates before.
    candidates = state.candidates[:at]
    return replace(state, found=found, candidates=candidates, low=at, high=at, is_found=at == 0)


def _changes(state: HiddenState, memory: Memory) -> FloatArray:
    """Return by how much the joint change and its single changes raise the value; NaN where infeasible."""
    points = [state.changed(state.tested), *(state.changed((site,)) for site in state.tested)]
    ranks = [memory.rank(x) or WORST for x in points]
    return np.array([np.nan if violation > 0 else value - state.level.value for violation, value in ranks])


def _is_surprise(changes: FloatArray, base: Rank) -> bool:
    """Tell whether the first change differs from the sum of the others by more than rounding errors (H1)."""
    size = abs(base.value) + float(np.abs(changes).sum())
    return not abs(changes[0] - float(changes[1:].sum())) <= ROUNDING * size


def _judged(state: HiddenState, memory: Memory) -> HiddenState:
    """Return the state after the best point with a set changed, which is kept if better; its sites stay."""
    best = _with(state.best, state.other, state.found)
    level, before = memory.rank(best) or WORST, memory.rank(state.best) or state.level
    fixed = state.fixed.copy()
    fixed[list(state.found)] = True
    if level < before:
        return _drawn(replace(state, best=best, fixed=fixed))
    return _drawn(replace(state, fixed=fixed, n_useless=state.n_useless + len(state.found)))


def _drawn(state: HiddenState) -> HiddenState:
    """Return the state with another random point, or over."""
    if state.idle >= PATIENCE:
        return replace(state, why_over=f"no surprise in {state.idle} random points")
    if state.n_useless > MOST_USELESS * len(state.base):
        return replace(state, why_over=f"{state.n_useless} variables are in sets that were of no use")
    if state.fixed.all():
        return replace(state, why_over="every variable is in a set, or makes no difference alone")
    rng = np.random.default_rng([state.seed, state.n_drawn])
    other = np.where(state.fixed, state.base, state.sites.uniform(rng.random(len(state.base))))
    candidates = tuple(rng.permutation(np.flatnonzero(other != state.base)).tolist())
    return replace(
        state,
        other=other,
        candidates=candidates,
        low=0,
        high=0,
        found=(),
        is_found=False,
        n_drawn=state.n_drawn + 1,
    )


def _with(x: FloatArray, other: FloatArray, sites: Block) -> FloatArray:
    """Return a point with some sites as in another one."""
    y, some = x.copy(), list(sites)
    y[some] = other[some]
    return y
