"""Where the search looked, variable by variable, over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer
from dcmaes.report._drawing import (
    BLUE,
    RED,
    SEQUENTIAL,
    Tick,
    add_remark,
    axes,
    axis_texts,
    axis_ticks,
    literal,
    plot,
    short,
    state_labels,
)
from dcmaes.report._run import RunData, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_MOST_BINS = 40
_MOST_ROWS = 60
# Up to this many states, an ordered variable is shown state by state rather than as a band.
_FEW_STATES = 8
_N_COLUMNS = 3
_MOST_LABELS = 12


@dataclass(frozen=True)
class Heat:
    """Shares over time, one row for each state of a variable, or for each binary variable.

    Attributes
    ----------
    title : str
        The variable, or what the rows have in common.
    rows : tuple of r str
        The states, or the binary variables.
    share : array of shape (r, b)
        Share of the evaluations of each period with that state (binary variables: with the state 1); those
        in which the variable is inactive have none.
    best : tuple of int or None
        Row of the best point's state, if it has one; for binary variables the state of each of them.
    n_left_out : int
        How many more rows there would be.
    """

    title: str
    rows: tuple[str, ...]
    share: FloatArray
    best: tuple[int, ...] | None
    is_binary: bool
    n_left_out: int = 0


@dataclass(frozen=True)
class Band:
    """Quantiles of an ordered variable over time.

    Attributes
    ----------
    title : str
        The variable.
    quantile : array of shape (5, b)
        The 10, 25, 50, 75 and 90 % quantiles of each period, as positions on the axis from 0 to 1, over the
        points in which the variable is active; NaN where there is none.
    texts : tuple of 5 tuples of b str
        The same as values.
    ticks : tuple of Tick
        Values on the axis.
    best : float or None
        Position of the best point, if it has one.
    """

    title: str
    quantile: FloatArray
    texts: tuple[tuple[str, ...], ...]
    ticks: tuple[Tick, ...]
    best: float | None


@dataclass(frozen=True)
class Marginals:
    """What was asked for, variable by variable, in b periods of (nearly) equally many evaluations.

    Attributes
    ----------
    edges : int array of shape (b + 1,)
        Period k is made of evaluations edges[k] + 1 to edges[k + 1].
    panels : tuple of Heat or Band
        Binary variables together first, then the others; where not all are shown, the most important first.
    n_left_out : int
        How many variables have no panel.
    """

    edges: IntArray
    panels: tuple[Heat | Band, ...]
    n_left_out: int


def marginals_data(result: Any, *, limit: int = 24) -> Marginals:
    """Return the numbers of `plot_marginals`: at most `limit` panels.

    >>> import dcmaes as dc
    >>> space = dc.Space({"act": dc.Categorical(["relu", "gelu"])})
    >>> result = dc.minimize(lambda p: p["act"] == "relu", space, budget=9, duplicates="allow", seed=0)
    >>> panel, = marginals_data(result).panels
    >>> panel.rows, panel.share.shape
    (('relu', 'gelu'), (2, 9))
    """
    run = read_run(result)
    edges = _edges(run)
    n_bins = len(edges) - 1
    is_binary = np.array([v.is_flag for v in run.space.variables])
    panels: list[Heat | Band] = []
    if is_binary.any() and n_bins:
        panels.append(_binaries(run, edges, np.flatnonzero(is_binary)))
    others = np.flatnonzero(~is_binary) if n_bins else np.empty(0, dtype=np.int64)
    shown = run.foremost(others, max(limit - len(panels), 0))
    panels += [_panel(run, edges, int(i)) for i in shown]
    return Marginals(edges, tuple(panels), len(others) - len(shown))


def marginal_data(result: Any, variable: str | int) -> tuple[IntArray, Heat | Band]:
    """Return the edges of the periods, and the panel of one variable.

    >>> import dcmaes as dc
    >>> marginal_data(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=0), 1)[1].rows
    ('x1',)
    """
    run = read_run(result)
    if variable not in run.space.names:
        raise ValueError(f"variable must be one of {list(run.space.names)}, got {variable!r}")
    if run.n == 0:
        raise ValueError("result must have at least one evaluation, got none")
    site, edges = list(run.space.names).index(variable), _edges(run)
    if run.space.variables[site].is_flag:
        return edges, _binaries(run, edges, np.array([site]))
    return edges, _panel(run, edges, site)


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
    places = list(grid.flat)
    for ax, panel in zip(places, data.panels, strict=False):
        _draw(ax, data.edges, panel)
    for ax in places[len(data.panels) :]:
        ax.remove()
    if data.n_left_out:
        figure.supxlabel(f"{data.n_left_out} less important variables not shown", fontsize="small")
    return figure


@plot
def plot_marginal(result: Any, variable: str | int, *, ax: Axes | None = None) -> Axes:
    """Plot where the search looked along one variable over time, as in `plot_marginals`.

    Parameters
    ----------
    variable : str or int
        Its name, or its position if points are arrays.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.integers(2, 0, 50), budget=50, seed=0)
    >>> plot_marginal(result, 1).get_xlabel()
    'evaluation'
    """
    edges, panel = marginal_data(result, variable)
    ax = axes(ax, 5.0, 3.2)
    _draw(ax, edges, panel)
    return ax


def _edges(run: RunData) -> IntArray:
    n_bins = min(_MOST_BINS, run.n)
    return np.linspace(0, run.n, n_bins + 1).round().astype(np.int64)


def _panel(run: RunData, edges: IntArray, site: int) -> Heat | Band:
    sites = run.space.sites
    has_few = sites.is_lattice[site] and sites.n_states[site] <= _FEW_STATES
    if sites.is_category[site] or has_few:
        return _states(run, edges, site)
    position = run.position[:, site]
    quantile = np.array([_quantiles(position[a:b]) for a, b in _periods(edges)]).T
    has_best = run.best is not None and bool(run.is_active[run.best, site])
    return Band(
        title=run.names[site],
        quantile=quantile,
        texts=tuple(tuple(axis_texts(run.space, site, row)) for row in quantile),
        ticks=tuple(axis_ticks(run.space, site)),
        best=float(position[run.best]) if has_best else None,
    )


def _quantiles(position: FloatArray) -> FloatArray:
    """Return the quantiles of positions that are there, shape (5,); NaN if none is."""
    there = position[~np.isnan(position)]
    return np.quantile(there, QUANTILES) if len(there) else np.full(len(QUANTILES), np.nan)


def _states(run: RunData, edges: IntArray, site: int) -> Heat:
    state = run.x[:, site].astype(np.int64)
    n_states = int(run.space.sites.n_states[site])
    is_active = run.is_active[:, site]
    counts = [np.bincount(state[a:b], is_active[a:b], n_states) / (b - a) for a, b in _periods(edges)]
    share = np.array(counts).T
    labels = state_labels(run.space, site)
    # Of many choices, those that were asked for most; in their own order.
    shown = np.sort(np.argsort(-share.sum(axis=1), kind="stable")[:_MOST_ROWS])
    best = None
    if run.best is not None:
        best = tuple(int(i) for i in np.flatnonzero((shown == state[run.best]) & is_active[run.best]))
    rows = tuple(labels[i] for i in shown)
    return Heat(run.names[site], rows, share[shown], best, is_binary=False, n_left_out=n_states - len(shown))


def _binaries(run: RunData, edges: IntArray, binary: IntArray) -> Heat:
    shown = np.sort(run.foremost(binary, _MOST_ROWS))
    one = state_labels(run.space, int(shown[0]))[1]
    x = np.where(run.is_active[:, shown], run.x[:, shown], 0.0)
    share = np.array([x[a:b].mean(axis=0) for a, b in _periods(edges)]).T
    return Heat(
        title=f"{'binary variables' if len(shown) > 1 else run.names[shown[0]]}: share of {one}",
        rows=tuple(run.names[i] for i in shown),
        share=share,
        best=None if run.best is None else tuple(x[run.best].astype(int).tolist()),
        is_binary=True,
        n_left_out=len(binary) - len(shown),
    )


def _periods(edges: IntArray) -> list[tuple[int, int]]:
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


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
