"""What goes together: matrices of interactions and correlations, and the interaction graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer
from dcmaes.report._drawing import (
    BLUE,
    DIVERGING,
    SEQUENTIAL,
    add_remark,
    axes,
    number_text,
    plot,
    short_names,
    strip,
)
from dcmaes.report._run import RunData, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELS = 40
_NONE_CERTAIN = "No interaction worth showing: the evaluations show none beyond doubt."


@dataclass(frozen=True)
class Matrix:
    """How strongly pairs of variables go together, neighbours in the order of a clustering.

    Attributes
    ----------
    names : tuple of k str
        The variables shown: those that go together with others, most of all.
    strength : array of shape (k, k)
        Symmetric, diagonal 0. Interactions are nonnegative, and 0 where they are not beyond doubt;
        correlations are between -1 and 1.
    scale : float
        What full colour stands for: 1 for correlations, the strongest interaction.
    is_signed : bool
        Whether it can be negative.
    n_left_out : int
        How many variables are not shown.
    remark : str
        Why there is nothing to show; empty if there is something.
    """

    names: tuple[str, ...]
    strength: FloatArray
    scale: float
    is_signed: bool
    n_left_out: int
    remark: str


@dataclass(frozen=True)
class Graph:
    """The strongest interactions as a graph, its nodes on a circle.

    Attributes
    ----------
    names : tuple of k str
        The variables of the edges.
    position : array of shape (k, 2)
        Where the nodes lie, in [-1, 1]; clusters lie together.
    first, second : int arrays of shape (e,)
        The edges, strongest first.
    strength : array of shape (e,)
        How strong they are, in (0, 1] of the strongest.
    scale : float
        The strength of the strongest.
    n_left_out : int
        How many weaker interactions are not shown.
    remark : str
        Why there is nothing to show; empty if there is something.
    """

    names: tuple[str, ...]
    position: FloatArray
    first: IntArray
    second: IntArray
    strength: FloatArray
    scale: float
    n_left_out: int
    remark: str


def interactions_data(result: Any, *, limit: int = 60) -> Matrix:
    """Return the interactions of at most `limit` variables, clustered: those beyond doubt.

    >>> import dcmaes as dc
    >>> interactions_data(dc.minimize(sum, dc.Space.binary(30), budget=60, seed=0)).remark
    'No interaction worth showing: the evaluations show none beyond doubt.'
    """
    run = read_run(result)
    if not run.interactions.any():
        return _empty(run, _NONE_CERTAIN)
    return _matrix(run, run.interactions, limit, is_signed=False)


def correlations_data(result: Any, *, limit: int = 60) -> Matrix:
    """Return the correlations in the last search distribution of at most `limit` variables, clustered.

    >>> import dcmaes as dc
    >>> correlations_data(dc.minimize(sum, dc.Space.binary(3), budget=5, seed=0, strategy="random")).remark
    "The strategy 'random' keeps no correlations."
    """
    run = read_run(result)
    correlation = run.result.distribution.correlations
    if correlation is None:
        return _empty(run, f"The strategy {run.result.strategy!r} keeps no correlations.")
    strength = np.nan_to_num(correlation * (1.0 - np.eye(len(correlation))))
    if not strength.any():
        return _empty(run, "The last search distribution has no correlations.")
    return _matrix(run, strength, limit, is_signed=True)


def graph_data(result: Any, *, limit: int = 40) -> Graph:
    """Return the `limit` strongest interactions that are beyond doubt as a graph.

    >>> import dcmaes as dc
    >>> graph_data(dc.minimize(sum, dc.Space.binary(3), budget=5, seed=0, strategy="random")).names
    ()
    """
    matrix = interactions_data(result, limit=max(read_run(result).space.dimension, 1))
    first, second = np.nonzero(np.triu(matrix.strength))
    found = matrix.strength[first, second]
    kept = np.argsort(-found, kind="stable")[:limit]
    nodes = np.unique(np.concatenate([first[kept], second[kept]]))  # in the order of the clustering
    # From the top on; two of them side by side.
    angle = 2.0 * np.pi * np.arange(len(nodes)) / max(len(nodes), 1) - np.pi / 2.0 * (len(nodes) != 2)
    return Graph(
        names=tuple(matrix.names[i] for i in nodes),
        position=np.stack([np.cos(angle), np.sin(angle)], axis=1),
        first=np.searchsorted(nodes, first[kept]),
        second=np.searchsorted(nodes, second[kept]),
        strength=found[kept] / matrix.scale,
        scale=matrix.scale,
        n_left_out=len(found) - len(kept),
        remark=matrix.remark,
    )


@plot
def plot_interactions(result: Any, *, limit: int = 60, ax: Axes | None = None) -> Axes:
    """Plot how strongly pairs of variables interact, as a matrix in the order of a clustering.

    Only pairs that interact beyond doubt are shown: see `Interaction`.

    Parameters
    ----------
    limit : int
        How many variables to show at most: those that interact most.

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


