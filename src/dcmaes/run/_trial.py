"""Trials, and what can be told of them."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from dcmaes._validation import check_list, check_number

if TYPE_CHECKING:
    from dcmaes.run._objectives import Objectives

_MAX_REASON = 500
_MAX_TRACEBACK = 10_000


class FrozenPoint(dict[str, Any]):
    """A point of a named space that refuses changes; copied, pickled or unpacked it is a plain dict.

    >>> import json
    >>> point = FrozenPoint(layers=2, act="relu")
    >>> json.dumps(point), dict(**point)
    ('{"layers": 2, "act": "relu"}', {'layers': 2, 'act': 'relu'})
    >>> point["layers"] = 3
    Traceback (most recent call last):
    TypeError: the point of a trial is read-only; change a copy of it: dict(trial.point)
    """

    __slots__ = ()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("the point of a trial is read-only; change a copy of it: dict(trial.point)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def freeze(point: Any) -> Any:
    """Return a point of a space as it is kept and shown: a dict that refuses changes; arrays already do."""
    return FrozenPoint(point) if type(point) is dict else point


def thaw(point: Any) -> Any:
    """Return a fresh copy of a point for user code, which may do with it what it likes."""
    return dict(point) if isinstance(point, dict) else point.copy()


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A point handed out for evaluation.

    Attributes
    ----------
    id : int
        Consecutive number of the trial in its run.
    point : dict or array of shape (d,)
        The point to evaluate, read-only: a dict for named spaces, an array for positional ones.
    row : bytes
        The same point as the run keeps it.
    restart : int
        How often the search had been restarted when it was asked for.
    is_again : bool
        Whether it is to make sure of a point that is known.

    Examples
    --------
    >>> import dcmaes as dc
    >>> opt = dc.Optimizer(dc.Space({"a": dc.Integer(3, 3)}), budget=5)
    >>> opt.ask(1)
    [Trial(id=0, point={'a': 3})]
    """

    id: int
    point: Any
    row: bytes = field(default=b"", repr=False)
    restart: int = field(default=0, repr=False)
    is_again: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A value with its constraint violation, for an objective that computes both.

    Attributes
    ----------
    value : float, or several
        The value; may be None or NaN where the point is infeasible and has none. With several objectives a
        tuple or a dict of all values.
    violation : float
        How much the constraints are violated in total; zero or less is feasible.

    Examples
    --------
    >>> import dcmaes as dc
    >>> def weight(x):
    ...     return dc.Outcome(value=x.sum(), violation=3 - x.sum())  # at least three
    >>> dc.minimize(weight, dc.Space.binary(4), budget=16, seed=0).fun
    3.0
    """

    value: Any
    violation: Any = 0.0


class Reading(NamedTuple):
    """What was told of a trial, checked.

    Attributes
    ----------
    value, violation : float, or several values
        In the user's sign; NaN and infinite for a failure. Of several objectives a tuple of all values, which
        are all NaN if there are none.
    reason, error, traceback : str, exception, str, or None
        Why it failed, the exception if there was one, and its traceback as text.
    seconds : float
        How long it took; NaN if that is not known.
    worker : str or None
        Who evaluated it.
    started_at : float
        When, in seconds since 1970; NaN if that is not known.
    told_at : float
        When it was told, in seconds from the start of the run; NaN if it was not yet.
    """

    value: Any
    violation: float
    reason: str | None = None
    error: BaseException | None = None
    traceback: str | None = None
    seconds: float = math.nan
    worker: str | None = None
    started_at: float = math.nan
    told_at: float = math.nan


def failure(reason: str, error: BaseException | None = None) -> Reading:
    """Return the reading of an evaluation that gave nothing to rank the point by."""
    reason = writable(reason)
    shown = reason if len(reason) <= _MAX_REASON else reason[: _MAX_REASON - 3] + "..."
    return Reading(math.nan, math.inf, shown, error, None if error is None else _trace(error))


def read(told: Any, objectives: Objectives | None = None) -> Reading:
    """Return what was told as a reading: never raises, anything that is no finite number is a failure.

    Zero has one sign only, as in a store. If there are several objectives, there must be a number for each.

    >>> read(np.float32(0.5))[:3]
    (0.5, 0.0, None)
    >>> read("0.5").reason
    "no number: the string '0.5'"
    """
    if objectives is None and type(told) is float and math.isfinite(told):
        return Reading(told + 0.0, 0.0)
    if type(told) is Reading:
        return told
    if isinstance(told, BaseException):
        return failure(describe(told), told)
    violation = 0.0
    if isinstance(told, Outcome):
        violation, reason = read_number(told.violation)
        if reason:
            return failure(f"violation is {reason}")
        violation, told = max(violation, 0.0) + 0.0, told.value
    value, reason = read_number(told) if objectives is None else objectives.read_values(told)
    # Where a point is infeasible it may have no value.
    return failure(reason) if reason and violation == 0.0 else Reading(value, violation)


def read_many(values: Any, seconds: Any, n: int, objectives: Objectives | None) -> list[Reading]:
    """Return what was told of n trials, with how long they took if that is known, or raise."""
    readings = [read(value, objectives) for value in _as_list("values", values, n)]
    if seconds is None:
        return readings
    times = [check_seconds(spent) for spent in _as_list("seconds", seconds, n)]
    return [reading._replace(seconds=spent) for reading, spent in zip(readings, times, strict=True)]


def check_seconds(seconds: Any) -> float:
    """Return how long an evaluation took, NaN if that is not known, or raise.

    >>> check_seconds(2)
    2.0
    """
    is_unknown = isinstance(seconds, (float, np.floating)) and math.isnan(seconds)
    return math.nan if is_unknown else check_number("seconds", seconds, low=0.0)


def _as_list(name: str, values: Any, n: int) -> list[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    found = check_list(name, values, f"a sequence of {n}, one for each trial")
    if len(found) != n:
        raise ValueError(f"{name} must be a sequence of {n}, one for each trial, got {len(found)}")
    return found


def describe(error: BaseException) -> str:
    """Return an exception in one line.

    >>> describe(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    try:
        text = str(error)
    except Exception:  # a broken __str__ must not take the evaluation with it
        text = "(its message cannot be shown)"
    return writable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def writable(text: str) -> str:
    r"""Return a text that can be written to any file: half characters, as in odd file names, are spelled out.

    >>> writable("data\udcff.csv")
    'data\\udcff.csv'
    """
    return text.encode(errors="backslashreplace").decode()


def _trace(error: BaseException) -> str | None:
    """Return the end of the traceback, or None if the exception was never raised or cannot be shown."""
    if error.__traceback__ is None:
        return None
    try:
        return writable("".join(traceback.format_exception(error)))[-_MAX_TRACEBACK:]
    except Exception:  # a broken __str__ must not take the evaluation with it
        return None


def read_number(told: Any) -> tuple[float, str]:
    """Return a finite number and no reason, or NaN and why there is none."""
    if told is None:
        return math.nan, "no number: None (is a return missing?)"
    if isinstance(told, (str, bytes)):
        return math.nan, f"no number: the string {told!r}"
    if isinstance(told, np.ndarray):
        if told.size != 1:
            return math.nan, f"no number: an array of shape {told.shape}"
        told = told.reshape(())[()]
    if isinstance(told, (complex, np.complexfloating)):
        return math.nan, f"no real number: {told}"
    try:
        value = float(told)
    except OverflowError:
        return math.nan, "a number too large for a float"
    except Exception:
        return math.nan, f"no number: an object of type {type(told).__name__}"
    if math.isfinite(value):
        return value + 0.0, ""
    return math.nan, f"not finite: {value}"
