"""Points as lines across one axis for each variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer
from dcmaes.report._drawing import (
    SEQUENTIAL,
    Tick,
    add_remark,
    axes,
    axis_ticks,
    draw_parallel_axes,
    plot,
)
from dcmaes.report._run import read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Coordinates:
    """Evaluated points as lines across one axis for each variable.

    Attributes
    ----------
    names : tuple of k str
        The variables shown: if not all, the most important ones.
    ticks : tuple of k tuples of Tick
        Values on their axes.
    index : int array of shape (m,)
        The evaluations shown, worst first, so that the best are drawn last.
    position : array of shape (m, k)
        Where each crosses each axis, from 0 to 1; NaN where the variable is inactive.
    quality : array of shape (m,)
        Share of the feasible evaluations that are worse: 1 is the best.
    value : array of shape (m,)
        Their values.
    n_left_out, n_lines_left_out : int
        How many variables and feasible evaluations are not shown.
    """

    names: tuple[str, ...]
    ticks: tuple[tuple[Tick, ...], ...]
    index: IntArray
    position: FloatArray
    quality: FloatArray
    value: FloatArray
    n_left_out: int
    n_lines_left_out: int


def coordinates_data(result: Any, *, limit: int = 16, lines: int = 300) -> Coordinates:
    """Return the numbers of `plot_coordinates`: at most `limit` variables and `lines` feasible evaluations.

    Of many evaluations, the best third of the lines and an even sample of the others are shown.

    >>> import dcmaes as dc
    >>> data = coordinates_data(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1))
    >>> data.position[-1], data.quality[-1]
    (array([0., 0.]), np.float64(1.0))
    """
    run = read_run(result)
    order = run.order
    order = order[run.statuses[order] == "ok"]
    sites = np.sort(run.foremost(np.arange(run.space.dimension), limit))
    quality = np.linspace(1.0, 0.0, len(order)) if len(order) > 1 else np.ones(len(order))
    kept = np.arange(len(order))
    if len(order) > lines:
        n_best = max(lines // 3, 1)
        rest = np.linspace(n_best, len(order) - 1, lines - n_best).astype(np.int64)
        kept = np.concatenate([np.arange(n_best), rest])
    kept = kept[::-1]
    index = order[kept]
    return Coordinates(
        names=tuple(run.names[i] for i in sites),
        ticks=tuple(tuple(axis_ticks(run.space, int(i))) for i in sites),
        index=index,
        position=run.position[np.ix_(index, sites)],
        quality=quality[kept],
        value=run.values[index],
        n_left_out=run.space.dimension - len(sites),
        n_lines_left_out=len(order) - len(kept),
    )


@plot
def plot_coordinates(result: Any, *, limit: int = 16, lines: int = 300, ax: Axes | None = None) -> Axes:
    """Plot feasible points as lines across one axis for each variable, the best ones brightest and on top.

    Parameters
    ----------
    limit : int
        How many variables to show at most: the most important ones.
    lines : int
        How many points to show at most.

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
    ax = axes(ax, max(6.0, 0.9 * len(data.names)), 4.2)
    place = np.arange(len(data.names))
    colours = colormaps[SEQUENTIAL](data.quality)
    for position, colour, quality in zip(data.position, colours, data.quality, strict=True):
        ax.plot(place, position, color=colour, lw=0.6 + 1.6 * (quality > 0.99), alpha=0.25 + 0.6 * quality**3)
    draw_parallel_axes(ax, data.names, data.ticks, "black")
    left_out = [f"{data.n_left_out} less important variables"] * (data.n_left_out > 0)
    left_out += [f"{data.n_lines_left_out} points"] * (data.n_lines_left_out > 0)
    add_remark(ax, " and ".join(left_out) + " not shown" if left_out else "")
    return ax
