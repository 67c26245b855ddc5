"""A strategy used without an optimizer: each of its states has a memory of its own."""

import math
from dataclasses import replace

import numpy as np

from dcmaes.strategies import Memory, Rank
from dcmaes.strategies._evaluations import Evaluation
from dcmaes.strategies.ising._learning import model


class Alone:
    """The methods of a strategy without the memory: states that branch do not share evaluations."""

    def __init__(self, strategy):
        self.strategy = strategy
        self._memories = []
        self._last = None

    def __getattr__(self, name):
        return getattr(self.strategy, name)

    def __repr__(self):
        return repr(self.strategy)

    def memory(self, state):
        """Return the memory behind a state; of one that was made otherwise, the last one used."""
        return next((memory for known, memory in self._memories if known is state), self._last)

    def model(self, state):
        """Return what the model of `ising` is in a state."""
        return model(state, self.memory(state))

    def known(self, state):
        """Return the evaluations that it is of."""
        return self.memory(state).recall()

    def _keep(self, state, memory):
        self._last = memory
        if state is not None:
            self._memories = [pair for pair in self._memories if pair[0] is not state] + [(state, memory)]
        return state

    def init(self, sites, start, budget, rng):
        memory = Memory(sites)
        told = memory.tell(start.take(np.flatnonzero(~np.isnan(start.value))))
        row = np.full(len(start), -1)
        row[~np.isnan(start.value)] = told.row
        memory.starts = replace(start, row=row)
        return self._keep(self.strategy.init(sites, memory, budget, rng), memory)

    def sample(self, state, n, rng, known=None):
        memory = self.memory(state)
        if known is not None:
            memory = memory.copy()
            memory.contains = known.contains
            hand_out(memory, known.pending)
        return self.strategy.sample(state, n, rng, memory)

    def update(self, state, told):
        memory = self.memory(state).copy()
        return self._keep(self.strategy.update(state, memory.tell(told), memory), memory)

    def remember(self, state, told):
        """Return the same state, with points evaluated again to make sure of their value in its memory."""
        memory = self.memory(state).copy()
        for i, row in enumerate(memory.codec.rows(told.x)):
            mean = Rank(float(told.violation[i]), float(told.value[i]))
            one = Evaluation(
                len(memory),
                mean.value,
                mean.violation,
                0,
                math.nan,
                0.0,
                False,
                True,
                mean,
                int(told.count[i]),
            )
            memory.append(row, one)
        return self._keep(replace(state), memory)

    def convergence(self, state):
        return self.strategy.convergence(state, self.memory(state))

    def restart(self, state, rng):
        memory = self.memory(state)
        return self._keep(self.strategy.restart(state, rng, memory), memory)

    def summary(self, state):
        return self.strategy.summary(state, self.memory(state))

    def interactions(self, state):
        return self.strategy.interactions(state, self.memory(state))


def hand_out(memory, x):
    """Let points be out for evaluation."""
    for i, row in enumerate(memory.codec.rows(np.atleast_2d(x))):
        memory.hand_out(-1 - i, row)
