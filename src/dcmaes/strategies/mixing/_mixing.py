"""The strategy `mixing`: a pyramid of populations, mixed along learned linkage, without parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._codec import decode, encode
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.mixing._linkage import information
from dcmaes.strategies.mixing._search import begin, learn, propose
from dcmaes.strategies.mixing._state import MixingState

# Midpoints at which the uniform law is tabulated for the summary while there is no population.
_N_MIDPOINTS = 256


@dataclass(frozen=True)
class Mixing:
    """A population pyramid with learned linkage: mix solutions by clusters of dependent sites.

    The parameter-less population pyramid of Goldman & Punch (2014; docs/maths.md, section L), for any number
    of states: a random solution climbs by single changes, then copies clusters of sites from the solutions
    of each level of a pyramid, and rises a level if that improves it. Which sites form a cluster is learned
    on each level. It is meant for choices and short lattices, but works on sites of every kind.

    Examples
    --------
    >>> import dcmaes as dc
    >>> from dcmaes.problems import trap
    >>> space = dc.Space.binary(20)
    >>> result = dc.minimize(trap(20, 5), space, budget=2000, seed=0, strategy=Mixing(), target=0)
    >>> result.fun
    0.0
    """

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""
        return "mixing"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data: there are none."""
        return {}

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> MixingState:
        """Return the first state: at the best start, or anywhere."""
        start = memory.starts
        x, level = sites.uniform(rng.random(sites.dimension)), WORST
        if len(start):
            best = int(start.order()[0])
            x = start.x[best].copy()
            value = float(start.value[best])
            level = WORST if np.isnan(value) else Rank(float(start.violation[best]), value)
        return begin(sites, x, level, seed=int(rng.integers(2**63)), memory=memory)

    def batch_size(self, state: MixingState) -> int:
        """Return 1: every result may change what comes next."""
        return 1

    def sample(self, state: MixingState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return the next `n` steps as coded points, shape (n, d)."""
        return propose(state, n, memory)

    def update(self, state: MixingState, told: Evaluations, memory: Memory) -> MixingState:
        """Return the state after learning from `told`."""
        return learn(state, told, memory)

    def join(self, state: MixingState, memory: Memory) -> MixingState:
        """Return the state as it is: the best point of others, copied by all, would make solutions alike."""
        return state

    def convergence(self, state: MixingState, memory: Memory) -> str | None:
        """Return None: there is always another solution to begin with."""
        return None

    def restart(self, state: MixingState, rng: np.random.Generator, memory: Memory) -> MixingState | None:
        """Return None: every solution is a fresh start."""
        return None

    def summary(self, state: MixingState, memory: Memory) -> Summary:
        """Return how the solutions of the largest floor are distributed; uniform while there are none."""
        sites, x = state.sites, state.largest
        if len(x) == 0:
            midpoints = (np.arange(_N_MIDPOINTS) + 0.5) / _N_MIDPOINTS
            x = sites.uniform(np.repeat(midpoints[:, None], sites.dimension, axis=1))
        u = sites.coordinate(x)
        u[:, ~sites.is_numeric] = np.nan
        deviation = u.std(axis=0)
        n_kept = np.where(sites.is_numeric & (sites.n_states != 2), 0, sites.n_states)
        return Summary(
            mean=u.mean(axis=0),
            deviation=deviation,
            probabilities=tuple(_shares(column, n) for column, n in zip(x.T, n_kept, strict=True)),
            correlation=None,
            step_size=float(np.where(sites.is_numeric, deviation, 0.0).max()),
        )

    def interactions(self, state: MixingState, memory: Memory) -> FloatArray:
        """Return the mutual information of each pair of sites on the largest floor, in nats, shape (d, d)."""
        x = state.largest
        if len(x) == 0:
            return np.zeros((state.sites.dimension, state.sites.dimension))
        strength, _ = information(x)
        np.fill_diagonal(strength, 0.0)
        return strength

    def state_to_dict(self, state: MixingState) -> dict[str, Any]:
        """Return the state as plain data."""
        data: dict[str, Any] = encode(state)
        return data

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> MixingState:
        """Return the state that `state_to_dict` described."""
        return decode(MixingState, data, sites)


def _shares(column: FloatArray, n_states: int) -> FloatArray:
    """Return the share of each state in a column, shape (n_states,)."""
    if n_states == 0:
        return np.empty(0)
    return np.bincount(column.astype(np.int64), minlength=n_states) / len(column)
