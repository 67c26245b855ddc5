"""Points as lines across axes side by side, also those of a front; the front itself, and how it grew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_choice, check_integer, check_list
from dcmaes.pareto import knee
from dcmaes.report._drawing import (
    BLUE,
    GREY,
    RED,
    SEQUENTIAL,
    Tick,
    add_remark,
    axes,
    axis_ticks,
    literal,
    number_text,
    plot,
    short,
    short_names,
)
from dcmaes.report._run import RunData, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class FrontPicture:
    """The values of several objectives, and how the front of them grew.

    Attributes
    ----------
    names, directions : tuples of m str
        What the objectives are called, and which of their values are good.
    value : array of shape (n, m)
        What the objective returned; NaN for failures. On the front the means, if repeats are averaged.
    status : array of n str
        "ok", "infeasible" or "failed".
    front : int array of shape (k,)
        The evaluations on the front, in the order of the first objective.
    knee : int or None
        The one of them that is the knee.
    growth : array of shape (n,)
        The hypervolume after each evaluation, up to `reference`.
    reference : array of shape (m,)
        The reference of the run or, if it has none, the worst feasible values.
    """

    names: tuple[str, ...]
    directions: tuple[str, ...]
    value: FloatArray
    status: Any
    front: IntArray
    knee: int | None
    growth: FloatArray
    reference: FloatArray


@dataclass(frozen=True)
class FrontPath:
    """The points of a front as lines across one axis for each objective and each variable.

    Attributes
    ----------
    names : tuple of str
        The objectives, then the variables shown, those that change most along the front first.
    n_objectives : int
        How many of them are objectives.
    ticks : tuple of tuples of Tick
        Values on their axes.
    index : int array of shape (k,)
        The evaluations, in the order of the first objective.
    position : array of shape (k, number of axes)
        Where each crosses each axis, from 0 to 1.
    change : array of shape (d,)
        How much each variable, in the order of the space, changes along the front: the part of its range
        that is used or, of choices, the share of points that have another one than most.
    n_left_out : int
        How many variables are not shown.
    """

    names: tuple[str, ...]
    n_objectives: int
    ticks: tuple[tuple[Tick, ...], ...]
    index: IntArray
    position: FloatArray
    change: FloatArray
    n_left_out: int


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


def front_data(result: Any) -> FrontPicture:
    """Return the numbers of `plot_front` and `plot_growth`.

    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x.sum(), -x[0]), dc.Space.binary(3), budget=8, seed=0, objectives=2)
    >>> data = front_data(result)
    >>> data.value[data.front], data.growth[-1]
    (array([[ 0.,  0.],
           [ 1., -1.]]), np.float64(2.0))
    """
    run = _several(result)
    front, history = run.result.front, run.history
    objectives = history._objectives
    signs = front._signs
    value = history.values.copy()
    value[front.places] = front.values  # means, if repeats are averaged
    return FrontPicture(
        names=front.names,
        directions=("minimize",) if objectives is None else objectives.directions,
        value=value,
        status=run.statuses,
        front=front.places,
        knee=int(front.places[knee(signs * front.values)]) if len(front) else None,
        growth=front.growth(),
        reference=signs * front._limit(None),
    )


def front_path_data(result: Any, *, limit: int = 12) -> FrontPath:
    """Return the numbers of `plot_front_path`: at most `limit` variables.

    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x.sum(), -x[0]), dc.Space.binary(3), budget=8, seed=0, objectives=2)
    >>> front_path_data(result).change
    array([0.5, 0. , 0. ])
    """
    run = _several(result)
    front = run.result.front
    position = run.position[front.places]
    change = _change(run, front.places)
    sites = np.argsort(-change, kind="stable")[:limit]
    low = front.values.min(axis=0) if len(front) else np.zeros(len(front.names))
    high = front.values.max(axis=0) if len(front) else np.zeros(len(front.names))
    span = np.where(high > low, high - low, 1.0)
    ticks = [
        (Tick(0.0, number_text(float(a))), Tick(1.0, number_text(float(b))))
        for a, b in zip(low, high, strict=True)
    ]
    return FrontPath(
        names=(*front.names, *(run.names[i] for i in sites)),
        n_objectives=len(front.names),
        ticks=(*ticks, *(tuple(axis_ticks(run.space, int(i))) for i in sites)),
        index=front.places,
        position=np.concatenate([(front.values - low) / span, position[:, sites]], axis=1),
        change=change,
        n_left_out=run.space.dimension - len(sites),
    )


@plot
def plot_front(result: Any, *, objectives: Any = None, ax: Axes | None = None) -> Axes:
    """Plot the values of two objectives, the front as a line, its knee marked.

    Parameters
    ----------
    objectives : sequence of two str
        Which two; the first two by default.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x.sum(), -x[0]), dc.Space.binary(3), budget=8, seed=0, objectives=2)
    >>> plot_front(result).get_ylabel()
    'f1 (minimize)'
    """
    data = front_data(result)
    chosen = list(data.names[:2]) if objectives is None else check_list("objectives", objectives, "two names")
    if len(chosen) != 2:
        raise ValueError(f"objectives must be two names of {', '.join(data.names)}, got {chosen}")
    first, second = (data.names.index(check_choice("objectives", name, data.names)) for name in chosen)
    ax = axes(ax, 6.0, 4.5)
    ok = data.status == "ok"
    ax.plot(data.value[ok, first], data.value[ok, second], ".", color=GREY, alpha=0.4, ms=5, mew=0)
    order = data.front[np.argsort(data.value[data.front, first])]
    x, y = data.value[order, first], data.value[order, second]
    if len(data.names) == 2:
        ax.step(x, y, where="post" if data.directions[first] == "minimize" else "pre", color=BLUE, lw=1)
    ax.plot(x, y, "o", color=BLUE, ms=5, label=f"front, {len(order)} points")
    if data.knee is not None:
        x, y = data.value[data.knee, [first, second]]
        ax.plot(x, y, "o", mfc="none", mec=RED, ms=11, mew=1.8, label="knee")
    ax.set_xlabel(literal(f"{data.names[first]} ({data.directions[first]})"))
    ax.set_ylabel(literal(f"{data.names[second]} ({data.directions[second]})"))
    ax.legend(frameon=False, fontsize="small")
    return ax


@plot
def plot_growth(result: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the hypervolume of the front against evaluations.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x.sum(), -x[0]), dc.Space.binary(3), budget=8, seed=0, objectives=2)
    >>> plot_growth(result).get_ylabel()
    'hypervolume'
    """
    data = front_data(result)
    ax = axes(ax, 7.0, 3.6)
    ax.step(np.arange(1, len(data.growth) + 1), data.growth, where="post", color="black", lw=1.8)
    ax.set(xlabel="evaluation", ylabel="hypervolume", ylim=(0, None))
    limits = zip(data.names, data.reference.tolist(), strict=True)
    add_remark(ax, "up to " + ", ".join(f"{name} = {number_text(value)}" for name, value in limits))
    return ax


