"""Functions without interactions show one in at most one run of a hundred.

With 200 runs at a rate of 0.01, more than 7 alarms have a probability of 0.001; so has each of these tests of
failing by chance, if the rate is as declared.
"""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.models import FALSE_ALARMS, certain_pairs

N_RUNS, MOST_ALARMS = 200, 7
NOISE = {
    "normal": lambda rng, value: value + 0.3 * rng.standard_normal(len(value)),
    "heavy tails": lambda rng, value: value + 0.1 * rng.standard_cauchy(len(value)),
    "growing with the value": lambda rng, value: value * (1 + 0.3 * rng.standard_normal(len(value))),
}
SPACES = {
    "bits": dc.Space.binary(12),
    "numbers": dc.Space.array([dc.Float(0, 1), dc.Float(0, 1), dc.Integer(0, 30), dc.Integer(0, 5)]),
    "choices": dc.Space({name: dc.Categorical(["x", "y", "z"]) for name in "abcd"}),
}


def test_the_declared_rate():
    from scipy.stats import binom

    assert binom.sf(MOST_ALARMS, N_RUNS, FALSE_ALARMS) < 0.0015


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("name", SPACES)
def test_sums_over_variables_show_no_interactions(name, noise):
    space = SPACES[name]
    d = space.dimension
    n_alarms = 0
    for seed in range(N_RUNS):
        rng = np.random.default_rng(seed)
        x = space.sites.uniform(rng.random((60, d)))
        # A step, a bend and a wave in each variable.
        place = space.sites.coordinate(x) - rng.random(d)
        effect = rng.standard_normal((3, d))
        value = (effect[0] * (place > 0) + effect[1] * np.abs(place) + effect[2] * np.cos(9 * place)).sum(1)
        is_certain = certain_pairs(space.sites, x, NOISE[noise](rng, value), ~np.eye(d, dtype=bool))
        n_alarms += bool(is_certain.any())
    assert n_alarms <= MOST_ALARMS


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "n_runs"), [("cma", 30), ("auto", 3)])
def test_nor_do_searches_for_their_minimum(strategy, n_runs):
    """No alarm in so few runs: at the declared rate, a probability of 0.26 and 0.03 for even one."""
    for seed in range(n_runs):
        optimum = np.random.default_rng(seed).random(5)
        space = dc.Space.array([dc.Float(0, 1)] * 3 + [dc.Integer(0, 20)] * 2)

        def function(x, optimum=optimum):
            return float((np.abs(x / [1, 1, 1, 20, 20] - optimum) ** 1.5).sum())

        found = dc.minimize(function, space, budget=120, seed=seed, strategy=strategy).interactions()
        assert not any(pair.is_certain for pair in found)
