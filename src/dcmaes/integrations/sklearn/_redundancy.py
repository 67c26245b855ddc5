"""Which features stand in for each other, read off the scores of many subsets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray

# Ridge as a share of the mean diagonal of the kernel: subsets are few against pairs, and scores have noise.
_RIDGE = 0.1


def pair_couplings(supports: NDArray[np.bool_], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return main effects, shape (d,), and couplings, shape (d, d), of a quadratic fit to scores of subsets.

    With s = -1 for a feature left out and +1 for one taken, the score is fitted by
    c + sum_i effect_i s_i + sum_{i<j} coupling_ij s_i s_j (coupling in {-1,+1}), by kernel ridge regression:
    every product of two features is a predictor, none is ever written down.

    >>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    >>> effect, coupling = pair_couplings(x, np.array([0.0, 1.0, 1.0, 1.0]))
    >>> bool(coupling[0, 1] < 0 < effect[0])
    True
    """
    spins = 2.0 * supports - 1.0
    d = spins.shape[1]
    overlap = spins @ spins.T / d
    # The square of the overlap has every pair twice, and a constant.
    kernel = overlap + overlap**2 / 2
    centered = scores - scores.mean()
    center = np.eye(len(scores)) - 1.0 / len(scores)
    kernel = center @ kernel @ center
    ridge = _RIDGE * max(np.trace(kernel) / len(scores), 1e-12)
    weights = center @ np.linalg.solve(kernel + ridge * np.eye(len(scores)), centered)
    effect = weights @ spins / d
    coupling = (spins * weights[:, None]).T @ spins / d**2
    np.fill_diagonal(coupling, 0.0)
    # Rounding may differ between the two triangles.
    return effect, (coupling + coupling.T) / 2
