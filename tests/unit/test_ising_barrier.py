"""Constraints: points beyond them are told apart, learned from, and avoided."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from alone import Alone

from dcmaes.models import Energy, FeatureMap, Regression
from dcmaes.space import Categorical, Integer, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies._labels import beyond_constraints
from dcmaes.strategies.ising import IsingSearch
from dcmaes.strategies.ising._neighbourhood import limit_of
from dcmaes.strategies.ising._settings import DEFAULT
from dcmaes.strategies.ising._tabu import BARRIER_COST, Box, search


def test_violations_tell_how_far_only_if_they_differ():
    assert beyond_constraints(np.zeros(3)).tolist() == [0, 0, 0]
    assert beyond_constraints(np.array([0.0, 0.5, 4.0, np.inf])).tolist() == [0, 0.5, 4, 4]
    assert beyond_constraints(np.array([0.0, 1.0, 1.0])).tolist() == [0, 0, 0]
    assert beyond_constraints(np.array([0.0, np.inf])).tolist() == [0, 0]
    # Where nothing is feasible, the violation itself is made smaller.
    assert beyond_constraints(np.array([1.0, 2.0, 3.0])).tolist() == [0, 0, 0]


def linear_limit(n, d, seed):
    """Features of random points, and how far each is beyond a linear limit that half of them keep."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 2, size=(n, d)).astype(float)
    height = features @ rng.integers(1, 10, d)
    return features, height - np.median(height)


@pytest.mark.parametrize("seed", range(5))
def test_a_linear_limit_is_learned_from_what_is_beyond_it(seed):
    features, height = linear_limit(120, 20, seed)
    variances = np.array(DEFAULT.first_variances)
    every = Regression(features, 20, np.arange(20), np.zeros(120), np.ones(120), variances)
    excess = np.maximum(height, 0.0)
    for _ in range(10):
        model, _ = limit_of(every, excess)
        every = Regression(
            features, 20, np.arange(20), np.zeros(120), np.ones(120), model.improved_variances()
        )
    unit = np.median(excess[excess > 0])
    unseen, _ = linear_limit(200, 20, seed + 100)
    weights = np.linalg.lstsq(np.column_stack([features, np.ones(120)]), height, rcond=None)[0]
    true = np.column_stack([unseen, np.ones(200)]) @ weights / unit
    predicted = model.predict(unseen)
    # Also on this side of the limit, of which nothing was told but that it is this side.
    assert np.corrcoef(predicted, true)[0, 1] > 0.99
    is_clear = np.abs(true) > 0.3
    assert ((predicted > 0) == (true > 0))[is_clear].mean() > 0.97


def test_few_points_beyond_make_no_barrier():
    features, height = linear_limit(50, 10, 0)
    every = Regression(features, 10, np.arange(10), height, np.ones(50), np.array(DEFAULT.first_variances))
    assert limit_of(every, np.where(np.arange(50) < 3, 1.0, 0.0)) is None
    assert limit_of(every, np.where(np.arange(50) < 4, 1.0, 0.0)) is not None


