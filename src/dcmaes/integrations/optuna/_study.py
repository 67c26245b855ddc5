"""A study: what its trials say, warm starts from earlier ones, and an optimizer that follows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from dcmaes._validation import FloatArray, IntArray
from dcmaes.integrations.optuna._parameters import Branches, ParameterSpace
from dcmaes.optimizer import Optimizer, Outcome, StopReason
from dcmaes.pareto import hypervolume_gains, is_nondominated, unit_values

CONSTRAINTS_KEY = "constraints"
# What an infinitely good value counts as.
_LARGEST = 1e300
# The best so many points of earlier studies are tried first.
N_WARM = 5
# Where the hypervolume by which points of a front are chosen counts from, in units of the front: far enough
# for its ends to count.
_REFERENCE = 2.0
# The points from which it is estimated for more than two objectives.
_N_SPREAD = 1000
# Trials are learned from in portions of so many, and a batch of so many points is drawn after each.
_PORTION = 4
# After so many more evaluations, a point whose trial failed may be proposed again.
_PAUSE = 8
# A study goes on for as long as its user likes.
_UNLIMITED = 2**62


class StudyView:
    """What is known of one study; all of it can be had again from the storage."""

    def __init__(self, storage: Any, given: Mapping[str, BaseDistribution] | None) -> None:
        # Keeps the storage alive, so that its identity in the key of this object stays unique.
        self.storage = storage
        self.trial_number = -1
        self.finished: list[FrozenTrial] = []
        self.running: list[FrozenTrial] = []
        self.handed_out: dict[int, dict[str, Any]] = {}
        self.follower: Follower | None = None
        self._given = given
        self._begin()

    def _begin(self) -> None:
        self.branches = Branches(self._given)
        self.followed: tuple[Any, ...] = ()
        self.n_complete = 0

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in the trials of the study: those that are new, or all, if one turned up late."""
        before, self.finished = self.finished, finished(trials)
        self.running = [trial for trial in trials if trial.state == TrialState.RUNNING]
        n_before = len(before)
        if [trial.number for trial in self.finished[:n_before]] != [trial.number for trial in before]:
            self._begin()
            n_before = 0
        new = self.finished[n_before:]
        self.branches.learn(new)
        self.n_complete += sum(trial.state == TrialState.COMPLETE for trial in new)


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


def is_maximized(study: Study) -> list[bool]:
    """Tell for each objective of a study whether it is maximized."""
    return [direction == StudyDirection.MAXIMIZE for direction in study.directions]


def outcome(trial: FrozenTrial, *, maximized: Sequence[bool], considers_pruned: bool) -> Outcome | None:
    """Return what to tell of a finished trial, or None for nothing: failed trials count as deleted.

    A pruned trial is worth the last value it reported; with several objectives Optuna knows no such values.
    An infinitely bad value is a failed evaluation.
    """
    values = None
    if trial.state == TrialState.COMPLETE:
        values = trial.values
    elif trial.state == TrialState.PRUNED and considers_pruned and trial.intermediate_values:
        values = [trial.intermediate_values[max(trial.intermediate_values)]]
    if values is None or len(values) != len(maximized) or any(math.isnan(value) for value in values):
        return None
    finite = tuple(
        min(value, _LARGEST) if is_high else max(value, -_LARGEST)
        for value, is_high in zip(values, maximized, strict=True)
    )
    return Outcome(finite if len(finite) > 1 else finite[0], violation(trial))


def minimized(values: Sequence[float], maximized: Sequence[bool]) -> list[float]:
    """Return values of several objectives as those to be minimized, none of them infinitely good.

    >>> minimized([3.0, math.inf], [False, True])
    [3.0, -1e+300]
    """
    pairs = zip(values, maximized, strict=True)
    return [max(-value if is_high else value, -_LARGEST) for value, is_high in pairs]


def violation(trial: FrozenTrial) -> float:
    """Return the total violation of the constraints stored with a trial: the sum of the positive ones."""
    stored = trial.system_attrs
    values = list(stored.get(CONSTRAINTS_KEY) or ())
    values += [value for key, value in stored.items() if key.startswith(f"{CONSTRAINTS_KEY}:")]
    return math.fsum(max(value, 0.0) for value in values)


