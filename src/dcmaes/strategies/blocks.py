"""Blocks of sites that depend on each other, found exactly by differences; see docs/maths.md, section D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Part

Block = tuple[int, ...]
# The states of a block are all tried if there are no more than this.
MOST_STATES = 256
# How many sets of other sites a block must not depend on to be closed.
N_CHECKS = 5
# So many blocks of one site each say that there is little to be found in this way.
MOST_SINGLES = 8
# Differences below this share of the values are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BlocksState:
    """State of the search for blocks.

    Attributes
    ----------
    sites : Sites
        The space; no site is continuous.
    seed : int
        What random orders are drawn from; another one in each pass.
    base : array of shape (d,)
        The solution at work.
    level : Rank
        That of the base.
    other : array of shape (d,)
        Differs from the base of its pass at every site that has another state.
    closed : tuple of blocks
        The blocks that depend on nothing else, as far as was seen.
    block : tuple of ints
        The sites of the block under way; empty while states are tried.
    candidates : tuple of ints
        Some of the other sites, in the order in which they are bisected.
    low, high : int
        The block does not depend on the first `low` candidates, but does on the first `high`; `high` is 0
        while it is not known whether it depends on any.
    n_checks : int
        How many sets of candidates the block as it is was found not to depend on.
    rank : int
        Which of the states of each block is tried, once all are closed.
    has_improved : bool
        Whether this pass over all sites has made the base better.
    why_over : str
        Why there is nothing more to do; empty while there is.
    """

    sites: Sites
    seed: int
    base: FloatArray
    level: Rank
    other: FloatArray
    closed: tuple[Block, ...] = ()
    block: Block = ()
    candidates: Block = ()
    low: int = 0
    high: int = 0
    n_checks: int = 0
    rank: int = 0
    has_improved: bool = False
    why_over: str = ""

    @property
    def is_large(self) -> bool:
        """Whether the block under way has more states than can be tried."""
        return _n_states(self.sites, self.block) > MOST_STATES

    @property
    def is_sum(self) -> bool:
        """Whether so many sites depend on no other that the values look like a sum over single sites."""
        return sum(len(block) == 1 for block in self.closed) > MOST_SINGLES

    def changed(self, block: Block) -> FloatArray:
        """Return the base with the sites of a block as in the other point."""
        x, sites = self.base.copy(), list(block)
        x[sites] = self.other[sites]
        return x


class Blocks(Part[BlocksState]):
    """Find blocks of sites that add to the value independently, and the best state of each.

    Exact where the values are such a sum and without noise, and soon over where they are not: for spaces
    without continuous sites, from a point that no single change makes better (docs/maths.md, section D).

    Examples
    --------
    Two pairs of bits that should agree, at their worst:

    >>> from dcmaes.space import Space
    >>> memory = Memory(Space.binary(4).sites)
    >>> told = memory.tell(Evaluations(np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([2.0]), np.zeros(1)))
    >>> strategy, rng = Blocks(), np.random.default_rng(0)
    >>> state = strategy.init(memory.sites, memory, 100, rng)
    >>> while strategy.convergence(state, memory) is None:
    ...     x = strategy.sample(state, 1, rng, memory)
    ...     value = (x[:, 0] == x[:, 2]).astype(float) + (x[:, 1] == x[:, 3])
    ...     told = memory.tell(Evaluations(x, 2 - value, np.zeros(1)))
    ...     state = strategy.update(state, told, memory)
    >>> sorted(sorted(block) for block in state.closed), state.level
    ([[0, 2], [1, 3]], Rank(violation=0.0, value=0.0))
    """

    state_type = BlocksState

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "blocks"

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> BlocksState:
        """Return the first state, at the best point of the memory; there must be one."""
        return begin(sites, memory, rng)

    def batch_size(self, state: BlocksState) -> int:
        """Return 1: every result may change what comes next."""
        return 1

    def sample(self, state: BlocksState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        return propose(state, n, rng, memory)

    def update(self, state: BlocksState, told: Evaluations, memory: Memory) -> BlocksState:
        """Return the state after learning from `told`."""
        return advance(state, memory)

    def convergence(self, state: BlocksState, memory: Memory) -> str | None:
        """Return why the search is over, or None."""
        return state.why_over or None

    def interactions(self, state: BlocksState, memory: Memory) -> FloatArray:
        """Return 1 for sites of one block, else 0, shape (d, d)."""
        strength = np.zeros((state.sites.dimension, state.sites.dimension))
        for block in (*state.closed, state.block):
            for i, j in permutations(block, 2):
                strength[i, j] = 1.0
        return strength


def begin(sites: Sites, memory: Memory, rng: np.random.Generator) -> BlocksState:
    """Return the first state, at the best of the evaluations, of which there is at least one."""
    best = memory.evaluations(memory.leaders(1))
    base, level, seed = best.x[0], best.rank(0), int(rng.integers(2**62))
    state = BlocksState(sites, seed, base, level, elsewhere(sites, base, seed))
    if sites.has_conditions:  # differences presume that every site is there
        return replace(state, why_over="some variables are active only with certain values of others")
    if level[0] > 0 or not np.isfinite(level[1]):
        return replace(state, why_over="no feasible point is known")
    return advance(_next_block(state, memory), memory)


def advance(state: BlocksState, memory: Memory) -> BlocksState:
    """Return the state as far on as what is known takes it."""
    while not state.why_over and not _needed(state, memory):
        state = _measured(state, memory) if state.block else _tried(state, memory)
    return state


def propose(state: BlocksState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
    """Return the points that are needed next, and single changes of the base beside them, shape (n, d)."""
    out = {row.tobytes() for row in memory.pending}
    points = [x for x in _needed(state, memory) if x.tobytes() not in out][:n]
    while len(points) < n:
        points.append(state.changed((int(rng.integers(len(state.base))),)))
    return np.array(points)


def _needed(state: BlocksState, memory: Memory) -> list[FloatArray]:
    """Return the points without which the state cannot go on."""
    points = _corners(state) if state.block else _changes(state)
    unknown = [x for x in points if memory.rank(x) is None]
    if unknown or state.block:
        return unknown
    together = _together(state, points, memory)
    return [] if memory.rank(together) else [together]


def _corners(state: BlocksState) -> list[FloatArray]:
    """Return the points of a second difference: the block changed, the candidates, and both."""
    some = state.candidates[: (state.low + state.high) // 2] if state.high else state.candidates
    return [state.changed(state.block), state.changed(some), state.changed(state.block + some)]


def _measured(state: BlocksState, memory: Memory) -> BlocksState:
    """Return the state after the second difference that was under way."""
    depends, middle = _depends(state, memory), (state.low + state.high) // 2
    if state.high:
        return _bisected(replace(state, high=middle) if depends else replace(state, low=middle), memory)
    if depends:
        return _bisected(replace(state, high=len(state.candidates)), memory)
    return _next_check(replace(state, n_checks=state.n_checks + 1), memory)


def _depends(state: BlocksState, memory: Memory) -> bool:
    """Tell whether what the block adds to the value depends on the candidates."""
    return is_difference(state.level, [memory.rank(x) or WORST for x in _corners(state)])


def is_difference(base: Rank, corners: Sequence[Rank]) -> bool:
    """Tell whether a second difference is more than a rounding error: of the base, two changes and both.

    >>> ranks = [Rank(0.0, 1.0), Rank(0.0, 2.0), Rank(0.0, 3.5)]
    >>> is_difference(Rank(0.0, 0.5), ranks), is_difference(Rank(0.0, -0.5), ranks)
    (True, False)
    """
    levels = [base, *corners]
    start, first, second, both = (value if violation == 0 else np.nan for violation, value in levels)
    # (D1); where it cannot be computed, that counts as a difference.
    difference = abs(start - first - second + both)
    return not difference <= ROUNDING * max(abs(start), abs(first), abs(second), abs(both))


def _bisected(state: BlocksState, memory: Memory) -> BlocksState:
    """Return the state with the block grown, once a single candidate is left (D2)."""
    if state.high - state.low > 1:
        return state
    found = state.candidates[state.high - 1]
    # A block that was closed too early joins as a whole.
    joined = next((block for block in state.closed if found in block), (found,))
    block, closed = state.block + joined, tuple(done for done in state.closed if found not in done)
    if _n_states(state.sites, block) > MOST_STATES:
        # Where other blocks are small, a part of the sites may be in a large one, which is left as it is.
        is_some = any(len(done) > 1 for done in closed) and len(block) <= len(state.base) // 3
        if not is_some:
            why_over = f"a block of {len(block)} variables has too many states"
            return replace(state, block=block, why_over=why_over)
    return _next_check(replace(state, block=block, closed=closed, low=0, high=0, n_checks=0), memory)


def _next_check(state: BlocksState, memory: Memory) -> BlocksState:
    """Return the state with another set of candidates, or with the block closed if there were enough."""
    is_outside = state.sites.n_states > 1
    is_outside[list(state.block)] = False
    if state.n_checks >= N_CHECKS or not is_outside.any():
        return _closed(state, memory)
    rng = np.random.default_rng([state.seed, len(state.closed), len(state.block), state.n_checks])
    outside = rng.permutation(np.flatnonzero(is_outside))
    # First all other sites, then random halves of them: the effects of some may cancel.
    some = outside[: (len(outside) + 1) // 2] if state.n_checks else outside
    return replace(state, candidates=tuple(some.tolist()))


def _closed(state: BlocksState, memory: Memory) -> BlocksState:
    state = replace(state, closed=(*state.closed, state.block))
    if state.is_sum:
        return replace(state, why_over=f"more than {MOST_SINGLES} variables depend on no other")
    moved = _moved(state, state.changed(state.block), memory)
    other = np.where(moved.base != state.base, state.base, state.other)
    return _next_block(replace(moved, other=other), memory)


def _next_block(state: BlocksState, memory: Memory) -> BlocksState:
    """Return the state with another block begun, or with none if every site is in one."""
    is_left = state.sites.n_states > 1
    for block in state.closed:
        is_left[list(block)] = False
    if not is_left.any():
        return replace(state, block=(), rank=0)
    first = np.random.default_rng([state.seed, len(state.closed)]).choice(np.flatnonzero(is_left))
    return _next_check(replace(state, block=(int(first),), low=0, high=0, n_checks=0), memory)


def _moved(state: BlocksState, x: FloatArray, memory: Memory) -> BlocksState:
    """Return the state with `x` as base, if it is better."""
    level = memory.rank(x)
    if level is None or level >= state.level:
        return state
    return replace(state, base=x, level=level, has_improved=True)


def _changes(state: BlocksState) -> list[FloatArray]:
    """Return the base with the state of each block whose turn it is; nothing after the last state of all."""
    return [x for block in state.closed if (x := _with_rank(state, block)) is not None]


def _with_rank(state: BlocksState, block: Block) -> FloatArray | None:
    """Return the base with the state of a block whose turn it is; None if there is no such state."""
    if _n_states(state.sites, block) > MOST_STATES:
        return None
    shifts = _shifts(tuple(state.sites.n_states[list(block)].tolist()))
    if state.rank >= len(shifts):
        return None
    # From the other point, which stays as it is meanwhile, so that every state comes once.
    x, sites = state.base.copy(), list(block)
    x[sites] = (state.other[sites] + shifts[state.rank]) % state.sites.n_states[sites]
    return x


def _together(state: BlocksState, points: list[FloatArray], memory: Memory) -> FloatArray:
    """Return the base with all those changes that make it better."""
    x = state.base
    for y in points:
        if (memory.rank(y) or state.level) < state.level:
            x = np.where(y != state.base, y, x)
    return x


def _tried(state: BlocksState, memory: Memory) -> BlocksState:
    """Return the state after one state of each block; after the last, another pass if this one helped."""
    points = _changes(state)
    if points:
        moved = _moved(state, _together(state, points, memory), memory)
        return replace(moved, rank=state.rank + 1)
    if state.has_improved:
        seed = state.seed + 1
        other = elsewhere(state.sites, state.base, seed)
        fresh = replace(state, seed=seed, other=other, closed=(), has_improved=False)
        return _next_block(fresh, memory)
    return replace(state, why_over="all states of all blocks were tried")


def elsewhere(sites: Sites, base: FloatArray, seed: int) -> FloatArray:
    """Return a random point that differs from the base at every site that has another state."""
    steps = 1 + np.floor(np.random.default_rng(seed).random(len(base)) * (sites.n_states - 1))
    other: FloatArray = (base + np.minimum(steps, sites.n_states - 1)) % sites.n_states
    return other


def _n_states(sites: Sites, block: Block) -> float:
    return float(np.prod(sites.n_states[list(block)].astype(np.float64)))


@cache
def _shifts(n_states: tuple[int, ...]) -> FloatArray:
    """Return all states of a block, as steps from the other point: the fewest sites off it first."""
    shifts = np.indices(n_states).reshape(len(n_states), -1).T
    ordered: FloatArray = shifts[np.argsort((shifts > 0).sum(axis=1), kind="stable")].astype(np.float64)
    return ordered
