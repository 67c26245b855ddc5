"""States of choices in coordinates that sum to zero."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dcmaes._validation import FloatArray, IntArray


def contrasts(x: FloatArray, n_states: IntArray) -> FloatArray:
    """Return the state of each site in coordinates that sum to zero over its states, shape (n, d) to (n, p).

    >>> contrasts(np.array([[0.0], [1.0]]), np.array([2])).round(3)
    array([[ 1.],
           [-1.]])
    """
    tables = {c: contrast_table(int(c)) for c in np.unique(n_states)}
    columns = [tables[c][x[:, site].astype(np.int64)] for site, c in enumerate(n_states)]
    coordinates: FloatArray = np.concatenate(columns, axis=1)
    return coordinates


def contrast_table(n_states: int) -> FloatArray:
    """Return an orthogonal basis of the functions of one site that sum to zero, shape (c, c - 1).

    >>> table = contrast_table(3)
    >>> (table @ table.T).round(3)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    if n_states == 1:
        return np.zeros((1, 0))
    table: FloatArray = scipy.linalg.helmert(n_states).T * np.sqrt(n_states / (n_states - 1))
    return table


def contrast_sites(n_states: IntArray) -> IntArray:
    """Return the site of each contrast, shape (p,).

    >>> contrast_sites(np.array([2, 3]))
    array([0, 1, 1])
    """
    return np.repeat(np.arange(len(n_states)), n_states - 1)