def finished(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials that are finished in the order of their completion."""
    done = (trial for trial in trials if trial.state.is_finished())
    return sorted(done, key=lambda trial: (trial.datetime_complete or datetime.max, trial.number))


def read_warm_start(
    warm_start: Study | Sequence[Study] | Sequence[FrozenTrial],
) -> list[list[Mapping[str, Any]]]:
    """Return the parameters of the complete trials of each earlier study, best first.

    Trials without a study count as minimized.
    """
    if isinstance(warm_start, Study):
        warm_start = [warm_start]
    items: list[Any] = list(warm_start)
    if all(isinstance(item, FrozenTrial) for item in items):
        n_values = {len(item.values or ()) for item in items if item.state == TrialState.COMPLETE}
        if len(n_values) > 1:
            raise ValueError(
                f"warm_start must be studies, or trials of one study, got trials of {sorted(n_values)} values"
            )
        return [_ranked(items, [False] * max(n_values, default=1))] if items else []
    if not all(isinstance(item, Study) for item in items):
        raise TypeError(f"warm_start must be studies, or trials of one study, got {warm_start!r}")
    return [_ranked(study.get_trials(deepcopy=False), is_maximized(study)) for study in items]


def _ranked(trials: Sequence[FrozenTrial], maximized: Sequence[bool]) -> list[Mapping[str, Any]]:
    """Return the parameters of complete trials: feasible ones first, by value or by fronts."""
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE and trial.values is not None]
    if len(maximized) == 1:
        sign = -1.0 if maximized[0] else 1.0
        complete.sort(key=lambda trial: (violation(trial), sign * trial.values[0]))
        return [trial.params for trial in complete]
    values = np.array([minimized(trial.values, maximized) for trial in complete])
    values = values.reshape(-1, len(maximized))
    is_infinite = (values == math.inf).any(axis=1)
    violations = np.array([violation(trial) for trial in complete])
    counting = np.flatnonzero((violations == 0.0) & ~is_infinite)
    first = counting[spread_out(values[counting], N_WARM)].tolist()
    rest = np.lexsort((is_infinite, violations)).tolist()
    return [complete[i].params for i in dict.fromkeys([*first, *rest])]


def spread_out(values: FloatArray, n: int) -> IntArray:
    """Return the first points to try, at most `n`, where there are several objectives, to be minimized.

    They are points of the front, each time the one that adds most to the hypervolume of those before; if the
    front has fewer, then points of the front of the others, and so on.

    Parameters
    ----------
    values : array of shape (n_points, m)

    Examples
    --------
    >>> spread_out(np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.2, 0.2], [3.0, 3.0]]), 5)
    array([3, 0, 2, 1, 4])
    """
    order: list[int] = []
    left = np.arange(len(values))
    reference = np.full(values.shape[1], _REFERENCE)
    while len(left) and len(order) < n:
        is_first = is_nondominated(values[left])
        front, left = left[is_first], left[~is_first]
        scaled, is_taken = unit_values(values[front]), np.zeros(len(front), dtype=bool)
        for _ in range(min(len(front), n - len(order))):
            gains = hypervolume_gains(scaled, scaled[is_taken], reference, n_spread=_N_SPREAD)
            best = int(np.where(is_taken, -1.0, gains).argmax())
            is_taken[best] = True
            order.append(int(front[best]))
    return np.array(order, dtype=np.int64)


def first_points(
    groups: Sequence[Sequence[Mapping[str, Any]]], space: ParameterSpace
) -> list[dict[str, Any]]:
    """Return the best points of earlier studies that are in the space, the studies taking turns."""
    in_turn = chain.from_iterable(zip_longest(*groups))
    found: list[dict[str, Any]] = []
    for params in in_turn:
        point = None if params is None else space.point(params)
        if point is not None and point not in found and len(found) < N_WARM:
            found.append(point)
    return found
