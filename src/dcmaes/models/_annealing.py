"""Low points of a function that is known: heat-bath sampling of all chains at once while it gets colder."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models._contrasts import contrast_sites, contrast_table, contrasts
from dcmaes.models._sparse import SparseQuadratic

# Temperature of the last sweep, as a share of the first: terms may be of very different size.
COLD = 1e-3


def annealed(
    function: SparseQuadratic, *, n_chains: int, n_sweeps: int, rng: np.random.Generator
) -> FloatArray:
    """Return the last point of each chain, coded, shape (n_chains, d).

    >>> nothing = np.zeros((0, 2), dtype=np.int64)
    >>> function = SparseQuadratic(np.array([2, 2]), nothing, 0.0, np.array([1.0, -1.0]), np.zeros((2, 2)))
    >>> annealed(function, n_chains=3, n_sweeps=20, rng=np.random.default_rng(0))
    array([[1., 0.],
           [1., 0.],
           [1., 0.]])
    """
    n_states, site = function.n_states, contrast_sites(function.n_states)
    x = np.floor(rng.random((n_chains, len(n_states))) * n_states)
    z = contrasts(x, n_states)
    spans = [np.flatnonzero(site == i) for i in range(len(n_states))]
    tables = [contrast_table(int(c)) for c in n_states]

    def energies(i: int) -> FloatArray:
        """Return the energy of each state of a site, given all other sites, shape (n_chains, c)."""
        span = spans[i]
        given_others: FloatArray = (function.field[span] + z @ function.coupling[:, span]) @ tables[i].T
        return given_others

    hot = max(float(np.ptp(energies(i), axis=1).max()) for i in range(len(n_states)))
    for temperature in hot * np.geomspace(1.0, COLD, n_sweeps):
        for i, c in enumerate(n_states):
            # The largest of log-probabilities with Gumbel noise is a draw: (S3)
            x[:, i] = (temperature * rng.gumbel(size=(n_chains, c)) - energies(i)).argmax(axis=1)
            z[:, spans[i]] = tables[i][x[:, i].astype(np.int64)]
    return x
