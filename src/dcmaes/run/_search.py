"""A strategy at work: its state, the generator, and the evaluations it has yet to learn from.

Strategies compute with one BLAS thread; the objective, constraints and callbacks have the threads they had.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcmaes._threads import single_thread
from dcmaes._validation import FloatArray
from dcmaes.run._rows import RowCodec
from dcmaes.space import Sites
from dcmaes.strategies import Evaluations, Known, Remembering, Strategy


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
        self,
        strategy: Strategy[Any],
        codec: RowCodec,
        sites: Sites,
        start: Evaluations,
        budget: int,
        rng: np.random.Generator,
    ) -> None:
        self.strategy = strategy
        self.rng = rng
        with single_thread():
            self.state = strategy.init(sites, start, budget, rng)
            known = start.take(np.flatnonzero(~np.isnan(start.value) | (start.violation > 0.0)))
            # Others take the best of these points as their centre, which is all they can make of them.
            if len(known) and isinstance(strategy, Remembering):
                self.state = strategy.update(self.state, known)
        self.batch_size = max(1, strategy.batch_size(self.state))
        self.n_restarts = 0
        self.converged: str | None = None
        self._codec = codec
        self._sites = sites
        self._rows: list[bytes] = []
        self._values: list[float] = []
        self._violations: list[float] = []
        self._repeats: list[bool] = []
        self._counts: list[int] = []

    def sample(self, n: int, known: Known) -> FloatArray:
        """Return `n` coded points, shape (n, d), drawn after learning from all that was told."""
        self.flush()
        with single_thread():
            x = self.strategy.sample(self.state, n, self.rng, known)
        if np.shape(x) != (n, self._sites.dimension):
            raise RuntimeError(
                f"strategy {self.strategy.name!r} returned samples of shape {np.shape(x)}, "
                f"expected {(n, self._sites.dimension)}"
            )
        return x

    def learn(
        self, row: bytes, value: float, violation: float, is_repeat: bool = False, count: int = 1
    ) -> None:
        """Tell the strategy of one evaluation, or again of one that it drew and that was known (a repeat)."""
        self._rows.append(row)
        self._values.append(value)
        self._violations.append(violation)
        self._repeats.append(is_repeat)
        self._counts.append(count)
        if len(self._rows) >= self.batch_size:
            self.flush()

    def remind(self, row: bytes, value: float, violation: float, count: int) -> None:
        """Tell a strategy that remembers points what one of them is worth by now: it was evaluated again."""
        if isinstance(self.strategy, Remembering):
            self.flush()
            told = Evaluations(
                self._codec.coded([row]),
                np.array([value]),
                np.array([violation]),
                np.array([True]),
                np.array([count]),
            )
            with single_thread():
                self.state = self.strategy.remember(self.state, told)

    def flush(self) -> None:
        """Hand on what was told so far, and restart the strategy if that made it converge."""
        if not self._rows:
            return
        told = Evaluations(
            self._codec.coded(self._rows),
            np.array(self._values),
            np.array(self._violations),
            np.array(self._repeats),
            np.array(self._counts),
        )
        self._rows, self._values, self._violations, self._repeats, self._counts = [], [], [], [], []
        with single_thread():
            self.state = self.strategy.update(self.state, told)
            if (why := self.strategy.convergence(self.state)) is not None:
                self._restart(why)
        self.batch_size = max(1, self.strategy.batch_size(self.state))

    def _restart(self, why: str) -> None:
        fresh = self.strategy.restart(self.state, self.rng)
        if fresh is None:
            self.converged = why
        else:
            self.state = fresh
            self.n_restarts += 1

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data and arrays."""
        return {
            "state": self.strategy.state_to_dict(self.state),
            "generator": self.rng.bit_generator.state,
            "n_restarts": self.n_restarts,
            "converged": self.converged,
            "untold_x": self._codec.coded(self._rows),
            "untold_values": self._values,
            "untold_violations": self._violations,
            "untold_repeats": self._repeats,
            "untold_counts": self._counts,
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from what `to_dict` returned."""
        self.state = self.strategy.state_from_dict(data["state"], self._sites)
        self.rng.bit_generator.state = data["generator"]
        self.batch_size = max(1, self.strategy.batch_size(self.state))
        self.n_restarts = data["n_restarts"]
        self.converged = data["converged"]
        self._rows = self._codec.rows(data["untold_x"])
        self._values = list(data["untold_values"])
        self._violations = list(data["untold_violations"])
        self._repeats = list(data["untold_repeats"])
        self._counts = list(data["untold_counts"])
