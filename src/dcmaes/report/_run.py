"""A run as reports see it: coded points, what came of them, when and where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.optimizer import Result
from dcmaes.report._effects import Effects, total_effects
from dcmaes.report._labels import variable_labels
from dcmaes.space import Space


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that plots and the report are computed from, one entry for each of n evaluations.

    Attributes
    ----------
    result : Result
        What the run found.
    space : Space
        What was searched.
    names : tuple of d str
        What the variables are called in figures.
    x : array of shape (n, d)
        Coded points in the order in which they were told.
    values, violations : arrays of shape (n,)
        What the objective returned, in the user's sign (NaN where it gave nothing), and the violations.
    statuses : array of n str
        "ok", "infeasible" or "failed".
    restarts : int array of shape (n,)
        How often the search had been restarted when the point was asked for.
    starts, ends : arrays of shape (n,)
        When each evaluation began and ended, in seconds from the start of the run; NaN where unknown.
    workers : tuple of n str or None
        Where each was evaluated; None where unknown.
    reasons, outputs : tuples of n str or None
        Why an evaluation failed, and what it had printed.
    sign : float
        1 if small values are good, -1 if large ones are.
    best : int or None
        The first evaluation of the best point.
    settings : dict
        What the run was told to do, as far as it is known.
    """

    result: Result
    space: Space
    names: tuple[str, ...]
    x: FloatArray
    ids: IntArray
    values: FloatArray
    violations: FloatArray
    statuses: NDArray[np.str_]
    restarts: IntArray
    starts: FloatArray
    ends: FloatArray
    workers: tuple[str | None, ...]
    reasons: tuple[str | None, ...]
    outputs: tuple[str | None, ...]
    sign: float
    best: int | None
    settings: dict[str, Any]

    @property
    def n(self) -> int:
        """Number of evaluations."""
        return len(self.values)

    @property
    def direction(self) -> str:
        """Whether the run minimizes or maximizes."""
        return "minimize" if self.sign > 0 else "maximize"

    @property
    def order(self) -> IntArray:
        """Evaluations, best first: feasible by value, infeasible by violation, failures last; shape (n,)."""
        return np.lexsort((self.sign * self.values, self.violations))

    @cached_property
    def effects(self) -> Effects:
        """How much each variable matters, from the feasible evaluations."""
        is_sound = self.statuses == "ok"
        return total_effects(self.space.sites, self.x[is_sound], self.values[is_sound])


def read_run(source: Any) -> Run:
    """Return the run behind a `Result`, or pass a `Run` on.

    >>> import dcmaes as dc
    >>> run = read_run(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1))
    >>> run.n, run.names, run.x[run.best]
    (4, ('x0', 'x1'), array([0., 0.]))
    """
    if isinstance(source, Run):
        return source
    if not isinstance(source, Result):
        raise TypeError(f"result must be a Result, got {source!r}")
    return _of_result(source)


def _of_result(result: Result) -> Run:
    # A history knows its space and its sign, and hands out neither: this is the one place that takes them.
    history = result.history
    space, sign, n = history._space, history._sign, len(history)
    x = space.encode_many(history.points) if n else np.empty((0, space.dimension))
    ends = np.where(history.is_given, math.nan, history.told_at)
    return Run(
        result=result,
        space=space,
        names=variable_labels(space),
        x=x,
        ids=history.ids,
        values=history.values,
        violations=history.violations,
        statuses=history.statuses,
        restarts=history.restarts,
        starts=ends - history.objective_times,
        ends=ends,
        workers=(None,) * n,
        reasons=tuple(history.reasons),
        outputs=(None,) * n,
        sign=sign,
        best=_position(x, None if result.x is None else space.encode(result.x)),
        settings={
            "direction": "minimize" if sign > 0 else "maximize",
            "strategy": result.strategy,
            "seed": result.seed,
        },
    )


def _position(x: FloatArray, wanted: FloatArray | None) -> int | None:
    if wanted is None:
        return None
    return int(np.flatnonzero((x == wanted).all(axis=1))[0])
