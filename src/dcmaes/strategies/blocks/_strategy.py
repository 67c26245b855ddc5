"""The search for blocks as a strategy, which comes to an end: `auto` gives it a turn."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._codec import decode, encode
from dcmaes.strategies._protocol import Evaluations, Known, Summary
from dcmaes.strategies.blocks._search import begin, learn, propose
from dcmaes.strategies.blocks._state import BlocksState


class Blocks:
    """Find blocks of sites that add to the value independently, and the best state of each.

    Exact where the values are such a sum and without noise, and soon over where they are not: for spaces
    without continuous sites, from a point that no single change makes better (docs/maths.md, section D).

    Examples
    --------
    Two pairs of bits that should agree, at their worst:

    >>> from dcmaes.space import Space
    >>> known = Evaluations(np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([2.0]), np.zeros(1))
    >>> strategy, rng = Blocks(), np.random.default_rng(0)
    >>> state = strategy.init(Space.binary(4).sites, known, 100, rng)
    >>> while strategy.convergence(state) is None:
    ...     x = propose(state, 1, rng, pending=np.empty((0, 4)))
    ...     value = (x[:, 0] == x[:, 2]).astype(float) + (x[:, 1] == x[:, 3])
    ...     state = strategy.update(state, Evaluations(x, 2 - value, np.zeros(1)))
    >>> sorted(sorted(block) for block in state.closed), state.level
    ([[0, 2], [1, 3]], (0.0, 0.0))
    """

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "blocks"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data: there are none."""
        return {}

    def init(self, sites: Sites, start: Evaluations, budget: int, rng: np.random.Generator) -> BlocksState:
        """Return the first state, at the best start; there must be one."""
        return begin(sites, start, rng)

    def batch_size(self, state: BlocksState) -> int:
        """Return 1: every result may change what comes next."""
        return 1

    def sample(self, state: BlocksState, n: int, rng: np.random.Generator, known: Known) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        return propose(state, n, rng, known.pending)

    def update(self, state: BlocksState, told: Evaluations) -> BlocksState:
        """Return the state after learning from `told`."""
        return learn(state, told)

    def convergence(self, state: BlocksState) -> str | None:
        """Return why the search is over, or None."""
        return state.why_over or None

    def restart(self, state: BlocksState, rng: np.random.Generator) -> BlocksState | None:
        """Return None: what differences tell is told."""
        return None

    def summary(self, state: BlocksState) -> Summary:
        """Return the base, from which everything is a change, as a distribution on that one point."""
        return Summary.at(state.sites, state.base)

    def interactions(self, state: BlocksState) -> FloatArray:
        """Return 1 for sites of one block, else 0, shape (d, d)."""
        strength = np.zeros((state.sites.dimension, state.sites.dimension))
        for block in (*state.closed, state.block):
            for i, j in permutations(block, 2):
                strength[i, j] = 1.0
        return strength

    def state_to_dict(self, state: BlocksState) -> dict[str, Any]:
        """Return the state as plain data."""
        data: dict[str, Any] = encode(state)
        return data

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> BlocksState:
        """Return the state that `state_to_dict` described."""
        return decode(BlocksState, data, sites)
