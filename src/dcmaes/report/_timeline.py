"""What each worker was doing when."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.report._drawing import STATUS_COLOURS, add_remark, axes, plot, short_names
from dcmaes.report._run import RunData, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 2000
_N_SLOTS = 500


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
