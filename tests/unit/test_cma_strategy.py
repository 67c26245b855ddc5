"""The strategy object: options, tells of every kind, restarts, invariance."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.strategies import Evaluations
from dcmaes.strategies.cma import Cma
from dcmaes.strategies.cma._cma import MOST_FREE_GENERATIONS
from dcmaes.testing import StrategyConformance

MIXED = dc.Space(
    {"i": dc.Integer(-5, 5), "b": dc.Binary(), "c": dc.Categorical(["x", "y", "z"]), "z": dc.Float(-1, 1)}
)


class TestDiagonalBipopConformance(StrategyConformance):
    def make_strategy(self):
        return Cma(covariance="diagonal", restarts="bipop", population_size=6)


def start(strategy, space=MIXED, seed=0):
    return strategy.init(space.sites, Evaluations.empty(space.dimension), 1000, np.random.default_rng(seed))


def evolve(strategy, state, objective, n_generations, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_generations):
        x = strategy.sample(state, strategy.batch_size(state), rng, None)
        state = strategy.update(state, Evaluations(x, objective(x), np.zeros(len(x))))
    return state


def flatten(data):
    if isinstance(data, dict):
        return [item for key in sorted(data) if key != "type" for item in flatten(data[key])]
    return [np.asarray(data, dtype=float).tobytes()] if data is not None else [b""]


def learned(strategy, state):
    data = strategy.state_to_dict(state)
    return flatten({key: data[key] for key in ("distribution", "paths")})


def sphere(x):
    return ((x - 1.0) ** 2).sum(axis=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population_size": 3}, "population_size"),
        ({"step_size": 0.0}, "step_size"),
        ({"step_size": 2.0}, "step_size"),
        ({"covariance": "sparse"}, "covariance"),
        ({"restarts": "never"}, "restarts"),
        ({"max_restarts": -1}, "max_restarts"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Cma(**options)


def test_options_make_an_equal_strategy_and_show_in_the_repr():
    strategy = Alone(Cma(population_size=8, covariance="diagonal", restarts=None))
    assert dict(Cma(**strategy.options()).options()) == dict(strategy.options())
    assert "population_size=8" in repr(strategy)


@pytest.mark.parametrize("transformation", [lambda v: 3 * v - 7, np.exp, lambda v: v**3, np.sqrt])
def test_increasing_transformations_of_the_values_change_nothing(transformation):
    strategy = Alone(Cma())
    plain = evolve(strategy, start(strategy), sphere, 25)
    other = evolve(strategy, start(strategy), lambda x: transformation(sphere(x)), 25)
    assert learned(strategy, plain) == learned(strategy, other)


def test_the_order_of_told_counts_within_ties_only():
    strategy = Alone(Cma(population_size=6))
    x = strategy.sample(start(strategy), 6, np.random.default_rng(3), None)
    shuffled = np.random.default_rng(4).permutation(6)

    def after(rows, value):
        return learned(
            strategy, strategy.update(start(strategy), Evaluations(x[rows], value[rows], np.zeros(6)))
        )

    distinct, tied = np.arange(6.0), np.zeros(6)
    assert after(np.arange(6), distinct) == after(shuffled, distinct)
    # Of equal points the one told first ranks first.
    assert after(np.arange(6), tied) == after(np.arange(6), distinct)
    assert after(shuffled, tied) != after(np.arange(6), tied)


def test_results_may_come_in_any_portions():
    strategy = Alone(Cma(population_size=10))
    x = strategy.sample(start(strategy), 30, np.random.default_rng(1), None)
    told = Evaluations(x, sphere(x), np.zeros(30))
    at_once, one_by_one = strategy.update(start(strategy), told), start(strategy)
    for i in range(30):
        assert strategy.batch_size(one_by_one) == 10 - i % 10
        one_by_one = strategy.update(one_by_one, told.take(slice(i, i + 1)))
    assert learned(strategy, at_once) == learned(strategy, one_by_one)
    assert at_once.progress.generation == 3


def test_late_and_foreign_results_do_no_harm():
    strategy, rng = Alone(Cma()), np.random.default_rng(2)
    state = evolve(strategy, start(strategy), sphere, 40)
    x = MIXED.sites.uniform(rng.random((50, 4)))
    state = strategy.update(state, Evaluations(x, sphere(x), np.zeros(50)))
    state = evolve(strategy, state, sphere, 60, seed=5)
    mean = strategy.summary(state).mean
    np.testing.assert_allclose(
        MIXED.sites.coordinate(np.array([1.0, 1, 1, 1.0]))[[0, 3]], mean[[0, 3]], atol=0.05
    )


def test_equal_values_let_it_drift_but_not_break():
    strategy = Alone(Cma())
    state = evolve(strategy, start(strategy), lambda x: np.zeros(len(x)), 300)
    summary = strategy.summary(state)
    assert np.isfinite(summary.deviation[[0, 1, 3]]).all()
    assert "no improvement" in strategy.convergence(state)


def test_infeasible_points_are_ranked_by_violation():
    strategy, rng = Alone(Cma()), np.random.default_rng(0)
    state = start(strategy)
    for _ in range(60):
        x = strategy.sample(state, strategy.batch_size(state), rng, None)
        state = strategy.update(state, Evaluations(x, np.full(len(x), np.nan), 1.0 + np.abs(x[:, 3] - 0.5)))
    assert strategy.summary(state).mean[3] == pytest.approx(0.75, abs=0.01)
    assert state.progress.best[0] >= 1.0


def test_populations_double_with_ipop():
    strategy, rng = Alone(Cma(population_size=6, max_restarts=5)), np.random.default_rng(0)
    state, sizes = start(strategy), []
    for _ in range(5):
        sizes.append(state.population_size)
        state = strategy.restart(state, rng)
    # Nothing was told, so no run found a best point to stay near.
    assert sizes == [6, 12, 24, 48, 96]
    assert strategy.restart(state, rng) is None
    assert Alone(Cma(restarts=None)).restart(start(Alone(Cma())), rng) is None


def test_a_run_that_found_the_best_point_is_followed_by_one_around_it():
    strategy, rng = Alone(Cma()), np.random.default_rng(1)
    state = evolve(strategy, start(strategy), sphere, 80)
    near = strategy.restart(state, rng)
    assert near.population_size == state.population_size
    np.testing.assert_array_equal(near.distribution.marginals.mean, state.distribution.marginals.mean)
    assert (
        near.distribution.marginals.numeric.deviation > state.distribution.marginals.numeric.deviation
    ).all()
    assert strategy.convergence(near) is None
    # One that does not improve on it is followed by a larger population elsewhere.
    worse = evolve(strategy, near, lambda x: 100 + sphere(x), 10)
    elsewhere = strategy.restart(worse, rng)
    assert elsewhere.population_size == 2 * state.population_size
    assert (elsewhere.distribution.marginals.mean != state.distribution.marginals.mean).all()


def test_bipop_balances_small_and_growing_runs():
    strategy, rng = Alone(Cma(population_size=8, restarts="bipop")), np.random.default_rng(0)
    state, spent, sizes = start(strategy), {True: 0, False: 0}, {True: [], False: []}
    for i in range(12):
        state = replace(state, progress=replace(state.progress, evaluations=100 + 13 * i))
        spent[state.is_small_run] += state.progress.evaluations
        sizes[state.is_small_run].append(state.population_size)
        state = strategy.restart(state, rng)
    assert sizes[False][:4] == [8, 16, 32, 64]
    assert all(8 <= size <= 32 for size in sizes[True])
    assert 0.4 < spent[True] / spent[False] < 1.5


def test_convergence_says_why():
    strategy = Alone(Cma())
    floats = dc.Space.array([dc.Float(0, 1)] * 2)
    state = evolve(strategy, start(strategy, floats), lambda x: ((x - 0.3) ** 2).sum(axis=1), 400)
    assert "continuous deviation" in strategy.convergence(state)
    idle = replace(start(strategy), progress=replace(start(strategy).progress, idle=10**6))
    assert "1000000 evaluations" in strategy.convergence(idle)
    free = replace(start(strategy).progress, n_free=MOST_FREE_GENERATIONS + 1)
    assert "no new point" in strategy.convergence(replace(start(strategy), progress=free))
    assert strategy.convergence(start(strategy)) is None


def test_undecided_binary_sites_are_not_frozen():
    space, strategy = dc.Space.binary(30), Alone(Cma())
    state = start(strategy, space)
    waited = replace(state.progress, idle=50 + 3 * state.distribution.layout.n_neighbours + 1)
    assert strategy.convergence(replace(state, progress=waited)) is None
    decided = replace(state.distribution.marginals, mean=np.zeros(30), scale=np.full(30, 0.05))
    frozen = replace(state, progress=waited, distribution=replace(state.distribution, marginals=decided))
    assert "no improvement" in strategy.convergence(frozen)


def test_a_starting_point_is_the_centre():
    strategy, rng = Alone(Cma()), np.random.default_rng(0)
    x = MIXED.sites.uniform(rng.random((2, 4)))
    told = Evaluations(x, np.array([2.0, 1.0]), np.zeros(2))
    state = strategy.init(MIXED.sites, told, 1000, rng)
    summary = strategy.summary(state)
    u = MIXED.sites.coordinate(x[1])
    np.testing.assert_allclose(summary.mean[[0, 3]], u[[0, 3]])
    assert summary.probabilities[2].argmax() == x[1, 2]
    assert summary.deviation[3] == pytest.approx(0.1)


def test_diagonal_mode_serves_thousands_of_sites():
    space, strategy = dc.Space.integers(2000, 0, 100), Alone(Cma())
    state = start(strategy, space)
    assert state.distribution.copula is None
    target = np.random.default_rng(1).integers(0, 101, 2000)
    first = strategy.summary(state).mean
    state = evolve(strategy, state, lambda x: ((x - target) ** 2).sum(axis=1), 60)
    last = strategy.summary(state)
    assert last.correlation is None
    assert not strategy.interactions(state).any()
    assert ((last.mean - target / 100) ** 2).sum() < 0.9 * ((first - target / 100) ** 2).sum()


def test_sites_with_one_value_are_left_out():
    space = dc.Space(
        {"one": dc.Integer(3, 3), "same": dc.Float(2, 2), "only": dc.Categorical(["x"]), "b": dc.Binary()}
    )
    strategy = Alone(Cma())
    state = evolve(strategy, start(strategy, space), lambda x: x[:, 3], 10)
    x = strategy.sample(state, 50, np.random.default_rng(0), None)
    np.testing.assert_array_equal(x[:, :3], np.tile([0.0, 2.0, 0.0], (50, 1)))
    assert strategy.summary(state).mean[3] < 0.1
