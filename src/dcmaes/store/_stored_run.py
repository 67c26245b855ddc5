"""A stored run in the user's terms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import ArgumentError
from dcmaes.run._history import statuses_of
from dcmaes.run._result import Result, result_of
from dcmaes.run._run import Run
from dcmaes.run._settings import StopReason
from dcmaes.run._trial import Reading
from dcmaes.space import Space
from dcmaes.store._reader import Reader
from dcmaes.store._restoring import rebuild
from dcmaes.store._schema import Sitting, is_held, translated_errors
from dcmaes.strategies import Strategy


class Pending(NamedTuple):
    """A pending trial; `since` is in seconds since 1970."""

    id: int
    point: Any
    since: float


class Span(NamedTuple):
    """When and by whom an evaluation was made, in seconds since 1970, and its status."""

    id: int
    worker: str
    started: float
    ended: float
    status: str


class Failure(NamedTuple):
    """An evaluation that failed: why in one line, where in the code if that is known, and who made it."""

    id: int
    point: Any
    reason: str
    traceback: str | None
    worker: str | None


class StoredRun:
    """A run as it stands in its store.

    Attributes
    ----------
    path : Path
        The file.
    space : Space
        What is searched.
    settings : dict
        "budget", "seed", "direction", "time_limit", "target", "patience", "duplicates", "on_error",
        "strategy" (a dict of "name" and "options"), "has_constraints", "versions" (of dcmaes, numpy and
        python), "created" (in seconds since 1970), and with several objectives "objectives" (a dict of
        "names", "directions" and "reference"). Limits and versions are those of the last sitting.
    history : History
        Every evaluation.
    pending : tuple of Pending
        The pending trials, oldest first.
    sittings : tuple of Sitting
        The processes that worked on it, one after the other.
    is_running : bool
        Whether one of them is at work.
    started, updated : float
        When the run began, and when something was last written, in seconds since 1970.
    timeline : tuple of Span
        The evaluations of which it is known who made them, in the order in which they were told.
    failures : tuple of Failure
        The evaluations that failed.
    losses : tuple of Loss
        The evaluations that had to be begun again.
    """

    def __init__(self, reader: Reader, space: Space | None, strategy: Strategy[Any] | None) -> None:
        self.path = reader.path
        self.is_running = is_held(reader.path)
        self.sittings: tuple[Sitting, ...] = tuple(reader.sittings())
        self._lacks_strategy = strategy is None and reader.identity()["strategy"]["options"] is None
        self._run: Run = rebuild(reader, space, strategy)
        self._optimizer_time = reader.optimizer_time()
        self.space: Space = self._run.space
        self.history = self._run.history
        self.settings = _settings(reader, self.sittings[-1])
        self.pending = tuple(
            Pending(trial.id, trial.point, since)
            for trial, since in zip(self._run.outstanding.values(), reader.pending_since(), strict=True)
        )
        told = [(trial.id, reading) for trial, reading in reader.told()]
        self.timeline = tuple(_span(*one) for one in told if one[1].worker is not None)
        self.failures = tuple(self._failures(told))
        self.losses = tuple(reader.losses())
        self.started = self.settings["created"]
        self.updated = reader.last_write()

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the run stopped; None if it is running or was killed."""
        stopped = self._stopped
        return None if stopped is None else next(r for r in StopReason if r.value == stopped.stop_reason)

    @property
    def message(self) -> str:
        """The same in one line, with the number that fired, or how far the run is."""
        if self._stopped is not None:
            return str(self._stopped.message)
        return self._run.message(self._run.rank(self._run.best()).violation)

    def result(self) -> Result:
        """Return the run as `minimize` returns it.

        Value, point and history are exact. Distribution and interactions are exact for a run that was ended;
        for one that goes on or was killed, what was evaluated in its last second is learned from once more,
        which may come out slightly differently.
        """
        return self._result

    @cached_property
    def _result(self) -> Result:
        if self._lacks_strategy:
            name = self.settings["strategy"]["name"]
            raise ArgumentError(
                f"the run in {str(self.path)!r} used a strategy of your own, {name!r}: pass strategy= to read"
            )
        with translated_errors(self.path):
            result = result_of(self._run, self._optimizer_time)
            return replace(result, stop_reason=self.stop_reason, message=self.message)

    def _failures(self, told: list[tuple[int, Reading]]) -> Iterator[Failure]:
        n_given = len(self.history) - len(told)
        for i, (trial_id, reading) in enumerate(told, start=n_given):
            if reading.reason is not None:
                point, worker = self.history[i].point, reading.worker
                yield Failure(trial_id, point, reading.reason, reading.traceback, worker)

    @property
    def _stopped(self) -> Sitting | None:
        last = self.sittings[-1]
        return last if last.stop_reason is not None else None

    def __repr__(self) -> str:
        return f"<StoredRun {str(self.path)!r}: {self.message}>"


def read(
    path: str | os.PathLike[str], *, space: Space | None = None, strategy: Strategy[Any] | None = None
) -> StoredRun:
    """Return what is in the store at `path`, as of now; the file is not changed, and no code of it is run.

    Parameters
    ----------
    path : path
        A file that `minimize(..., store=path)` wrote or is writing, or that `Optimizer.save` wrote.
    space : Space
        Needed if the choices of the space are not plain data.
    strategy : strategy
        Needed, for distribution and interactions, if the run used a strategy object of your own.

    Raises
    ------
    StoreError
        If there is no such file, or it is something else or damaged.

    Examples
    --------
    >>> import dcmaes as dc, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> result = dc.minimize(sum, dc.Space.binary(4), budget=8, seed=0, store=path)
    >>> run = dc.store.read(path)
    >>> run.settings["budget"], len(run.history), run.is_running
    (8, 8, False)
    >>> run.result().fun == result.fun
    True
    """
    with Reader.opened(path) as reader, translated_errors(reader.path):
        return StoredRun(reader, space, strategy)


def _settings(reader: Reader, last: Sitting) -> dict[str, Any]:
    identity = reader.identity()
    kept = ("seed", "direction", "duplicates", "strategy", "has_constraints", "created")
    several = {"objectives": identity["objectives"]} if "objectives" in identity else {}
    return {**last.limits, **{key: identity[key] for key in kept}, **several, "versions": last.versions}


def _span(trial_id: int, reading: Reading) -> Span:
    started, status = reading.started_at, str(statuses_of(np.array(reading.violation)))
    return Span(trial_id, str(reading.worker), started, started + reading.seconds, status)
