"""What a run says to the standard `logging` module: silent unless a program sets it up."""

from __future__ import annotations

import logging

import numpy as np

from dcmaes.progress import describe_point, printable
from dcmaes.run._run import Run

LOGGER = logging.getLogger("dcmaes")
LOGGER.addHandler(logging.NullHandler())


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
