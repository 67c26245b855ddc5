"""Functions with few interactions, points, and what is told of them: for several modules of tests."""

import numpy as np

from dcmaes.models import SparseQuadratic
from dcmaes.models._sparse import contrast_sites
from dcmaes.strategies import Evaluations


def random_function(n_states, n_pairs, seed):
    """A sum over single sites and some pairs, with random normal coefficients."""
    rng, d = np.random.default_rng(seed), len(n_states)
    every = np.stack(np.triu_indices(d, 1), axis=1)
    pairs = every[np.sort(rng.permutation(len(every))[:n_pairs])]
    site = contrast_sites(n_states)
    interacts = np.zeros((d, d), dtype=bool)
    interacts[pairs[:, 0], pairs[:, 1]] = True
    upper = rng.standard_normal((len(site), len(site))) * interacts[np.ix_(site, site)]
    return SparseQuadratic(n_states, pairs, 3.0, rng.standard_normal(len(site)), upper + upper.T)


def points(n, n_states, seed):
    return np.floor(np.random.default_rng(seed).random((n, len(n_states))) * n_states)


def told(x, values):
    return Evaluations(np.atleast_2d(x), np.asarray(values, dtype=float), np.zeros(len(values)))
