"""Plots of what goes together: matrices in the order of a clustering, and the interaction graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import check_integer
from dcmaes.report._drawing import BLUE, DIVERGING, SEQUENTIAL, add_remark, new_axes, short, strip
from dcmaes.report._interactions import Matrix, correlations_data, graph_data, interactions_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELS = 40


def plot_interactions(result: Any, *, limit: int = 60, ax: Axes | None = None) -> Axes:
    """Plot how strongly pairs of variables interact, as a matrix in the order of a clustering.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    limit : int
        How many variables to show at most: those that interact most.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x[0] - x[1]) ** 2, dc.Space.integers(3, -5, 5), budget=60, seed=0)
    >>> plot_interactions(result).get_title()
    'interactions'
    """
    return _plot_matrix(
        interactions_data(result, limit=check_integer("limit", limit, low=2)), "interactions", ax
    )


def plot_correlations(result: Any, *, limit: int = 60, ax: Axes | None = None) -> Axes:
    """Plot the correlations of the last search distribution, as a matrix in the order of a clustering.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    limit : int
        How many variables to show at most: the most correlated ones.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space.integers(3, -5, 5)
    >>> result = dc.minimize(lambda x: (x[0] - x[1]) ** 2, space, budget=60, seed=0, strategy="cma")
    >>> plot_correlations(result).get_title()
    'correlations'
    """
    return _plot_matrix(
        correlations_data(result, limit=check_integer("limit", limit, low=2)), "correlations", ax
    )


def plot_interaction_graph(result: Any, *, limit: int = 40, ax: Axes | None = None) -> Axes:
    """Plot the strongest interactions as a graph: the wider a line, the stronger.

    Parameters
    ----------
    result : Result or StoredRun
        What to plot.
    limit : int
        How many interactions to show at most.
    ax : matplotlib Axes or None
        Where; a new figure if None.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x[0] - x[1]) ** 2, dc.Space.integers(3, -5, 5), budget=60, seed=0)
    >>> plot_interaction_graph(result).get_title()
    'strongest interactions'
    """
    data = graph_data(result, limit=check_integer("limit", limit, low=1))
    ax = new_axes(6.0, 6.0) if ax is None else ax
    for i, j, strength in zip(data.first[::-1], data.second[::-1], data.strength[::-1], strict=True):
        ends = data.position[[i, j]]
        ax.plot(*ends.T, color=BLUE, lw=0.5 + 5.0 * strength, alpha=0.15 + 0.75 * strength, zorder=1)
    ax.scatter(data.position[:, 0], data.position[:, 1], s=60, color="white", edgecolors="black", zorder=2)
    for name, (x, y) in zip(data.names, data.position, strict=True):
        turn = np.degrees(np.arctan2(y, x))
        is_left = x < -1e-9
        ax.text(
            1.08 * x,
            1.08 * y,
            short(name),
            rotation=turn + 180 * is_left,
            rotation_mode="anchor",
            ha="right" if is_left else "left",
            va="center",
            fontsize="small",
        )
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal", title="strongest interactions")
    strip(ax)
    remark = data.remark or (f"{data.n_left_out} weaker interactions not shown" if data.n_left_out else "")
    add_remark(ax, remark)
    return ax


def _plot_matrix(data: Matrix, title: str, ax: Axes | None) -> Axes:
    k = len(data.names)
    ax = new_axes(6.0, 5.2) if ax is None else ax
    ax.set_title(title)
    if k == 0:
        strip(ax)
        add_remark(ax, data.remark)
        return ax
    shown = np.ma.masked_array(data.strength, np.eye(k, dtype=bool))
    low, colours = (-data.scale, DIVERGING) if data.is_signed else (0.0, SEQUENTIAL)
    image = ax.imshow(shown, cmap=colours, vmin=low, vmax=data.scale)
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, shrink=0.8)
    step = -(-k // _MOST_LABELS)
    places = np.arange(0, k, step)
    names = [short(data.names[i]) for i in places]
    ax.set_xticks(places, names, rotation=90, fontsize="small")
    ax.set_yticks(places, names, fontsize="small")
    parts = [f"{data.n_left_out} variables with weaker ones not shown"] * (data.n_left_out > 0)
    parts += [f"1 in {step} named"] * (step > 1)
    add_remark(ax, "; ".join(parts))
    return ax
