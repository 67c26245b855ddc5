"""Plots of values, points and times, drawn with matplotlib from the numbers of the data functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import check_integer
from dcmaes.report._convergence import convergence_data
from dcmaes.report._coordinates import coordinates_data
from dcmaes.report._drawing import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    SEQUENTIAL,
    STATUS_COLOURS,
    add_remark,
    new_axes,
    short,
)
from dcmaes.report._importance import importance_data
from dcmaes.report._timeline import timeline_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_convergence(result: Any, *, ax: Axes | None = None) -> Axes:
    """Plot every value and the best so far against evaluations, restarts as dotted lines.

    Infeasible points are drawn hollow, failures as crosses along the edge. The axis is logarithmic when the
    values are positive and span more than two decades; outliers are left out, and counted below.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(8), budget=40, seed=0)
    >>> plot_convergence(result).get_xlabel()
    'evaluation'
    """
    data = convergence_data(result)
    ax = new_axes(7.0, 4.0) if ax is None else ax
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
    ax.set(xlabel="evaluation", ylabel="value", xlim=(0, max(len(data.evaluation), 1) * 1.02 + 0.5))
    if data.is_log:
        ax.set_yscale("log")
    elif data.high > data.low:
        margin = 0.06 * (data.high - data.low)
        ax.set_ylim(data.low - margin, data.high + margin)
    if data.n_beyond:
        add_remark(ax, f"{data.n_beyond} values outside the axis")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_importance(result: Any, *, limit: int = 20, ax: Axes | None = None) -> Axes:
    """Plot how much each variable matters; `importance_data` says what that means.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    limit : int
        How many variables to show at most.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: x[0] ** 2, dc.Space.integers(2, -5, 5), budget=40, seed=0)
    >>> [label.get_text() for label in plot_importance(result).get_yticklabels()]
    ['x0', 'x1']
    """
    limit = check_integer("limit", limit, low=1)
    data = importance_data(result)
    shown = data.order[:limit]
    ax = new_axes(6.0, 1.2 + 0.28 * len(shown)) if ax is None else ax
    bars = ax.barh(np.arange(len(shown)), data.share[shown], color=BLUE)
    ax.bar_label(bars, [f"{100 * s:.1f} %" for s in data.share[shown]], padding=3, fontsize="small")
    ax.set_yticks(np.arange(len(shown)), [short(data.names[i]) for i in shown])
    ax.invert_yaxis()
    ax.set(xlabel="share of the total effect", xlim=(0, max(float(data.share.max()) * 1.15, 0.1)))
    left_out = len(data.share) - len(shown)
    add_remark(ax, data.remark + (f" {left_out} less important variables not shown." if left_out else ""))
    return ax


def plot_coordinates(result: Any, *, limit: int = 16, lines: int = 300, ax: Axes | None = None) -> Axes:
    """Plot feasible points as lines across one axis for each variable, the best ones brightest and on top.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    limit : int
        How many variables to show at most: the most important ones.
    lines : int
        How many points to show at most.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(4), budget=16, seed=0)
    >>> len(plot_coordinates(result).lines)
    16
    """
    from matplotlib import colormaps

    lines = check_integer("lines", lines, low=1)
    data = coordinates_data(result, limit=check_integer("limit", limit, low=1), lines=lines)
    ax = new_axes(max(6.0, 0.9 * len(data.names)), 4.2) if ax is None else ax
    place = np.arange(len(data.names))
    colours = colormaps[SEQUENTIAL](data.quality)
    for position, colour, quality in zip(data.position, colours, data.quality, strict=True):
        ax.plot(place, position, color=colour, lw=0.6 + 1.6 * (quality > 0.99), alpha=0.25 + 0.6 * quality**3)
    for k, ticks in enumerate(data.ticks):
        for position, label in ticks:
            ax.annotate(
                short(label),
                (k, position),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
            )
    ax.vlines(place, 0, 1, color="black", lw=0.8)
    ax.set_xticks(place, [short(name) for name in data.names], rotation=30, ha="right")
    ax.set_yticks([])
    ax.set(ylim=(-0.04, 1.04), xlim=(-0.2, len(place) - 0.4))
    ax.spines[:].set_visible(False)
    left_out = [f"{data.n_left_out} less important variables"] * (data.n_left_out > 0)
    left_out += [f"{data.n_lines_left_out} points"] * (data.n_lines_left_out > 0)
    add_remark(ax, " and ".join(left_out) + " not shown" if left_out else "")
    return ax


def plot_timeline(result: Any, *, ax: Axes | None = None) -> Axes:
    """Plot what each worker was doing when; where workers are not known, how many evaluations ran at once.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(4), budget=16, seed=0)
    >>> plot_timeline(result).get_xlabel()
    'seconds'
    """
    data = timeline_data(result)
    ax = new_axes(7.0, 1.2 + 0.3 * max(len(data.lanes), 1)) if ax is None else ax
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
    labels = [f"{short(lane)}  {100 * b:.0f} %" for lane, b in zip(data.lanes, data.busy, strict=True)]
    ax.set_yticks(np.arange(len(data.lanes)), labels, fontsize="small")
    ax.invert_yaxis()
    ax.set(xlabel="seconds")
    if len(data.start):
        ax.legend(frameon=False, fontsize="small", ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    add_remark(ax, f"{data.n_untimed} evaluations without times not shown" if data.n_untimed else "")
    return ax
