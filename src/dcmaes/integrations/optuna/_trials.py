"""What the trials of a study say, and warm starts: the best points of earlier studies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from dcmaes._validation import FloatArray, IntArray
from dcmaes.integrations.optuna._parameters import ParameterSpace
from dcmaes.optimizer import Outcome
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
