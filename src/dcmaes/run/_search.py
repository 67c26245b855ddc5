"""A strategy at work: its state, the generator, and the evaluations it has yet to learn from.

Strategies compute with one BLAS thread; the objective, constraints and callbacks have the threads they had.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dcmaes._threads import single_thread
from dcmaes._validation import FloatArray
from dcmaes.strategies import Evaluations, Memory, Rank, Strategy


class Search:
    """Drive a strategy: samples out, evaluations in, restarts when it has converged.

    Evaluations are handed on in portions that the strategy waits for, or when samples are wanted. So the
    portions depend on the order of evaluations and asks alone, not on how many were told in one call.

    Attributes
    ----------
    batch_size : int
        How many more samples the strategy waits for before it moves.
    n_restarts : int
        How often it was restarted.
    converged : str or None
        Why it has converged for good: there are no restarts left.
    """

    def __init__(
        self, strategy: Strategy[Any], memory: Memory, budget: int, rng: np.random.Generator
    ) -> None:
        self.strategy = strategy
        self.memory = memory
        self.rng = rng
        with single_thread():
            self.state = strategy.init(memory.sites, memory, budget, rng)
        self.batch_size = max(1, strategy.batch_size(self.state))
        self.n_restarts = 0
        self.converged: str | None = None
        self._untold: list[tuple[bytes, Rank, bool, int, int]] = []

    def sample(self, n: int) -> FloatArray:
        """Return `n` coded points, shape (n, d), drawn after learning from all that was told."""
        self.flush()
        with single_thread():
            x = self.strategy.sample(self.state, n, self.rng, self.memory)
        wanted = (n, self.memory.sites.dimension)
        if np.shape(x) != wanted:
            raise RuntimeError(
                f"strategy {self.strategy.name!r} returned samples of shape {np.shape(x)}, expected {wanted}"
            )
        return x

    def tell(self, row: bytes, rank: Rank, place: int, is_repeat: bool = False, n_averaged: int = 1) -> None:
        """Tell the strategy of an evaluation, or for nothing of a point that it drew, known or excluded.

        `place` is where the point is in the memory, -1 if it was not evaluated; the rest is a row of
        `Evaluations`.
        """
        self._untold.append((row, rank, is_repeat, n_averaged, place))
        if len(self._untold) >= self.batch_size:
            self.flush()

    def flush(self) -> None:
        """Hand on what was told so far, and restart the strategy if that made it converge."""
        if not self._untold:
            return
        rows, ranks, *others = zip(*self._untold, strict=True)
        violation, value = map(np.array, zip(*ranks, strict=True))
        told = Evaluations(self.memory.codec.coded(rows), value, violation, *map(np.array, others))
        self._untold = []
        with single_thread():
            self.state = self.strategy.update(self.state, told, self.memory)
            if (why := self.strategy.convergence(self.state, self.memory)) is not None:
                self._restart(why)
        self.batch_size = max(1, self.strategy.batch_size(self.state))

    def _restart(self, why: str) -> None:
        fresh = self.strategy.restart(self.state, self.rng, self.memory)
        if fresh is None:
            self.converged = why
        else:
            self.state = fresh
            self.n_restarts += 1

    def copy(self, memory: Memory, rng: np.random.Generator) -> Search:
        """Return the same search, which goes on with a copy of the memory and a generator of its own."""
        other = copy.copy(self)
        other.memory, other.rng, other._untold = memory, rng, list(self._untold)
        return other

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data and arrays."""
        codec = self.memory.codec
        return {
            "state": self.strategy.state_to_dict(self.state),
            "generator": self.rng.bit_generator.state,
            "n_restarts": self.n_restarts,
            "converged": self.converged,
            "untold_x": codec.coded(row for row, *_ in self._untold),
            "untold": [[rank.value, rank.violation, *rest] for _, rank, *rest in self._untold],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from what `to_dict` returned."""
        self.state = self.strategy.state_from_dict(data["state"], self.memory.sites)
        self.rng.bit_generator.state = data["generator"]
        self.batch_size = max(1, self.strategy.batch_size(self.state))
        self.n_restarts = data["n_restarts"]
        self.converged = data["converged"]
        rows = self.memory.codec.rows(data["untold_x"])
        self._untold = [
            (row, Rank(violation, value), *rest)
            for row, (value, violation, *rest) in zip(rows, data["untold"], strict=True)
        ]
