"""A strategy at work: its state, what it has yet to learn, and the new points that come of its draws.

Strategies compute with one BLAS thread; the objective, constraints and callbacks have the threads they had.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dcmaes._guards import single_thread
from dcmaes._validation import FloatArray
from dcmaes.run._constraints import Constraints
from dcmaes.space import Space
from dcmaes.strategies import Evaluations, Memory, Rank, Strategy

# After this many consecutive batches of known points, a new point is found without the strategy.
# Known values told at no cost also move a strategy, so it may escape by itself. The number limits the
# time: each of these batches costs an update, which is most of an ask in a space that is nearly known
# (benchmarks/small_spaces.py).
KNOWN_BATCHES = 5
# The same for draws that turn out to be excluded by constraints (those found excluded before are known): the
# strategy is then looking for the feasible region.
EXCLUDED_DRAWS = 20_000
# How many points are tried without the strategy before a search under constraints gives up.
OTHER_DRAWS = 20_000
# Up to this many points a space is listed whole; that takes about a second.
LISTED_POINTS = 2**20
_BLOCK = 256
_LISTING = 2**14


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


# A new point on its way to become a trial, as a row and as users see it.
Found = tuple[bytes, Any]


class _Tally(NamedTuple):
    """What became of coded points that were looked at; those excluded before do not count as `n_excluded`."""

    n_seen: int
    n_new: int
    n_excluded: int


class NewPoints:
    """Find new points that satisfy the constraints.

    Parameters
    ----------
    space : Space
        Where to look.
    search : Search
        The strategy at work: drawn from, and told for nothing what its known and excluded draws are worth.
    memory : Memory
        Which points are known; excluded ones are added to it.
    constraints : Constraints
        What a new point must satisfy.
    skips_known : bool
        Whether points that were evaluated or are out for evaluation are not new.

    Attributes
    ----------
    reserve : list of int
        Numbers of points still to be looked at without the strategy, in random order.
    """

    def __init__(
        self, space: Space, search: Search, memory: Memory, constraints: Constraints, skips_known: bool
    ) -> None:
        self._space = space
        self._search = search
        self._memory = memory
        self._constraints = constraints
        self._skips_known = skips_known
        self._codec = memory.codec
        self._size = space.size
        self.reserve: list[int] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether no point of the space is new any more."""
        return self._is_used_up([])

    def find(self, n: int, enough: int, is_late: Callable[[], bool]) -> list[Found]:
        """Return up to `n` new points, at least `enough` of them if they can be found before `is_late`."""
        found: list[Found] = []
        n_known = n_excluded = 0
        while len(found) < enough and not (self._search.converged or self._is_used_up(found) or is_late()):
            if n_known >= KNOWN_BATCHES * self._search.batch_size or n_excluded >= EXCLUDED_DRAWS:
                self._look_elsewhere(enough, found, is_late)
                break
            is_fruitless = n_known + n_excluded > 0
            n_draws = max(n - len(found), self._search.batch_size if is_fruitless else 1)
            tally = self._sift(self._search.sample(n_draws), n, found, is_draw=True)
            n_known = 0 if tally.n_new else n_known + tally.n_seen - tally.n_excluded
            n_excluded = 0 if tally.n_new else n_excluded + tally.n_excluded
        return found

    def _is_used_up(self, found: list[Found]) -> bool:
        if self._size == math.inf:
            return False
        n_gone = self._memory.n_known + len(found) if self._skips_known else len(self._memory.excluded)
        return n_gone >= self._size

    def _sift(self, x: FloatArray, n: int, found: list[Found], is_draw: bool) -> _Tally:
        """Add to `found` what is new among coded points, in their order, until it has `n`.

        Draws of the strategy that turn out known or excluded are told to it: that costs nothing.
        """
        rows = self._codec.rows(x)
        known = [self._recall(row) for row in rows]
        unknown = [i for i, found_there in enumerate(known) if found_there is None]
        points = dict(zip(unknown, self._space.decode_many(x[unknown]), strict=True)) if unknown else {}
        taken = {row for row, _ in found}
        n_before, n_seen, n_excluded = len(found), 0, 0
        for i, (row, recalled) in enumerate(zip(rows, known, strict=True)):
            if len(found) == n:
                break
            n_seen += 1
            if recalled is None:
                if self._skips_known and (row in taken or self._memory.is_out(row)):
                    continue
                violation = self._violation(row, points[i]) if self._constraints.functions else 0.0
                if violation == 0.0:
                    taken.add(row)
                    found.append((row, points[i]))
                    continue
                n_excluded += 1
                if is_draw:
                    self._memory.add_excluded(row, violation)
                    self._search.tell(row, Rank(violation, math.nan), place=-1)
            elif is_draw:
                self._search.tell(row, *recalled, is_repeat=True)
        return _Tally(n_seen, len(found) - n_before, n_excluded)

    def _violation(self, row: bytes, point: Any) -> float:
        """Return the violation of a point, which is looked at once only if it may come again."""
        known = self._memory.exclusion(row)
        if known is not None:
            return known
        violation = self._constraints.violation(point)
        if violation > 0.0:
            self._memory.exclude(row, violation)
        return violation

    def _recall(self, row: bytes) -> tuple[Rank, int] | None:
        """Return rank and place in the memory of a point that is known, or None."""
        if self._skips_known and (place := self._memory.find_row(row)) is not None:
            evaluation = self._memory.evaluation(place)
            return Rank(evaluation.violation, evaluation.value), place
        excluded = self._memory.exclusion(row)
        return None if excluded is None else (Rank(excluded, math.nan), -1)

    def _look_elsewhere(self, n: int, found: list[Found], is_late: Callable[[], bool]) -> None:
        """Add new points to `found`, until it has `n`, without asking the strategy."""
        if self._size <= max(LISTED_POINTS, 4 * self._memory.n_known):
            self._look_through_list(n, found)
        else:
            self._look_around(n, found, is_late)

    def _look_through_list(self, n: int, found: list[Found]) -> None:
        """Take points at random from the list of all that are not known yet."""
        self.reserve = self.reserve or self._list_unknown()
        while len(found) < n and self.reserve:
            block = np.array(self.reserve[: -_BLOCK - 1 : -1])
            tally = self._sift(self._space.sites.listing.points(block), n, found, is_draw=False)
            del self.reserve[len(self.reserve) - tally.n_seen :]

    def _list_unknown(self) -> list[int]:
        unknown = []
        size = int(self._size)
        for first in range(0, size, _LISTING):
            numbers = np.arange(first, min(first + _LISTING, size))
            rows = self._codec.rows(self._space.sites.listing.points(numbers))
            unknown.append(numbers[[self._recall(row) is None for row in rows]])
        shuffled: list[int] = self._search.rng.permutation(np.concatenate(unknown)).tolist()
        return shuffled

    def _look_around(self, n: int, found: list[Found], is_late: Callable[[], bool]) -> None:
        """Change ever more variables of the best point at random: one at first, all in the end."""
        rng, sites = self._search.rng, self._space.sites
        shape = (_BLOCK, sites.dimension)
        best = self._memory.best
        x = sites.uniform(rng.random(shape[1:])) if best is None else self._memory.x(best)
        for block in range(OTHER_DRAWS // _BLOCK):
            if len(found) == n or is_late():
                return
            is_changed = rng.random(shape) < 2.0**block / sites.dimension
            drawn = sites.uniform(rng.random(shape))
            changed = np.where(is_changed, drawn, x)
            if sites.has_conditions:
                changed = sites.awake(changed, x, rng.random(shape))
            self._sift(changed, n, found, is_draw=False)
