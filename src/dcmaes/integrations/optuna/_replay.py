"""A strategy led through the finished trials of a study: its state depends on what is stored alone."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial

from dcmaes._validation import FloatArray
from dcmaes.integrations.optuna._parameters import ParameterSpace
from dcmaes.integrations.optuna._trials import Ledger, observe
from dcmaes.strategies import Evaluations, Memory, Strategy

# How many former states are kept: a trial that turns up late costs replaying from the last state before it.
_N_CHECKPOINTS = 32
# Batches drawn for one trial before a point not yet evaluated is looked for around the best one.
_MAX_ROUNDS = 4
_BLOCK = 64
_INIT, _RESTART, _BATCH, _OTHER = range(4)


class _Row(NamedTuple):
    """A trial the strategy learns from, with its position in the order of completion."""

    position: int
    x: FloatArray
    value: float
    violation: float


class _Checkpoint(NamedTuple):
    """The strategy after it has learned from the first `n_rows` rows."""

    n_rows: int
    state: Any
    n_restarts: int


class _Known:
    """Which points need not be tried: those pending, seen or lost."""

    def __init__(self, pending: FloatArray, seen: dict[bytes, int], lost: dict[bytes, int]) -> None:
        self.pending = pending
        self.lost = lost
        self._sets = ({x.tobytes() for x in pending}, seen, lost)

    def contains(self, x: FloatArray) -> NDArray[np.bool_]:
        keys = (row.tobytes() for row in np.atleast_2d(x))
        return np.array([any(key in known for known in self._sets) for key in keys], dtype=np.bool_)


class Replay:
    """Leads a strategy through finished trials in portions that depend on their order alone.

    A portion is what the strategy waits for before it moves (`batch_size`); the draws made after it are a
    function of the seed and of what was learned until then, so a study that is stopped and loaded goes on as
    if nothing had happened. Every draw is a batch, handed out by trial number; workers that share a seed
    share the batches and take different points of them.

    Parameters
    ----------
    strategy : strategy
        What learns and draws.
    space : ParameterSpace
        Where to search.
    start : array of shape (k, d)
        Points to begin with, best first.
    budget : int
        How many trials the strategy should reckon with.
    state_seed : sequence of int
        Seed of everything the state depends on.
    sign : float
        1 to minimize the values of trials, -1 to maximize them.
    considers_pruned : bool
        Whether pruned trials are learned from.
    """

    def __init__(
        self,
        strategy: Strategy[Any],
        space: ParameterSpace,
        start: FloatArray,
        budget: int,
        state_seed: Sequence[int],
        sign: float,
        considers_pruned: bool,
    ) -> None:
        self.space = space
        self._strategy = strategy
        self._start = start
        self._state_seed = state_seed
        self._sign = sign
        self._considers_pruned = considers_pruned
        # Of the rows that the last checkpoint has learned from.
        self._memory = self._new_memory()
        first = strategy.init(space.sites, self._memory, budget, self._rng(state_seed, _INIT))
        self._checkpoints: deque[_Checkpoint] = deque([_Checkpoint(0, first, 0)])
        self._origin = self._checkpoints[0]
        self._rows: list[_Row] = []
        self._seen: dict[bytes, int] = {}
        self._lost: dict[bytes, int] = {}
        self._handed_out: dict[int, FloatArray] = {}
        self._n_read = 0
        self._n_insertions = 0
        self._batches: list[FloatArray] = []
        self._n_rounds = 0

    @property
    def state(self) -> Any:
        """The state of the strategy after all whole portions."""
        return self._checkpoints[-1].state

    @property
    def n_learned(self) -> int:
        """How many trials that state has learned from."""
        n_rows: int = self._checkpoints[-1].n_rows
        return n_rows

    def learn(self, ledger: Ledger) -> None:
        """Take in the trials that were not read yet, from the first one that is new in the order."""
        late = ledger.insertions[self._n_insertions :]
        self._n_insertions = len(ledger.insertions)
        if late and min(late) < self._n_read:
            self._rewind(min(late))
        for position in range(self._n_read, len(ledger.finished)):
            self._read(position, ledger.finished[position])
        self._n_read = len(ledger.finished)
        self._advance()

    def propose(self, number: int, running: Iterable[FrozenTrial], draw_seed: Sequence[int]) -> FloatArray:
        """Return the coded point for the trial of that number, shape (d,).

        Parameters
        ----------
        number : int
            Number of the trial.
        running : iterable of FrozenTrial
            Trials out for evaluation.
        draw_seed : sequence of int
            Seed of the draws.
        """
        known = _Known(self._pending(number, running), self._seen, self._lost)
        x = self._next(number, known, draw_seed)
        self._handed_out[number] = x
        return x

    def _pending(self, number: int, running: Iterable[FrozenTrial]) -> FloatArray:
        """Return the points of other trials out for evaluation: as handed out here, or as stored."""
        found = [self._point(trial) for trial in running if trial.number != number]
        return np.array([x for x in found if x is not None]).reshape(-1, self.space.sites.dimension)

    def _point(self, trial: FrozenTrial) -> FloatArray | None:
        handed_out = self._handed_out.get(trial.number)
        return self.space.encode(trial.params) if handed_out is None else handed_out

    def _next(self, number: int, known: _Known, draw_seed: Sequence[int]) -> FloatArray:
        for x in self._start:
            if not known.contains(x)[0]:
                return _as_row(x)
        is_exhausted = len(self._seen) + len(known.pending) >= self.space.size
        for batch in self._draws(known, 0 if is_exhausted else _MAX_ROUNDS, draw_seed):
            # Each number has its own place in a batch: workers that draw at one moment take different points.
            in_turn = np.roll(batch, -(number % len(batch)), axis=0)
            fresh = in_turn[~known.contains(in_turn)]
            if len(fresh):
                return _as_row(fresh[0])
        if is_exhausted:
            return _as_row(self._batches[-1][number % len(self._batches[-1])])
        return self._look_around(number, known, draw_seed)

    def draw_uniform(self, number: int, draw_seed: Sequence[int]) -> FloatArray:
        """Return a point drawn uniformly for the trial of that number, shape (d,)."""
        rng = self._rng(draw_seed, _OTHER, number)
        x = _as_row(self.space.sites.uniform(rng.random(self.space.sites.dimension)))
        self._handed_out[number] = x
        return x

    def _draws(self, known: _Known, n_new: int, draw_seed: Sequence[int]) -> Iterator[FloatArray]:
        """Yield the batches drawn since the last portion, then up to `n_new` new ones; at least one batch."""
        # Batches without a new point are of no use any more, but for repeating one of the last.
        self._batches = [b for b in self._batches if not known.contains(b).all()] or self._batches[-1:]
        yield from list(self._batches)
        for _ in range(n_new if self._batches else max(n_new, 1)):
            rng = self._rng(draw_seed, _BATCH, self.n_learned, self._n_rounds)
            size = max(1, self._strategy.batch_size(self.state))
            # The first batch must not depend on which of its points are told already; later ones know them.
            state, memory = self._with_rest(known) if self._n_rounds else (self.state, self._memory.copy())
            for i, row in enumerate(memory.codec.rows(known.pending)):
                memory.hand_out(i, row, memory.codec.key(row))
            batch = self._strategy.sample(state, size, rng, memory)
            self._n_rounds += 1
            self._batches.append(batch)
            yield batch

    def _look_around(self, number: int, known: _Known, draw_seed: Sequence[int]) -> FloatArray:
        """Change ever more parameters of the best point at random, until the point is a new one."""
        rng, sites = self._rng(draw_seed, _OTHER, number), self.space.sites
        shape = (_BLOCK, sites.dimension)
        best = min(self._rows, key=lambda row: (row.violation, row.value), default=None)
        x = sites.uniform(rng.random(shape[1])) if best is None else best.x
        for n_doublings in range(16):
            is_changed = rng.random(shape) < 2.0**n_doublings / sites.dimension
            changed = np.where(is_changed, sites.uniform(rng.random(shape)), x)
            fresh = changed[~known.contains(changed)]
            if len(fresh):
                return _as_row(fresh[0])
        return _as_row(changed[0])

    def _with_rest(self, known: _Known) -> tuple[Any, Memory]:
        """Return state and memory after all rows, also those that make no whole portion."""
        state, memory, rest = self.state, self._memory.copy(), self._rows[self.n_learned :]
        if rest:
            state = self._strategy.update(state, memory.tell(_evaluations(rest)), memory)
        for x in known.lost:
            (row,) = memory.codec.rows(np.frombuffer(x)[np.newaxis])
            memory.excluded[memory.codec.key(row)] = math.inf
        return state, memory

    def _new_memory(self) -> Memory:
        memory, n = Memory(self.space.sites), len(self._start)
        memory.starts = Evaluations(self._start, np.full(n, np.nan), np.zeros(n))
        return memory

    def _read(self, position: int, trial: FrozenTrial) -> None:
        handed_out = self._handed_out.pop(trial.number, None)
        observation = observe(trial, self._sign, considers_pruned=self._considers_pruned)
        x = self.space.encode(trial.params)
        if observation is not None and x is not None:
            self._rows.append(_Row(position, x, observation.value, observation.violation))
            key = x.tobytes()
            self._seen[key] = self._seen.get(key, 0) + 1
        elif (tried := handed_out if x is None else x) is not None:
            self._lost[tried.tobytes()] = position

    def _advance(self) -> None:
        """Let the strategy learn from every whole portion."""
        while True:
            n_rows, state, n_restarts = self._checkpoints[-1]
            size = max(1, self._strategy.batch_size(state))
            portion = self._rows[n_rows : n_rows + size]
            if len(portion) < size:
                return
            told = self._memory.tell(_evaluations(portion))
            state = self._strategy.update(state, told, self._memory)
            if self._strategy.convergence(state, self._memory) is not None:
                n_restarts += 1
                state = self._restarted(state, n_restarts)
            self._move_to(_Checkpoint(n_rows + size, state, n_restarts))

    def _move_to(self, checkpoint: _Checkpoint) -> None:
        """Go on from a new state: draws made before are void, and what was lost before may be tried again."""
        self._checkpoints.append(checkpoint)
        if len(self._checkpoints) > _N_CHECKPOINTS:
            self._checkpoints.popleft()
        self._batches, self._n_rounds = [], 0
        last = self._rows[checkpoint.n_rows - 1].position
        self._lost = {key: position for key, position in self._lost.items() if position > last}

    def _restarted(self, state: Any, n_restarts: int) -> Any:
        fresh = self._strategy.restart(state, self._rng(self._state_seed, _RESTART, n_restarts), self._memory)
        # A study goes on for as long as its user likes: without restarts of its own, the search begins anew.
        return self._origin.state if fresh is None else fresh

    def _rewind(self, n_same: int) -> None:
        """Go back to before the first trial whose place in the order has changed."""
        n_rows = sum(row.position < n_same for row in self._rows)
        for row in self._rows[n_rows:]:
            _discard(self._seen, row.x.tobytes())
        del self._rows[n_rows:]
        self._n_read = n_same
        self._batches, self._n_rounds = [], 0
        self._lost = {key: position for key, position in self._lost.items() if position < n_same}
        while self._checkpoints and self._checkpoints[-1].n_rows > n_rows:
            self._checkpoints.pop()
        if not self._checkpoints:
            self._checkpoints.append(self._origin)
        self._memory = self._new_memory()
        if self.n_learned:
            self._memory.tell(_evaluations(self._rows[: self.n_learned]))

    @staticmethod
    def _rng(seed: Sequence[int], *spawn_key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(list(seed), spawn_key=spawn_key))


def _discard(counts: dict[bytes, int], key: bytes) -> None:
    n_left = counts.pop(key) - 1
    if n_left:
        counts[key] = n_left


def _evaluations(rows: Sequence[_Row]) -> Evaluations:
    return Evaluations(
        np.array([row.x for row in rows]),
        np.array([row.value for row in rows]),
        np.array([row.violation for row in rows]),
    )


def _as_row(x: Any) -> FloatArray:
    row: FloatArray = np.asarray(x, dtype=np.float64)
    return row
