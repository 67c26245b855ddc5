"""What is said of a run while it goes on: how far it is, and what goes to the standard `logging` module."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._guards import single_thread
from dcmaes.progress._display import Standing, describe_point, estimate_left, open_display, printable
from dcmaes.run._run import Run

if TYPE_CHECKING:
    from dcmaes.optimizer._evaluators import Evaluator
    from dcmaes.optimizer._optimizer import Optimizer

# A step size is worth a twentieth of the time at most: some strategies have to compute much for it.
_SHARE = 20.0
LOGGER = logging.getLogger("dcmaes")
LOGGER.addHandler(logging.NullHandler())


def standing_of(run: Run, own_time: float) -> Standing:
    """Return how far a run is; what is running, and for how long still, is not known here."""
    index = run.best()
    best = None if index is None else run.history[index]
    violation, value = run.rank(index)
    return Standing(
        n_told=run.n_told,
        budget=run.settings.budget,
        n_failures=run.memory.n_failures,
        n_restarts=run.search.n_restarts,
        best_value=run.settings.sign * value,
        best_violation=0.0 if best is None else violation,
        best_point=None if best is None else best.point,
        best_number=0 if index is None else run.number(index),
        best_at=math.nan if best is None or best.is_given else best.told_at,
        elapsed=run.elapsed,
        objective_time=run.objective_time,
        own_time=own_time,
        strategy=run.strategy.name,
        n_front=len(run.memory.front),
    )


class Observer:
    """Look at an optimizer, from any thread, as often as one likes.

    Attributes
    ----------
    evaluator : Evaluator or None
        What evaluates its trials, if known; it knows which of them are running.

    >>> import dcmaes as dc
    >>> observe = Observer(dc.Optimizer(dc.Space.binary(3), budget=300, strategy="random"))
    >>> observe().n_told, observe().budget
    (0, 300)
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.evaluator: Evaluator | None = None
        self._optimizer = optimizer
        self._begun = time.monotonic()
        self._n_before = optimizer.n_evaluations
        self._state: Any = None
        self._step_size = math.nan
        self._not_before = -math.inf
        self._failure = ""
        self._n_seen = 0

    def __call__(self) -> Standing:
        """Return how far the optimizer is."""
        optimizer, run, evaluator = self._optimizer, self._optimizer._run, self.evaluator
        with optimizer._lock:
            standing = replace(
                standing_of(run, optimizer._own_time),
                # Trials that wait for a worker do not count as running.
                n_running=0 if evaluator is None else min(evaluator.n_running, evaluator.n_slots),
                n_pending=len(run.outstanding) if evaluator is None else 0,
                last_failure=self._find_failure(),
            )
            state = run.search.state
        seconds = time.monotonic() - self._begun
        left = estimate_left(standing, self._n_before, seconds, run.settings.time_limit)
        return replace(standing, seconds_left=left, step_size=self._find_step_size(state))

    def _find_failure(self) -> str:
        """Return the last reason of a failure; each evaluation is looked at once."""
        memory = self._optimizer._run.memory
        for index in range(self._n_seen, len(memory)):
            self._failure = memory.reason(index) or self._failure
        self._n_seen = len(memory)
        return self._failure

    def _find_step_size(self, state: Any) -> float:
        run, now = self._optimizer._run, time.monotonic()
        if state is not self._state and now >= self._not_before:
            self._state = state
            with contextlib.suppress(Exception), single_thread():
                self._step_size = float(run.strategy.summary(state, run.memory).step_size)
            done = time.monotonic()
            self._not_before = done + _SHARE * (done - now)
        return self._step_size


@contextmanager
def show_progress(optimizer: Optimizer, progress: bool | None) -> Iterator[Observer]:
    """Show how far the optimizer is while the body runs, and why it stopped at the end.

    Gives what looks at it, to be told what evaluates.

    Parameters
    ----------
    optimizer : Optimizer
        The run.
    progress : bool or None
        See `minimize`.
    """
    observer = Observer(optimizer)
    display = open_display(observer, optimizer.budget, progress)
    if display is None:
        yield observer
        return

    def update(optimizer: Optimizer) -> None:
        display.update(optimizer.n_evaluations)

    optimizer._callbacks += (update,)
    try:
        yield observer
    finally:
        display.close(optimizer.result().message)


class RunLog:
    """The log of one run: its start and its stop, improvements (INFO) and failures (WARNING)."""

    def __init__(self) -> None:
        self._has_begun = False
        self._has_ended = False

    def begin(self, run: Run) -> None:
        """Say what is searched, the first time that something is asked for."""
        if not self._has_begun:
            self._has_begun = True
            settings, space = run.settings, run.space
            LOGGER.info(
                "%s %d variables with %s: budget %d, seed %d, %d evaluations told",
                *(settings.direction, space.dimension, run.strategy.name),
                *(settings.budget, settings.seed, run.n_told),
            )

    def tell(self, run: Run, n: int) -> None:
        """Say what came of the last `n` evaluations."""
        first = len(run.memory) - n
        for index in range(first, first + n):
            if (reason := run.memory.reason(index)) is not None:
                LOGGER.warning("evaluation %d failed: %s", run.number(index), printable(reason))
        if run.settings.objectives is not None:
            self._tell_front(run, first)
        elif LOGGER.isEnabledFor(logging.INFO) and (best := run.best()) is not None and best >= first:
            violation, value = run.rank(best)
            remark = f", infeasible by {violation:.6g}" if violation > 0.0 else ""
            point = describe_point(run.space.decode(run.memory.x(best)))
            found = f"{run.settings.sign * value:.10g}{remark}"
            LOGGER.info("evaluation %d is the best so far: %s at %s", run.number(best), found, point)

    def _tell_front(self, run: Run, first: int) -> None:
        """Say which of the evaluations from `first` on are on the front of several objectives."""
        objectives, front = run.settings.objectives, run.memory.front
        if objectives is None or not LOGGER.isEnabledFor(logging.INFO):
            return
        for place in front[front >= first].tolist():
            (values,) = objectives.signs * run.memory.values_at(np.array([place]))
            point = describe_point(run.space.decode(run.memory.x(place)))
            found = objectives.describe(values)
            LOGGER.info("evaluation %d is on the front: %s at %s", run.number(place), found, point)

    def lose(self, message: str) -> None:
        """Say that an evaluation was lost and is made again."""
        LOGGER.warning("%s", message)

    def end(self, run: Run) -> None:
        """Say why the run is over, once it is; a stored run that is only looked at says nothing."""
        if run.stop is not None and self._has_begun and not self._has_ended:
            self._has_ended = True
            LOGGER.info("stopped after %d evaluations: %s", run.n_told, run.stop.message)
