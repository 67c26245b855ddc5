"""The search for functions with few interactions as a strategy, which comes to an end: `auto` has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._codec import decode, encode
from dcmaes.strategies._protocol import Evaluations, Known, Summary
from dcmaes.strategies.sparse._search import begin, learn, n_contrasts, propose
from dcmaes.strategies.sparse._state import SparseState

# Points whose values are waited for, while each may still change the function.
BATCH = 4


class Sparse:
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
    >>> known = Evaluations(x, value(x).astype(float), np.zeros(300))
    >>> strategy = Sparse()
    >>> state = strategy.init(Space.binary(30).sites, known, 0, rng)
    >>> len(state.function.pairs), float(known.value.min()), value(state.promised[:1])
    (30, 7.0, array([1]))
    """

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "sparse"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data: there are none."""
        return {}

    def init(self, sites: Sites, start: Evaluations, budget: int, rng: np.random.Generator) -> SparseState:
        """Return the first state: the function that explains the values of `start`."""
        return begin(sites, start)

    def batch_size(self, state: SparseState) -> int:
        """Return how many results are waited for: none more than there are points to evaluate."""
        return max(1, min(BATCH, len(state.promised)))

    def sample(self, state: SparseState, n: int, rng: np.random.Generator, known: Known) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        return propose(state, n, rng, known.contains(state.promised))

    def update(self, state: SparseState, told: Evaluations) -> SparseState:
        """Return the state after learning from `told`."""
        return learn(state, told)

    def convergence(self, state: SparseState) -> str | None:
        """Return why the search is over, or None."""
        patience = n_contrasts(state.sites)
        if state.idle > patience:
            return f"no improvement in {state.idle} evaluations (patience {patience})"
        return state.why_over or None

    def restart(self, state: SparseState, rng: np.random.Generator) -> SparseState | None:
        """Return None: what the values tell is told."""
        return None

    def summary(self, state: SparseState) -> Summary:
        """Return the best point as a distribution on that one point."""
        return Summary.at(state.sites, state.best)

    def interactions(self, state: SparseState) -> FloatArray:
        """Return the size of the interaction of each pair of sites, shape (d, d); zero without a function."""
        d = state.sites.dimension
        return np.zeros((d, d)) if state.function is None else state.function.strength

    def state_to_dict(self, state: SparseState) -> dict[str, Any]:
        """Return the state as plain data."""
        data: dict[str, Any] = encode(state)
        return data

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> SparseState:
        """Return the state that `state_to_dict` described."""
        return decode(SparseState, data, sites)
