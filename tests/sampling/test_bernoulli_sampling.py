"""Frequencies of sampled states against enumeration.

Chi-square tests at level 1e-4 each, with fixed seeds: a correct sampler that draws its numbers in another
order fails a given one once in 10,000 changes.
"""

import numpy as np
import pytest
from scipy import stats

from dcmaes.distributions import BivariateBernoulli, Ising, MultivariateBernoulli

LEVEL = 1e-4


def _ising(dimension, seed, scale=0.8):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(scale=scale, size=(dimension, dimension)), 1)
    return Ising(rng.normal(scale=scale, size=dimension), coupling + coupling.T)


def _p_value(points, probabilities):
    """Chi-square over the states expected at least five times, the others pooled into one cell."""
    index = np.ravel_multi_index(tuple(points.T), probabilities.shape)
    p = probabilities.reshape(-1)
    counts = np.bincount(index, minlength=p.size)
    common = p * len(points) >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(p[common], p[~common].sum()) * len(points)
    used = expected > 0
    assert observed[~used].sum() == 0
    return stats.chisquare(observed[used], expected[used] * observed.sum() / expected.sum()).pvalue


@pytest.mark.parametrize(
    "law",
    [
        BivariateBernoulli(0.1, 0.3, 0.2, 0.4),
        MultivariateBernoulli(np.random.default_rng(0).dirichlet(np.ones(32)).reshape((2,) * 5)),
        MultivariateBernoulli([[[0.5, 0.0], [0.0, 0.2]], [[0.0, 0.3], [0.0, 0.0]]]),
        _ising(6, 1),
        _ising(12, 2),
    ],
    ids=["bivariate", "table", "table-with-zeros", "ising-6", "ising-12"],
)
def test_sampling_by_table(law):
    points = law.sample(50_000, np.random.default_rng(20))
    assert _p_value(points, law.probabilities) > LEVEL


@pytest.mark.parametrize(("dimension", "seed"), [(3, 0), (6, 1), (9, 2)])
def test_sampling_by_heat_bath(dimension, seed):
    law = _ising(dimension, seed)
    run = law.simulate(20_000, np.random.default_rng(21), burn_in=50, n_chains=20_000)
    assert run.max_r_hat < 1.05
    assert _p_value(run.samples, law.probabilities) > LEVEL


def test_marginals_of_a_large_law_made_of_small_ones():
    # Blocks of six variables, coupled inside only: each has a known law although the whole is too large to
    # enumerate.
    block, copies = _ising(6, 3), 8
    law = Ising(np.tile(block.field, copies), np.kron(np.eye(copies), block.coupling))
    points = law.simulate(4000, np.random.default_rng(22), n_chains=4000, burn_in=40).samples
    for start in range(0, 48, 6):
        assert _p_value(points[:, start : start + 6], block.probabilities) > LEVEL / 8


def test_impossible_states_are_never_drawn():
    law = MultivariateBernoulli([[0.0, 0.5], [0.5, 0.0]])
    points = law.sample(10_000, np.random.default_rng(23))
    assert (points.sum(axis=1) == 1).all()


def test_same_seed_same_points():
    law = _ising(30, 4, scale=0.3)
    first = law.sample(40, np.random.default_rng(5))
    np.testing.assert_array_equal(first, law.sample(40, np.random.default_rng(5)))
    assert (first != law.sample(40, np.random.default_rng(6))).any()
