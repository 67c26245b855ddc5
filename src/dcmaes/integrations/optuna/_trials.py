"""What the trials of a study say: their values, their violations, and in which order they were finished."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from dcmaes.optimizer import Outcome

CONSTRAINTS_KEY = "constraints"
# What an infinitely good value counts as.
_LARGEST = 1e300


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
    return sorted((trial for trial in trials if trial.state.is_finished()), key=_completion)


def _completion(trial: FrozenTrial) -> tuple[datetime, int]:
    return trial.datetime_complete or datetime.max, trial.number