def random_energy(rng, p, q, site):
    f = p + q
    upper = np.triu(rng.normal(size=(2, f, f)), 1) * (site[:, None] != site)
    return Energy(
        p,
        rng.normal(size=2),
        rng.normal(size=(2, f)),
        rng.random((2, q)) + 2.0,
        upper + upper.transpose(0, 2, 1),
        rng.normal(size=2),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_the_lowest_points_on_this_side(seed):
    rng, k = np.random.default_rng(seed), 8
    energy, wall = (random_energy(rng, k, 0, np.arange(k)) for _ in range(2))
    feature_map = FeatureMap(Space.binary(k).sites, np.zeros(k), np.ones(k))
    box, most = Box.around(feature_map, np.full(2, 2.0)), np.full(2, k)
    visited = search(energy, wall, feature_map, box, n_steps=80, most_changes=most, tenure=2, rng=rng)
    states = np.array(list(product([0.0, 1.0], repeat=k)))
    for chain in range(2):
        one = [np.repeat(states[:, None], 2, axis=1)[i] for i in range(len(states))]
        height = np.array([(wall.constant + wall.value(x))[chain] for x in one])
        level = np.array([energy.value(x)[chain] for x in one]) + BARRIER_COST * np.maximum(height, 0)
        assert visited.energy[:, chain].min() == pytest.approx(level.min())


@pytest.mark.parametrize("seed", range(5))
def test_levels_of_the_search_count_the_barrier_at_all_kinds_of_sites(seed):
    rng = np.random.default_rng(seed)
    space = Space({"a": Categorical(["x", "y", "z"]), "b": Categorical([0, 1]), "n": Integer(0, 9)})
    feature_map = FeatureMap(space.sites, np.array([0.0, 0.0, 5.0]), np.full(3, 0.2))
    energy, wall = (random_energy(rng, 3, 1, feature_map.site) for _ in range(2))
    box, most = Box.around(feature_map, np.full(2, 9.0)), np.full(2, 9)
    visited = search(energy, wall, feature_map, box, n_steps=20, most_changes=most, tenure=1, rng=rng)
    for features, level in zip(visited.features, visited.energy, strict=True):
        height = wall.constant + wall.value(features)
        assert level == pytest.approx(energy.value(features) + BARRIER_COST * np.maximum(height, 0))


class Nothing:
    """Nothing is known."""

    pending = np.empty((0, 30))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def knapsack_state(n):
    """The state of a search after n random points of a knapsack, with the weights and the limit."""
    rng = np.random.default_rng(0)
    weight, worth = rng.integers(1, 10, 30), rng.integers(1, 10, 30)
    x = (rng.random((n, 30)) < 0.4).astype(float)
    limit = 0.4 * weight.sum()
    strategy = Alone(IsingSearch())
    state = strategy.init(Space.binary(30).sites, Evaluations.empty(30), 1000, rng)
    told = Evaluations(x, -(x @ worth), np.maximum(x @ weight - limit, 0.0))
    return strategy, strategy.update(state, told), weight, limit


def test_proposals_keep_within_the_limit():
    strategy, state, weight, limit = knapsack_state(200)
    draws = [strategy.sample(state, 40, np.random.default_rng(seed), Nothing()) for seed in range(8)]
    x = np.concatenate(draws)
    assert (x @ weight <= limit).mean() > 0.6
    # And use it up: what is worth most is beyond it.
    assert (x @ weight).mean() > 0.9 * limit


def test_infeasible_points_say_nothing_of_the_values():
    strategy, state, _, _ = knapsack_state(200)
    model = strategy.model(state)
    is_feasible = strategy.known(state).violation[model.used.row] == 0
    assert (model.used.is_allowed == is_feasible).all()
    assert len(model.values.targets) == is_feasible.sum()


def test_violations_that_no_regression_explains_count_as_high_values():
    strategy, state, _, _ = knapsack_state(200)
    rng = np.random.default_rng(0)
    memory = strategy.known(state)
    violation = np.where(memory.violation > 0, rng.exponential(size=200), 0.0)[rng.permutation(200)]
    strategy = Alone(IsingSearch())
    fresh = strategy.init(state.sites, Evaluations.empty(30), 1000, rng)
    after = strategy.update(fresh, Evaluations(memory.x, memory.value, violation))
    vague = strategy.model(after)
    assert vague.limit is not None
    assert vague.barrier is None
    assert vague.used.is_allowed.all()
    # It is known again once it explains them.
    clear = strategy.model(replace(after, barrier_variances=state.barrier_variances))
    assert clear.barrier is not None
    assert not clear.used.is_allowed.all()


def test_a_state_with_a_barrier_survives_being_saved():
    strategy, state, _, _ = knapsack_state(200)
    copy = strategy.state_from_dict(strategy.state_to_dict(state), state.sites)
    assert copy.barrier_variances.tolist() == state.barrier_variances.tolist()
    first, second = (strategy.sample(one, 4, np.random.default_rng(3), Nothing()) for one in (state, copy))
    assert first.tolist() == second.tolist()