@plot
def plot_correlations(result: Any, *, limit: int = 60, ax: Axes | None = None) -> Axes:
    """Plot the correlations of the last search distribution, as a matrix in the order of a clustering.

    Parameters
    ----------
    limit : int
        How many variables to show at most: the most correlated ones.

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


@plot
def plot_interaction_graph(result: Any, *, limit: int = 40, ax: Axes | None = None) -> Axes:
    """Plot the strongest interactions that are beyond doubt as a graph: the wider a line, the stronger.

    Parameters
    ----------
    limit : int
        How many interactions to show at most.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x[0] - x[1]) ** 2, dc.Space.integers(3, -5, 5), budget=60, seed=0)
    >>> plot_interaction_graph(result).get_title()
    'strongest interactions'
    """
    data = graph_data(result, limit=check_integer("limit", limit, low=1))
    ax = axes(ax, 6.0, 6.0)
    for i, j, strength in zip(data.first[::-1], data.second[::-1], data.strength[::-1], strict=True):
        ends = data.position[[i, j]]
        ax.plot(*ends.T, **_edge_style(strength), zorder=1)
    ax.scatter(data.position[:, 0], data.position[:, 1], s=60, color="white", edgecolors="black", zorder=2)
    for name, (x, y) in zip(short_names(data.names), data.position, strict=True):
        turn = np.degrees(np.arctan2(y, x))
        is_left = x < -1e-9
        ax.text(
            1.08 * x,
            1.08 * y,
            name,
            rotation=turn + 180 * is_left,
            rotation_mode="anchor",
            ha="right" if is_left else "left",
            va="center",
            fontsize="small",
        )
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal", title="strongest interactions")
    strip(ax)
    if len(data.first):
        shown = sorted({1.0, 0.5, float(data.strength[-1])}, reverse=True)
        lines = [
            ax.plot([], [], **_edge_style(share), label=number_text(share * data.scale))[0] for share in shown
        ]
        ax.legend(handles=lines, title="strength", frameon=False, fontsize="small", loc="lower right")
    remark = data.remark or (f"{data.n_left_out} weaker interactions not shown" if data.n_left_out else "")
    add_remark(ax, remark)
    return ax


def _empty(run: RunData, remark: str) -> Matrix:
    return Matrix((), np.zeros((0, 0)), 1.0, False, run.space.dimension, remark)


def _matrix(run: RunData, strength: FloatArray, limit: int, *, is_signed: bool) -> Matrix:
    together = np.abs(strength).sum(axis=1)
    strongest = np.argsort(-together, kind="stable")[:limit]
    shown = np.sort(strongest[together[strongest] > 0.0])
    part = strength[np.ix_(shown, shown)]
    order = shown[_clustered(np.abs(part))]
    return Matrix(
        names=tuple(run.names[i] for i in order),
        strength=strength[np.ix_(order, order)],
        scale=1.0 if is_signed else float(strength.max()),
        is_signed=is_signed,
        n_left_out=len(strength) - len(order),
        remark="",
    )


def _clustered(strength: FloatArray) -> IntArray:
    """Return an order in which variables that go together are neighbours (average linkage), shape (k,)."""
    if len(strength) < 3 or not strength.any():
        return np.arange(len(strength))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1.0 - strength / strength.max()
    np.fill_diagonal(distance, 0.0)
    return np.asarray(leaves_list(linkage(squareform(distance, checks=False), "average")), dtype=np.int64)


def _edge_style(strength: float) -> dict[str, Any]:
    """Return how a line of the graph looks, strength in (0, 1]."""
    return {"color": BLUE, "lw": 0.5 + 5.0 * strength, "alpha": 0.15 + 0.75 * strength}


def _plot_matrix(data: Matrix, title: str, ax: Axes | None) -> Axes:
    k = len(data.names)
    ax = axes(ax, 6.0, 5.2)
    ax.set_title(title)
    if k == 0:
        strip(ax)
        add_remark(ax, data.remark)
        return ax
    shown = np.ma.masked_equal(data.strength, 0.0)
    low, colours = (-data.scale, DIVERGING) if data.is_signed else (0.0, SEQUENTIAL)
    image = ax.imshow(shown, cmap=colours, vmin=low, vmax=data.scale)
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="correlation" if data.is_signed else "strength")
    step = -(-k // _MOST_LABELS)
    places = np.arange(0, k, step)
    every = short_names(data.names)
    names = [every[i] for i in places]
    ax.set_xticks(places, names, rotation=90, fontsize="small")
    ax.set_yticks(places, names, fontsize="small")
    parts = [f"{data.n_left_out} variables with weaker ones or none not shown"] * (data.n_left_out > 0)
    parts += [f"1 in {step} named"] * (step > 1)
    add_remark(ax, "; ".join(parts))
    return ax
