"""Plots of the marginals over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import IntArray, check_integer
from dcmaes.report._drawing import BLUE, RED, SEQUENTIAL, add_remark, literal, new_axes, short
from dcmaes.report._marginals import Band, Heat, marginal_data, marginals_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_N_COLUMNS = 3
_MOST_LABELS = 12


def plot_marginals(result: Any, *, limit: int = 24) -> Figure:
    """Plot where the search looked over time, a panel for each variable and one for all binary variables.

    Choices and few states are a heat map of how often each was asked for; ordered variables a band of the 10,
    25, 50, 75 and 90 % quantiles. The best point is marked red.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    limit : int
        How many panels to draw at most: those of the most important variables.

    Returns
    -------
    Figure
        A new figure.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space({"n": dc.Integer(-50, 50), "act": dc.Categorical(["relu", "gelu"])})
    >>> result = dc.minimize(lambda p: abs(p["n"]) + (p["act"] == "relu"), space, budget=50, seed=0)
    >>> [ax.get_title(loc="left") for ax in plot_marginals(result).axes]
    ['n', 'act']
    """
    import matplotlib.pyplot as plt

    data = marginals_data(result, limit=check_integer("limit", limit, low=1))
    n_panels = max(len(data.panels), 1)
    n_columns = min(n_panels, _N_COLUMNS)
    n_rows = -(-n_panels // n_columns)
    figure, grid = plt.subplots(
        n_rows, n_columns, figsize=(4.0 * n_columns, 2.6 * n_rows), layout="constrained", squeeze=False
    )
    axes = list(grid.flat)
    for ax, panel in zip(axes, data.panels, strict=False):
        _draw(ax, data.edges, panel)
    for ax in axes[len(data.panels) :]:
        ax.remove()
    if data.n_left_out:
        figure.supxlabel(f"{data.n_left_out} less important variables not shown", fontsize="small")
    return figure


def plot_marginal(result: Any, variable: str | int, *, ax: Axes | None = None) -> Axes:
    """Plot where the search looked along one variable over time, as in `plot_marginals`.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    variable : str or int
        Its name, or its position if points are arrays.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.integers(2, 0, 50), budget=50, seed=0)
    >>> plot_marginal(result, 1).get_xlabel()
    'evaluation'
    """
    edges, panel = marginal_data(result, variable)
    ax = new_axes(5.0, 3.2) if ax is None else ax
    _draw(ax, edges, panel)
    return ax


def _draw(ax: Axes, edges: IntArray, panel: Heat | Band) -> None:
    ax.set_title(short(panel.title) if isinstance(panel, Band) else literal(panel.title), loc="left")
    ax.set_xlabel("evaluation")
    if isinstance(panel, Band):
        _draw_band(ax, edges, panel)
    else:
        _draw_heat(ax, edges, panel)


def _draw_band(ax: Axes, edges: IntArray, panel: Band) -> None:
    low, lower, middle, upper, high = np.concatenate([panel.quantile, panel.quantile[:, -1:]], axis=1)
    ax.fill_between(edges, low, high, step="post", color=BLUE, alpha=0.2, lw=0)
    ax.fill_between(edges, lower, upper, step="post", color=BLUE, alpha=0.35, lw=0)
    ax.step(edges, middle, where="post", color=BLUE, lw=1.5)
    if panel.best is not None:
        ax.axhline(panel.best, color=RED, ls="--", lw=1)
    ax.set_yticks([tick.position for tick in panel.ticks], [short(tick.label) for tick in panel.ticks])
    ax.set(xlim=(0, edges[-1]), ylim=(-0.03, 1.03))


def _draw_heat(ax: Axes, edges: IntArray, panel: Heat) -> None:
    n_rows = len(panel.rows)
    ax.pcolormesh(edges, np.arange(n_rows + 1) - 0.5, panel.share, cmap=SEQUENTIAL, vmin=0.0, vmax=1.0)
    ax.invert_yaxis()
    step = -(-n_rows // _MOST_LABELS)
    places = range(0, n_rows, step)
    ax.set_yticks(places, [short(panel.rows[i]) for i in places], fontsize="small")
    if panel.best is not None:
        marked = [i for i, state in enumerate(panel.best) if state] if panel.is_binary else list(panel.best)
        edge = ax.get_yaxis_transform()
        ax.plot(np.full(len(marked), 1.015), marked, "<", color=RED, ms=4, transform=edge, clip_on=False)
    if panel.n_left_out:
        add_remark(ax, f"{panel.n_left_out} more rows not shown")
