"""The numbers behind the matrices of interactions and correlations, and the interaction graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.report._run import Run, read_run


@dataclass(frozen=True)
class Matrix:
    """How strongly pairs of variables go together, neighbours in the order of a clustering.

    Attributes
    ----------
    names : tuple of k str
        The variables shown: if not all, those that go together with others most.
    strength : array of shape (k, k)
        Symmetric, diagonal 0. Interactions are nonnegative, correlations between -1 and 1.
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
    n_left_out: int
    remark: str


def interactions_data(result: Any, *, limit: int = 60) -> Matrix:
    """Return the interactions of at most `limit` variables, clustered.

    >>> import dcmaes as dc
    >>> interactions_data(dc.minimize(sum, dc.Space.binary(3), budget=5, seed=0, strategy="random")).remark
    "The strategy 'random' found no interactions."
    """
    run = read_run(result)
    strength = _interactions(run)
    if not strength.any():
        return _empty(run, strength, f"The strategy {run.result.strategy!r} found no interactions.")
    return _matrix(run, strength, limit, is_signed=False)


def correlations_data(result: Any, *, limit: int = 60) -> Matrix:
    """Return the correlations in the last search distribution of at most `limit` variables, clustered.

    >>> import dcmaes as dc
    >>> correlations_data(dc.minimize(sum, dc.Space.binary(3), budget=5, seed=0, strategy="random")).remark
    "The strategy 'random' keeps no correlations."
    """
    run = read_run(result)
    correlation = run.result.distribution.correlations
    nothing = np.zeros((run.space.dimension,) * 2)
    if correlation is None:
        return _empty(run, nothing, f"The strategy {run.result.strategy!r} keeps no correlations.")
    strength = np.nan_to_num(correlation * (1.0 - np.eye(len(correlation))))
    if not strength.any():
        return _empty(run, nothing, "The last search distribution has no correlations.")
    return _matrix(run, strength, limit, is_signed=True)


def graph_data(result: Any, *, limit: int = 40) -> Graph:
    """Return the `limit` strongest interactions as a graph.

    >>> import dcmaes as dc
    >>> graph_data(dc.minimize(sum, dc.Space.binary(3), budget=5, seed=0, strategy="random")).names
    ()
    """
    matrix = interactions_data(result, limit=max(read_run(result).space.dimension, 1))
    first, second = np.triu_indices(len(matrix.names), k=1)
    found = matrix.strength[first, second] if len(first) else np.zeros(0)
    order = np.argsort(-found, kind="stable")
    order = order[found[order] > 0.0]
    kept = order[:limit]
    nodes = np.unique(np.concatenate([first[kept], second[kept]]))  # in the order of the clustering
    angle = 2.0 * np.pi * np.arange(len(nodes)) / max(len(nodes), 1) - np.pi / 2.0
    return Graph(
        names=tuple(matrix.names[i] for i in nodes),
        position=np.stack([np.cos(angle), np.sin(angle)], axis=1),
        first=np.searchsorted(nodes, first[kept]),
        second=np.searchsorted(nodes, second[kept]),
        strength=found[kept] / found[kept[0]] if len(kept) else np.zeros(0),
        n_left_out=len(order) - len(kept),
        remark=matrix.remark,
    )


def _interactions(run: Run) -> FloatArray:
    place = {name: i for i, name in enumerate(run.space.names)}
    strength = np.zeros((len(place), len(place)))
    for first, second, value in run.result.interactions():
        i, j = place[first], place[second]
        strength[i, j] = strength[j, i] = value
    return strength


def _empty(run: Run, strength: FloatArray, remark: str) -> Matrix:
    return Matrix((), strength[:0, :0], 1.0, False, run.space.dimension, remark)


def _matrix(run: Run, strength: FloatArray, limit: int, *, is_signed: bool) -> Matrix:
    together = np.abs(strength).sum(axis=1)
    shown = np.sort(np.argsort(-together, kind="stable")[:limit])
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
