"""What is written of a run, one row for each thing."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class TrialRow(NamedTuple):
    """A trial that was handed out: its point as a row of bytes, and when (seconds since 1970).

    `is_again` is 1 if it is to make sure of a point that is known, otherwise 0.
    """

    id: int
    point: bytes
    restart: int
    asked_at: float
    is_again: int


class EvaluationRow(NamedTuple):
    """The result of one trial, in the user's sign.

    Attributes
    ----------
    trial : int
        Number of the trial.
    value, violation : float
        NaN and infinite for a failure.
    reason, traceback : str or None
        Why it failed, in one line and in full.
    seconds : float
        How long the objective took; NaN if not known.
    told_at : float
        Seconds from the start of the run to the tell; NaN before the tell.
    worker : str or None
        Who evaluated it.
    started_at : float
        When the evaluation began, in seconds since 1970; NaN if not known.
    """

    trial: int
    value: float
    violation: float
    reason: str | None = None
    traceback: str | None = None
    seconds: float = math.nan
    told_at: float = math.nan
    worker: str | None = None
    started_at: float = math.nan


class LossRow(NamedTuple):
    """An evaluation that was lost through no fault of its own, and started again."""

    trial: int
    reason: str
    worker: str | None
    at: float


class Ask(NamedTuple):
    """A call of ask: how many were wanted, and which trials were handed out."""

    n: int | None
    first_trial: int
    n_trials: int


class Sitting(NamedTuple):
    """A session: one process using the store, from opening to closing it; times in seconds since 1970.

    `ended`, `stop_reason`, `message` and `optimizer_time` are None for one that is at work or was killed.
    """

    id: int
    pid: int
    host: str
    started: float
    ended: float | None
    limits: dict[str, Any]
    versions: dict[str, str]
    stop_reason: str | None
    message: str | None
    optimizer_time: float | None


class Snapshot(NamedTuple):
    """Where the run was after event `seq`, without the evaluations, which are in their table."""

    seq: int
    data: bytes
