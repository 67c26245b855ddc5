"""Which sites depend on each other in a population: mutual information, and the tree of clusters it gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray

# Sites with more values than this in a population are cut into as many classes of about equal size.
MAX_CLASSES = 16
# Two sites nearer than this always change together.
_SAME = 1e-9


def classes(x: FloatArray) -> IntArray:
    """Return for each entry of a population the number of its value among those of its site, shape (n, d).

    >>> classes(np.array([[0.5, 7.0], [0.1, 7.0], [0.5, 8.0]]))
    array([[1, 0],
           [0, 0],
           [1, 1]])
    """
    ordered = np.sort(x, axis=0)
    is_new = np.zeros(x.shape, dtype=np.int64)
    is_new[1:] = ordered[1:] != ordered[:-1]
    number = is_new.cumsum(axis=0)
    many = number[-1] >= MAX_CLASSES
    result = np.empty(x.shape, dtype=np.int64)
    np.put_along_axis(result, np.argsort(x, axis=0, kind="stable"), number, axis=0)
    for site in np.flatnonzero(many):
        first = np.searchsorted(ordered[:, site], x[:, site])
        result[:, site] = first * MAX_CLASSES // len(x)
    return result


def information(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mutual information of each pair of sites in a population, and the joint entropy, in nats.

    Parameters
    ----------
    x : array of shape (n, d)
        The population, n at least 1.

    Returns
    -------
    two arrays of shape (d, d)
        On the diagonal both are the entropy of the site.

    Examples
    --------
    >>> shared, joint = information(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))
    >>> shared.round(3)
    array([[0.693, 0.693, 0.   ],
           [0.693, 0.693, 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    n, d = x.shape
    classed = classes(x)
    n_classes = int(classed.max()) + 1
    indicator = (classed.T[:, None, :] == np.arange(n_classes)[:, None]).reshape(d * n_classes, n)
    used = np.flatnonzero(indicator.any(axis=1))
    indicator = indicator[used].astype(np.float64)
    count = indicator @ indicator.T
    # Counts are whole numbers, so n log n comes from a table.
    table = np.arange(n + 1.0)
    table[1:] *= np.log(table[1:])
    weight = table[count.astype(np.int64)]
    starts = np.searchsorted(used, np.arange(d) * n_classes)
    weight = np.add.reduceat(np.add.reduceat(weight, starts, axis=0), starts, axis=1)
    joint = np.log(n) - weight / n  # (L1)
    joint = np.maximum((joint + joint.T) / 2.0, 0.0)
    single = np.diag(joint)
    shared = np.maximum(single[:, None] + single - joint, 0.0)  # (L2)
    return shared, joint


def distances(x: FloatArray) -> FloatArray:
    """Return how far any two sites are from determining each other, in [0, 1], shape (d, d).

    Sites of which at least one has the same value everywhere are at distance 1.

    >>> distances(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])).round(3)
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    shared, joint = information(x)
    distance = np.where(shared > _SAME, 1.0 - shared / np.maximum(joint, _SAME), 1.0)  # (L3)
    np.fill_diagonal(distance, 0.0)
    return np.clip(distance, 0.0, 1.0)


def clusters(x: FloatArray, rng: np.random.Generator) -> list[IntArray]:
    """Return sets of sites to be copied together, the smallest first, in random order among equal sizes.

    They are the nodes of the tree of average linkage, without the root, and without parts of a set whose
    sites always change together.

    >>> x = np.array([[0.0, 0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    >>> found = clusters(x, np.random.default_rng(1))
    >>> sorted(cluster.tolist() for cluster in found if len(cluster) == 2)
    [[0, 1], [2, 3]]
    """
    d = x.shape[1]
    if d == 1:
        return [np.zeros(1, dtype=np.int64)]
    from scipy.cluster.hierarchy import average

    # Sites in random order: ties, of which small populations have many, are then broken at random.
    shuffled = rng.permutation(d)
    distance = distances(x[:, shuffled])
    merges = average(distance[np.triu_indices(d, 1)])  # (L4)
    nodes: list[list[int]] = [[site] for site in shuffled.tolist()]
    is_useful = [True] * (2 * d - 1)
    is_useful[-1] = False
    for first, second, height, _ in merges.tolist():
        a, b = int(first), int(second)
        nodes.append(nodes[a] + nodes[b])
        if height < _SAME:
            is_useful[a] = is_useful[b] = False
    chosen = [node for node, useful in zip(nodes, is_useful, strict=True) if useful]
    chosen = [chosen[k] for k in rng.permutation(len(chosen))]
    return [np.array(sorted(node)) for node in sorted(chosen, key=len)]


def membership(sets: list[IntArray], d: int) -> NDArray[np.bool_]:
    """Return which sites are in which set, shape (number of sets, d).

    >>> membership([np.array([0, 2])], 3)
    array([[ True, False,  True]])
    """
    is_member = np.zeros((len(sets), d), dtype=np.bool_)
    for row, sites in zip(is_member, sets, strict=True):
        row[sites] = True
    return is_member
