"""What is known of the blocks, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._memory import Level, Memory

Block = tuple[int, ...]


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
    level : tuple of two floats
        Its violation and value.
    other : array of shape (d,)
        Differs from the base of its pass at every site that has another state.
    memory : Memory
        The levels of the points told.
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
    level: Level
    other: FloatArray
    memory: Memory
    closed: tuple[Block, ...] = ()
    block: Block = ()
    candidates: Block = ()
    low: int = 0
    high: int = 0
    n_checks: int = 0
    rank: int = 0
    has_improved: bool = False
    why_over: str = ""

    def changed(self, block: Block) -> FloatArray:
        """Return the base with the sites of a block as in the other point."""
        x, sites = self.base.copy(), list(block)
        x[sites] = self.other[sites]
        return x


_PLAIN = ("seed", "base", "other", "low", "high", "n_checks", "rank", "has_improved", "why_over")


def state_to_dict(state: BlocksState) -> dict[str, Any]:
    """Return the state as numbers, arrays and lists of those."""
    keys, levels = state.memory.to_arrays()
    return {
        **{name: getattr(state, name) for name in _PLAIN},
        "level": list(state.level),
        "closed": [list(block) for block in state.closed],
        "block": list(state.block),
        "candidates": list(state.candidates),
        "known_keys": keys,
        "known_levels": levels,
    }


def state_from_dict(data: Mapping[str, Any], sites: Sites) -> BlocksState:
    """Return the state that `state_to_dict` described."""
    return BlocksState(
        sites=sites,
        level=(data["level"][0], data["level"][1]),
        memory=Memory.from_arrays(data["known_keys"], data["known_levels"]),
        closed=tuple(tuple(block) for block in data["closed"]),
        block=tuple(data["block"]),
        candidates=tuple(data["candidates"]),
        **{name: data[name] for name in _PLAIN},
    )
