"""What the trials of a study say: their values, their violations, and in which order they were finished."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from optuna.trial import FrozenTrial, TrialState

from dcmaes.optimizer import Outcome

CONSTRAINTS_KEY = "constraints"
# What an infinitely good value counts as.
_LARGEST = 1e300


def outcome(trial: FrozenTrial, *, is_maximized: bool, considers_pruned: bool) -> Outcome | None:
    """Return what to tell of a finished trial, or None for nothing: failed trials count as deleted.

    A pruned trial is worth the last value it reported. An infinitely bad value is a failed evaluation.
    """
    value = None
    if trial.state == TrialState.COMPLETE:
        value = trial.value
    elif trial.state == TrialState.PRUNED and considers_pruned and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    if value is None or math.isnan(value):
        return None
    value = min(value, _LARGEST) if is_maximized else max(value, -_LARGEST)
    return Outcome(value, violation(trial))


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
