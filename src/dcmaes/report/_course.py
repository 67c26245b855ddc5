"""How a run went: values and the best so far, evaluation by evaluation; what each worker was doing when."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.report._drawing import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    STATUS_COLOURS,
    add_remark,
    axes,
    literal,
    plot,
    short_names,
)
from dcmaes.report._run import RunData, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A few very bad values would leave nothing of a linear axis for the others: where the worst twentieth takes
# more than two thirds of the range, it is left out.
_SHOWN_SHARE = 0.95
_OUTLIER_RATIO = 3.0
_LOG_RATIO = 100.0
# Up to so many bars of a timeline are drawn one by one; beyond, in so many slots.
_MOST_BARS = 2000
_N_SLOTS = 500


class Axis(NamedTuple):
    """The range of an axis of values, and how many values lie outside it."""

    low: float
    high: float
    n_beyond: int


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
    linear : Axis or None
        What a linear axis shows; None if there is nothing to show.
    log : Axis or None
        What a logarithmic axis shows; None if feasible values are not all positive.
    is_log : bool
        Whether the values are best seen on the logarithmic one: they span more than two decades.
    """

    evaluation: IntArray
    value: FloatArray
    best: FloatArray
    status: NDArray[np.str_]
    restarts: IntArray
    linear: Axis | None
    log: Axis | None
    is_log: bool

    @property
    def axis(self) -> Axis | None:
        """The axis on which the values are best seen."""
        return self.log if self.is_log else self.linear


def convergence_data(result: Any) -> Convergence:
    """Return the numbers of `plot_convergence`.

    >>> import dcmaes as dc
    >>> data = convergence_data(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1, strategy="random"))
    >>> data.value, data.best
    (array([2., 1., 0., 1.]), array([2., 1., 0., 0.]))
    """
    run = read_run(result)
    restarts = run.history.restarts
    previous = np.maximum.accumulate(np.concatenate([[0], restarts]))[: run.n]
    linear, log = _axes(run)
    return Convergence(
        evaluation=np.arange(1, run.n + 1),
        value=np.where(run.statuses == "failed", np.nan, run.values),
        best=run.best_so_far,
        status=run.statuses,
        restarts=np.flatnonzero(restarts > previous) + 1,
        linear=linear,
        log=log,
        is_log=log is not None and log.high / log.low > _LOG_RATIO,
    )


@plot
def plot_convergence(result: Any, *, ax: Axes | None = None) -> Axes:
    """Plot every value and the best so far against evaluations, restarts as dotted lines.

    Infeasible points are drawn hollow, failures as crosses along the edge. The axis is logarithmic when the
    values are positive and span more than two decades; outliers are left out, and counted below.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(8), budget=40, seed=0)
    >>> plot_convergence(result).get_xlabel()
    'evaluation'
    """
    run = read_run(result)
    data = convergence_data(run)
    ax = axes(ax, 7.0, 4.0)
    ok, infeasible = data.status == "ok", data.status == "infeasible"
    ax.plot(data.evaluation[ok], data.value[ok], ".", color=BLUE, alpha=0.35, ms=5, mew=0, label="feasible")
    if infeasible.any():
        ax.plot(
            data.evaluation[infeasible],
            data.value[infeasible],
            "D",
            mfc="none",
            mec=ORANGE,
            ms=4,
            label="infeasible",
        )
    ax.step(data.evaluation, data.best, where="post", color="black", lw=1.8, label="best so far")
    failed = data.evaluation[data.status == "failed"]
    if len(failed):
        edge = ax.get_xaxis_transform()
        ax.plot(failed, np.full(len(failed), 0.97), "x", color=RED, ms=5, transform=edge, label="failed")
    for k, evaluation in enumerate(data.restarts):
        ax.axvline(evaluation - 0.5, color=GREY, ls=":", lw=1, label=None if k else "restart")
    name = literal(run.objective or "value")
    ax.set(xlabel="evaluation", ylabel=name, xlim=(0, max(len(data.evaluation), 1) * 1.02 + 0.5))
    axis = data.axis
    if data.is_log:
        ax.set_yscale("log")
    elif axis is not None and axis.high > axis.low:
        margin = 0.06 * (axis.high - axis.low)
        ax.set_ylim(axis.low - margin, axis.high + margin)
    if axis is not None and axis.n_beyond:
        add_remark(ax, f"{axis.n_beyond} values outside the axis")
    ax.legend(frameon=False, fontsize="small")
    return ax


def _axes(run: RunData) -> tuple[Axis | None, Axis | None]:
    """Return what a linear and a logarithmic axis of the values show."""
    finite = run.values[(run.statuses != "failed") & np.isfinite(run.values)]
    feasible = run.values[run.statuses == "ok"]
    shown = feasible if len(feasible) else finite
    if len(shown) == 0:
        return None, None

    def axis(low: float, high: float) -> Axis:
        return Axis(low, high, int(((finite < low) | (finite > high)).sum()))

    low, high = float(shown.min()), float(shown.max())
    log = axis(low, high) if low > 0.0 else None
    best = low if run.sign > 0 else high
    common = run.sign * float(np.quantile(run.sign * shown, _SHOWN_SHARE))
    if common == best or high - low <= _OUTLIER_RATIO * abs(common - best):
        return axis(low, high), log
    return axis(min(best, common), max(best, common)), log


