"""An optimizer that follows a study: told of every trial, whoever proposed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from dcmaes.integrations.optuna._parameters import ParameterSpace
from dcmaes.optimizer import Optimizer, Outcome, StopReason

# Trials are learned from in portions of so many, and a batch of so many points is drawn after each.
_PORTION = 4
# After so many more evaluations, a point whose trial failed may be proposed again.
_PAUSE = 8
# A study goes on for as long as its user likes.
_UNLIMITED = 2**62


class Follower:
    """Translates between a study and an optimizer.

    What the optimizer learns depends on the finished trials alone, in the order of their completion. It is
    never asked: points are drawn by forks of it, so that they are a function of the seed and of what was
    learned. A study that is stopped and loaded goes on as if nothing had happened, and workers with the same
    seed, who draw the same batch, take different points of it.

    Parameters
    ----------
    space : ParameterSpace
        Where to search.
    start : list of points
        What to try first.
    make : callable
        Takes a space and `x0` and returns an optimizer.
    read : callable
        Takes a finished trial and returns what to tell of it, or None.
    handed_out : dict of int to dict
        The parameters that were proposed for trials, by their number, until these are learned from.

    Attributes
    ----------
    optimizer : Optimizer
        What was learned.
    """

    def __init__(
        self,
        space: ParameterSpace,
        start: Sequence[Mapping[str, Any]],
        make: Callable[[ParameterSpace, Any], Optimizer],
        read: Callable[[FrozenTrial], Outcome | None],
        handed_out: dict[int, dict[str, Any]],
    ) -> None:
        self.space = space
        self._start = [dict(point) for point in start]
        self._make = make
        self._read = read
        self._handed_out = handed_out
        self.optimizer = make(space, self._start or None)
        self._n_told = 0
        self._rest: Sequence[FrozenTrial] = ()
        self._lost: list[tuple[int, Mapping[str, Any]]] = []
        self._batch: list[Mapping[str, Any]] | None = None

    def learn(self, finished: Sequence[FrozenTrial]) -> None:
        """Tell the optimizer of the whole portions that are new; what it knows already must be the same."""
        n_whole = len(finished) - len(finished) % _PORTION
        for trial in finished[self._n_told : n_whole]:
            self._batch = None
            if (lost := self._tell(self.optimizer, trial)) is not None:
                self._lost.append((len(self.optimizer.history) + _PAUSE, lost))
            if self.optimizer.should_stop() is StopReason.CONVERGED:
                # Without restarts of its own, the search begins anew with what is known.
                self.optimizer = self._make(self.space, self.optimizer.history)
            self._handed_out.pop(trial.number, None)
        self._n_told, self._rest = n_whole, finished[n_whole:]

    def propose(self, number: int, running: Iterable[FrozenTrial], seed: Sequence[int]) -> dict[str, Any]:
        """Return the parameters for the trial of that number."""
        out = self._out(number, running)
        taken = [self._point(trial) for trial in self._rest]
        fresh = [] if out else [point for point in self._whole_batch(number, seed) if point not in taken]
        if not fresh:  # there are other workers, which the next points should take into account
            optimizer = self.current(self._seed([*seed, len(self._rest)]))
            for point in out:
                optimizer.attach(point)
            fresh = self._in_turn(number, _asked(optimizer))
        # Nothing is left when every point is known.
        return self._hand_out(number, fresh[0] if fresh else {}, seed)

    def current(self, seed: int) -> Optimizer:
        """Return a fork of the optimizer that knows all finished trials, also those after whole portions."""
        optimizer = self.optimizer.fork(seed, budget=_UNLIMITED)
        for trial in self._rest:
            if (lost := self._tell(optimizer, trial)) is not None:
                optimizer.attach(lost)
        return optimizer

    def _seed(self, seed: Sequence[int]) -> int:
        sequence = np.random.SeedSequence([*seed, self._n_told])
        return int(sequence.generate_state(1, np.uint64)[0])

    def _whole_batch(self, number: int, seed: Sequence[int]) -> list[Mapping[str, Any]]:
        """Return the points that were drawn after the last portion, those for the number first."""
        if self._batch is None:
            self._batch = _asked(self.optimizer.fork(self._seed(seed), budget=_UNLIMITED))
        return self._in_turn(number, self._batch)

    def _in_turn(self, number: int, batch: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return a batch from the place of a trial on: workers that draw at one moment take other points."""
        if not batch or batch[0] in self._start:
            return batch
        place = number % len(batch)
        return batch[place:] + batch[:place]

    def draw(self, number: int, seed: Sequence[int]) -> dict[str, Any]:
        """Return uniform parameters for the trial of that number."""
        return self._hand_out(number, {}, seed)

    def _hand_out(self, number: int, point: Mapping[str, Any], seed: Sequence[int]) -> dict[str, Any]:
        """Return the parameters of a point, and some for when it turns out that more are asked for."""
        params = self.space.params(point, fill=np.random.default_rng([*seed, number]))
        self._handed_out[number] = params
        return dict(params)

    def _out(self, number: int, running: Iterable[FrozenTrial]) -> list[Mapping[str, Any]]:
        """Return the points of other trials that are running, or were lost not long ago."""
        points = [self._point(trial) for trial in running if trial.number != number]
        n_known = len(self.optimizer.history)
        return [point for point in points if point] + [
            point for until, point in self._lost if until > n_known
        ]

    def _point(self, trial: FrozenTrial) -> Any:
        """Return the point of a trial: as stored or, if that is not all there, as handed out."""
        return self.space.point(trial.params) or self.space.point(self._handed_out.get(trial.number, {}))

    def _tell(self, optimizer: Optimizer, trial: FrozenTrial) -> Any:
        """Tell what a finished trial says; if that is nothing, return its point, where it is known."""
        outcome = self._read(trial)
        # What was not asked for though it should have been made no difference: any value will do.
        point = self.space.point(trial.params, fill=np.random.default_rng(trial.number))
        if point is None or outcome is None:
            return self._point(trial)
        optimizer.tell(optimizer.attach(point), outcome)
        return None


def _asked(optimizer: Optimizer) -> list[Mapping[str, Any]]:
    return [trial.point for trial in optimizer.ask(_PORTION)]
