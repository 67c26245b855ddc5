"""The numbers behind the convergence plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.report._run import Run, read_run

# A few very bad values would leave nothing of a linear axis for the others: where the worst twentieth takes
# more than two thirds of the range, it is left out.
_SHOWN_SHARE = 0.95
_OUTLIER_RATIO = 3.0
_LOG_RATIO = 100.0


@dataclass(frozen=True)
class Convergence:
    """Values and the best of them, evaluation by evaluation.

    Attributes
    ----------
    evaluation : int array of shape (n,)
        1, 2, ..., n.
    value : array of shape (n,)
        What the objective returned; NaN for failures.
    best : array of shape (n,)
        Best feasible value so far; NaN before the first.
    status : array of n str
        "ok", "infeasible" or "failed".
    restarts : int array
        Evaluations with which restarts began.
    is_log : bool
        Whether the values are best seen on a logarithmic axis: all positive, and over more than two decades.
    low, high : float
        Range of the axis; NaN if there is nothing to show.
    n_beyond : int
        How many values lie outside it.
    """

    evaluation: IntArray
    value: FloatArray
    best: FloatArray
    status: NDArray[np.str_]
    restarts: IntArray
    is_log: bool
    low: float
    high: float
    n_beyond: int


def convergence_data(result: Any) -> Convergence:
    """Return the numbers of `plot_convergence`.

    >>> import dcmaes as dc
    >>> data = convergence_data(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1, strategy="random"))
    >>> data.value, data.best
    (array([2., 1., 0., 1.]), array([2., 1., 0., 0.]))
    """
    run = read_run(result)
    previous = np.maximum.accumulate(np.concatenate([[0], run.restarts]))[: run.n]
    low, high, is_log = _axis(run)
    is_beyond = np.isfinite(run.values) & ((run.values < low) | (run.values > high))
    return Convergence(
        evaluation=np.arange(1, run.n + 1),
        value=np.where(run.statuses == "failed", np.nan, run.values),
        best=run.result.history.best_so_far,
        status=run.statuses,
        restarts=np.flatnonzero(run.restarts > previous) + 1,
        is_log=is_log,
        low=low,
        high=high,
        n_beyond=int(is_beyond.sum()),
    )


def _axis(run: Run) -> tuple[float, float, bool]:
    """Return the range of the axis and whether it is logarithmic."""
    known = run.values[(run.statuses != "failed") & np.isfinite(run.values)]
    feasible = run.values[run.statuses == "ok"]
    shown = feasible if len(feasible) else known
    if len(shown) == 0:
        return np.nan, np.nan, False
    low, high = float(shown.min()), float(shown.max())
    if low > 0.0 and high / low > _LOG_RATIO:
        return low, high, True
    best = low if run.sign > 0 else high
    common = run.sign * float(np.quantile(run.sign * shown, _SHOWN_SHARE))
    if common == best or high - low <= _OUTLIER_RATIO * abs(common - best):
        return low, high, False
    return min(best, common), max(best, common), False
