"""The stored trials of a study, read a little at a time: what is new, in the order of completion."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

CONSTRAINTS_KEY = "constraints"


class Observation(NamedTuple):
    """What a finished trial says of its parameters: the value is the one to be minimized."""

    params: Mapping[str, Any]
    value: float
    violation: float


def observe(trial: FrozenTrial, sign: float, *, considers_pruned: bool) -> Observation | None:
    """Return what a finished trial says, or None if that is nothing: failed trials count as deleted.

    A pruned trial is worth the last value it reported. An infinitely bad value ranks last, like a failure.
    """
    if trial.state == TrialState.COMPLETE:
        value = trial.value
    elif trial.state == TrialState.PRUNED and considers_pruned and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    else:
        return None
    if value is None or math.isnan(value):
        return None
    value *= sign
    if value == math.inf:
        return Observation(trial.params, math.nan, math.inf)
    return Observation(trial.params, max(value, -1e300), violation(trial))


def violation(trial: FrozenTrial) -> float:
    """Return the total violation of the constraints stored with a trial: the sum of the positive ones."""
    stored = trial.system_attrs
    values = list(stored.get(CONSTRAINTS_KEY) or ())
    values += [value for key, value in stored.items() if key.startswith(f"{CONSTRAINTS_KEY}:")]
    return math.fsum(max(value, 0.0) for value in values)


class Ledger:
    """Finished trials in the order of their completion, and those still running.

    Reading again costs time for what is new or was unfinished, not for what was read before. Trials may turn
    up late (workers with different clocks, trials added by hand); they are put where they belong in the
    order, so that it depends on what is stored alone.

    Attributes
    ----------
    finished : list of FrozenTrial
        Ordered by time of completion, then number.
    running : list of FrozenTrial
        Started and not finished, ordered by number.
    search_space : dict of str to distribution
        The parameters that every complete trial has with the same distribution, ordered by name.
    n_complete : int
        How many trials are complete.
    insertions : list of int
        The positions at which trials turned up late, in the order in which they did.
    """

    def __init__(self) -> None:
        self.finished: list[FrozenTrial] = []
        self.running: list[FrozenTrial] = []
        self.search_space: dict[str, BaseDistribution] = {}
        self.n_complete = 0
        self.insertions: list[int] = []
        self._open: list[int] = []
        self._next_number = 0

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in the trials of the study, which are ordered by number."""
        unread = self._unread(trials)
        self._next_number = max(self._next_number, trials[-1].number + 1 if trials else 0)
        self._open = [trial.number for trial in unread if not trial.state.is_finished()]
        self.running = [trial for trial in unread if trial.state == TrialState.RUNNING]
        for trial in sorted((trial for trial in unread if trial.state.is_finished()), key=_completion):
            self._add(trial)

    def _unread(self, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """Return the trials that were unfinished when last seen, or not seen yet."""
        first_new = bisect_left(trials, self._next_number, key=lambda trial: trial.number)
        unread = []
        for number in self._open:
            position = bisect_left(trials, number, key=lambda trial: trial.number)
            if position < len(trials) and trials[position].number == number:
                unread.append(trials[position])
        return [*unread, *trials[first_new:]]

    def _add(self, trial: FrozenTrial) -> None:
        if self.finished and _completion(trial) < _completion(self.finished[-1]):
            position = bisect_left(self.finished, _completion(trial), key=_completion)
            self.finished.insert(position, trial)
            self.insertions.append(position)
        else:
            self.finished.append(trial)
        if trial.state == TrialState.COMPLETE:
            self._intersect(trial.distributions)

    def _intersect(self, distributions: Mapping[str, BaseDistribution]) -> None:
        if self.n_complete == 0:
            self.search_space = dict(sorted(distributions.items()))
        elif any(distributions.get(name) != kept for name, kept in self.search_space.items()):
            self.search_space = {
                name: kept for name, kept in self.search_space.items() if distributions.get(name) == kept
            }
        self.n_complete += 1


def _completion(trial: FrozenTrial) -> tuple[datetime, int]:
    return trial.datetime_complete or datetime.max, trial.number
