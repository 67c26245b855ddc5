"""What is known of the blocks, frozen."""

from __future__ import annotations

from dataclasses import dataclass

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