@dataclass(frozen=True)
class Timeline:
    """What each worker was doing when.

    Attributes
    ----------
    lanes : tuple of k str
        The workers; where they are not known, as many lanes as evaluations ran at once.
    busy : array of shape (k,)
        Share of the time shown that each was evaluating.
    lane : int array of shape (m,)
        Where each bar lies.
    start, end : arrays of shape (m,)
        Its ends in seconds from the start of the run.
    status : array of m str
        "ok", "infeasible" or "failed".
    index : int array of shape (m,)
        Its first evaluation.
    count : int array of shape (m,)
        How many evaluations it stands for: short neighbours share a bar where there are very many.
    n_untimed : int
        How many evaluations are not shown since their times are not known.
    """

    lanes: tuple[str, ...]
    busy: FloatArray
    lane: IntArray
    start: FloatArray
    end: FloatArray
    status: NDArray[np.str_]
    index: IntArray
    count: IntArray
    n_untimed: int


def timeline_data(result: Any) -> Timeline:
    """Return the numbers of `plot_timeline`.

    >>> import dcmaes as dc
    >>> data = timeline_data(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1))
    >>> data.lanes, len(data.start)
    (('lane 1',), 4)
    """
    run = read_run(result)
    timed = np.flatnonzero(np.isfinite(run.starts) & np.isfinite(run.ends))
    timed = timed[np.argsort(run.starts[timed], kind="stable")]
    lanes, lane = _lanes(run, timed)
    start, end = run.starts[timed], run.ends[timed]
    span = float(end.max() - start.min()) if len(timed) else 0.0
    busy = np.bincount(lane, end - start, minlength=len(lanes)) / span if span else np.zeros(len(lanes))
    first, count = _merged(lane, start, run.statuses[timed], span)
    last = first + count - 1
    by_lane = np.argsort(lane, kind="stable")
    return Timeline(
        lanes=lanes,
        busy=np.minimum(busy, 1.0),
        lane=lane[by_lane][first],
        start=start[by_lane][first],
        end=end[by_lane][last],
        status=run.statuses[timed][by_lane][first],
        index=timed[by_lane][first],
        count=count,
        n_untimed=run.n - len(timed),
    )


@plot
def plot_timeline(result: Any, *, ax: Axes | None = None) -> Axes:
    """Plot what each worker was doing when; where workers are not known, how many evaluations ran at once.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(4), budget=16, seed=0)
    >>> plot_timeline(result).get_xlabel()
    'seconds'
    """
    data = timeline_data(result)
    ax = axes(ax, 7.0, 1.2 + 0.3 * max(len(data.lanes), 1))
    hatches = {"ok": "", "infeasible": "//", "failed": "xx"}
    for status, colour in STATUS_COLOURS.items():
        own = data.status == status
        if own.any():
            ax.barh(
                data.lane[own],
                data.end[own] - data.start[own],
                left=data.start[own],
                color=colour,
                hatch=hatches[status],
                edgecolor="white",
                linewidth=0.3,
                label=status,
            )
    names = short_names(data.lanes)
    labels = [f"{name}  {100 * busy:.0f} %" for name, busy in zip(names, data.busy, strict=True)]
    ax.set_yticks(np.arange(len(data.lanes)), labels, fontsize="small")
    ax.invert_yaxis()
    ax.set(xlabel="seconds")
    if len(data.start):
        ax.legend(frameon=False, fontsize="small", ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    add_remark(ax, f"{data.n_untimed} evaluations without times not shown" if data.n_untimed else "")
    return ax


def _lanes(run: RunData, timed: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """Return the lanes and the lane of each evaluation, which are in the order of their starts."""
    workers = [run.workers[i] for i in timed]
    if timed.size and all(worker is not None for worker in workers):
        names = sorted({str(worker) for worker in workers})
        place = {name: i for i, name in enumerate(names)}
        return tuple(names), np.array([place[str(worker)] for worker in workers])
    lane = np.zeros(len(timed), dtype=np.int64)
    running: list[tuple[float, int]] = []
    free: list[int] = []
    n_lanes = 0
    for k, i in enumerate(timed):
        # Times are told by different clocks: an overlap of a millisecond is none.
        while running and running[0][0] <= run.starts[i] + 1e-3:
            heapq.heappush(free, heapq.heappop(running)[1])
        lane[k] = heapq.heappop(free) if free else n_lanes
        n_lanes = max(n_lanes, int(lane[k]) + 1)
        heapq.heappush(running, (float(run.ends[i]), int(lane[k])))
    return tuple(f"lane {i + 1}" for i in range(n_lanes)), lane


def _merged(
    lane: IntArray, start: FloatArray, status: NDArray[np.str_], span: float
) -> tuple[IntArray, IntArray]:
    """Return where each bar begins among the evaluations sorted by lane, and how many make it."""
    n = len(lane)
    if n <= _MOST_BARS:
        return np.arange(n), np.ones(n, dtype=np.int64)
    order = np.argsort(lane, kind="stable")
    slot = ((start[order] - start.min()) / span * _N_SLOTS).astype(np.int64)
    is_new = np.ones(n, dtype=bool)
    is_new[1:] = (
        (np.diff(slot) != 0) | (np.diff(lane[order]) != 0) | (status[order][1:] != status[order][:-1])
    )
    first = np.flatnonzero(is_new)
    return first, np.diff(np.append(first, n))