@plot
def plot_front_path(result: Any, *, limit: int = 12, ax: Axes | None = None) -> Axes:
    """Plot the points of the front as lines across objectives and variables, coloured by the first objective.

    The variables that change most along the front come first.

    Parameters
    ----------
    limit : int
        How many variables to show at most.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x.sum(), -x[0]), dc.Space.binary(3), budget=8, seed=0, objectives=2)
    >>> len(plot_front_path(result).lines)
    2
    """
    data = front_path_data(result, limit=check_integer("limit", limit, low=1))
    colours = ["black" if k < data.n_objectives else GREY for k in range(len(data.names))]
    first = data.position[:, 0]
    ax = _lines(
        ax, data.names, data.ticks, data.position, first, colours, lambda _: {"lw": 1.2, "alpha": 0.8}
    )
    add_remark(ax, f"{data.n_left_out} variables that change less not shown" if data.n_left_out else "")
    return ax


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
    lines = check_integer("lines", lines, low=1)
    data = coordinates_data(result, limit=check_integer("limit", limit, low=1), lines=lines)

    def style(quality: float) -> dict[str, Any]:
        return {"lw": 0.6 + 1.6 * (quality > 0.99), "alpha": 0.25 + 0.6 * quality**3}

    ax = _lines(ax, data.names, data.ticks, data.position, data.quality, "black", style)
    left_out = [f"{data.n_left_out} less important variables"] * (data.n_left_out > 0)
    left_out += [f"{data.n_lines_left_out} points"] * (data.n_lines_left_out > 0)
    add_remark(ax, " and ".join(left_out) + " not shown" if left_out else "")
    return ax


def _lines(
    ax: Axes | None,
    names: Sequence[str],
    ticks: Sequence[Sequence[Tick]],
    position: FloatArray,
    share: FloatArray,
    axis_colours: Sequence[str] | str,
    style: Callable[[float], dict[str, Any]],
) -> Axes:
    """Draw points as lines across upright axes from 0 to 1, coloured and drawn by a share of each point."""
    from matplotlib import colormaps

    ax = axes(ax, max(6.0, 0.9 * len(names)), 4.2)
    place = np.arange(len(names))
    for points, colour, one in zip(position, colormaps[SEQUENTIAL](share), share.tolist(), strict=True):
        ax.plot(place, points, color=colour, **style(one))
    for k, labelled in enumerate(ticks):
        for height, label in labelled:
            ax.annotate(
                short(label),
                (k, height),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
            )
    ax.vlines(place, 0, 1, color=axis_colours, lw=0.8)
    ax.set_xticks(place, short_names(names), rotation=30, ha="right")
    ax.set_yticks([])
    ax.set(ylim=(-0.04, 1.04), xlim=(-0.2, len(place) - 0.4))
    ax.spines[:].set_visible(False)
    return ax


def _several(result: Any) -> RunData:
    run = read_run(result)
    if run.objective is None:
        raise ValueError("result must be of a run with several objectives: this one has no front")
    return run


def _change(run: RunData, places: IntArray) -> FloatArray:
    """Return how much each variable changes over some evaluations, shape (d,)."""
    x, position = run.x[places], run.position[places]
    change = np.zeros(run.space.dimension)
    for i in range(run.space.dimension):
        if len(x) and run.space.sites.is_line[i]:
            change[i] = np.ptp(position[:, i])
        elif len(x):
            change[i] = 1 - np.unique(x[:, i], return_counts=True)[1].max() / len(x)
    return change
