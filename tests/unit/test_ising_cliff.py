"""Cliffs: values beyond them are told apart from the others, learned from, and avoided."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.models import Regression
from dcmaes.strategies import Evaluations
from dcmaes.strategies.ising import IsingSearch
from dcmaes.strategies.ising._cliff import SIDES, SURPRISES, VALUES, find_cliff
from dcmaes.strategies.ising._neighbourhood import limit_of
from dcmaes.strategies.ising._settings import DEFAULT

K = 30


class Knapsack:
    """Thirty things, of which about two fifths of the weight may be taken; too much is punished."""

    def __init__(self, seed, penalty):
        rng = np.random.default_rng(seed)
        self.weight, self.worth = rng.integers(1, 10, K), rng.integers(1, 10, K)
        self.limit = 0.4 * self.weight.sum()
        self.penalty = penalty

    def excess(self, x):
        return np.maximum(np.asarray(x) @ self.weight - self.limit, 0.0)

    def __call__(self, x):
        value, excess = -(np.asarray(x) @ self.worth).astype(float), self.excess(x)
        return np.where(excess > 0, self.penalty(value, excess), value)


PENALTIES = {
    "added, with a jump": lambda value, excess: value + 300 + 10 * excess,
    "instead of the value": lambda value, excess: 100 + 10 * excess,
    "a constant": lambda value, excess: np.full_like(value, 1000.0),
}


def told(values_of, n, seed, share=0.4):
    """Return the state of a search after n random points, with these."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, K)) < share).astype(float)
    strategy = Alone(IsingSearch())
    state = strategy.init(dc.Space.binary(K).sites, Evaluations.empty(K), 1000, rng)
    # In parts, because variances are improved and cliffs looked for once for each.
    for part in np.array_split(x, 10):
        state = strategy.update(state, Evaluations(part, values_of(part), np.zeros(len(part))))
    return strategy, state


def modelled(values_of, n, seed):
    """Return the same state, its model, and the evaluations that this is of."""
    strategy, state = told(values_of, n, seed)
    return state, strategy.model(state), strategy.known(state)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", range(5))
def test_points_beyond_the_limit_are_told_apart(penalty, seed):
    problem = Knapsack(seed, PENALTIES[penalty])
    state, model, known = modelled(problem, 150, seed)
    assert state.cliff in (VALUES, SURPRISES, SIDES)
    is_beyond = problem.excess(known.x[model.used.row]) > 0
    assert (model.used.is_allowed == ~is_beyond).mean() > 0.95
    assert model.barrier is not None


@pytest.mark.parametrize("seed", range(10))
def test_quadratics_have_no_cliff(seed):
    matrix = np.random.default_rng(seed).normal(size=(K, K))
    state, model, _ = modelled(lambda x: ((x @ matrix) * x).sum(axis=1), 150, seed)
    assert state.cliff == ""
    assert model.barrier is None
    assert model.used.is_allowed.all()


def test_jumps_that_nothing_explains_are_no_cliff():
    rng = np.random.default_rng(0)
    worth = rng.integers(1, 10, K)
    state, model, _ = modelled(lambda x: -(x @ worth) + 1000.0 * (rng.random(len(x)) < 0.5), 150, 0)
    # They are seen, but no regression tells which points are beyond.
    assert find_cliff(model.used, state.low_rises, state.variances) is not None
    assert state.cliff == ""


@pytest.mark.parametrize("penalty", ["added, with a jump", "instead of the value"])
def test_proposals_keep_within_the_limit_where_values_tell_how_far(penalty):
    within, without = kept(PENALTIES[penalty])
    assert within > 0.9
    assert without < 0.1


def test_proposals_keep_within_the_limit_more_often_where_only_the_side_is_told():
    within, without = kept(PENALTIES["a constant"])
    assert within > 2 * without


def kept(penalty):
    """Return what share of proposals is feasible over five seeds, with and without knowing of the cliff."""
    within, without = [], []
    for seed in range(5):
        problem = Knapsack(seed, penalty)
        strategy, state = told(problem, 150, seed)
        for one, feasible in ((state, within), (replace(state, cliff=""), without)):
            x = strategy.sample(one, 40, np.random.default_rng(seed), Nothing())
            feasible.append((problem.excess(x) == 0).mean())
    return np.mean(within), np.mean(without)


class Nothing:
    """Nothing is known."""

    pending = np.empty((0, K))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def test_points_that_failed_are_beyond_whatever_their_values():
    problem = Knapsack(0, PENALTIES["added, with a jump"])
    x = modelled(problem, 150, 0)[2].x
    is_beyond, strategy = problem.excess(x) > 0, Alone(IsingSearch())
    first = strategy.init(dc.Space.binary(K).sites, Evaluations.empty(K), 1000, np.random.default_rng(0))
    for violation in (np.inf, 1.0):
        values = np.where(is_beyond, np.nan if np.isinf(violation) else -1e6, -(x @ problem.worth))
        state = strategy.update(first, Evaluations(x, values, np.where(is_beyond, violation, 0.0)))
        model = strategy.model(state)
        assert state.cliff == SIDES
        assert (model.used.is_allowed == ~is_beyond[model.used.row]).all()
        assert model.barrier is not None


def test_integers_that_failed_are_told_apart_but_not_their_values():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, (200, 10)).astype(float)
    is_beyond, strategy = x.sum(axis=1) > 25, Alone(IsingSearch())
    first = strategy.init(dc.Space.integers(10, 0, 5).sites, Evaluations.empty(10), 1000, rng)
    values = -x.sum(axis=1)
    failed = Evaluations(x, values, np.where(is_beyond, np.inf, 0.0))
    assert strategy.update(first, failed).cliff == SIDES
    penalized = Evaluations(x, np.where(is_beyond, 1000.0, values), np.zeros(200))
    assert strategy.update(first, penalized).cliff == ""


def test_under_noise_and_where_violations_tell_more_there_is_no_cliff():
    problem = Knapsack(0, PENALTIES["added, with a jump"])
    memory = modelled(problem, 150, 0)[2]
    strategy, rng = Alone(IsingSearch()), np.random.default_rng(0)
    first = strategy.init(dc.Space.binary(K).sites, Evaluations.empty(K), 1000, rng)
    values = Evaluations(memory.x, memory.value, np.zeros(150))
    assert strategy.update(first, values).cliff != ""
    noisy = strategy.update(first, Evaluations(np.zeros((1, K)), np.zeros(1), np.zeros(1)))
    twice = Evaluations(np.zeros((1, K)), np.ones(1), np.zeros(1), np.ones(1, dtype=bool), np.array([2]))
    assert strategy.update(strategy.remember(noisy, twice), values).cliff == ""
    violations = strategy.update(first, replace(values, violation=problem.excess(memory.x)))
    assert violations.cliff == ""
    assert strategy.model(violations).limit is not None


def test_a_new_run_looks_for_cliffs_afresh():
    strategy, state = told(Knapsack(0, PENALTIES["added, with a jump"]), 150, 0)
    assert strategy.restart(state, np.random.default_rng(0)).cliff == ""


@pytest.mark.parametrize("seed", range(5))
def test_sides_are_learned_where_nothing_else_is_told(seed):
    problem = Knapsack(seed, PENALTIES["a constant"])
    rng = np.random.default_rng(seed)
    x, unseen = (rng.random((2, 200, K)) < 0.4).astype(float)
    every = Regression(x, K, np.arange(K), np.zeros(200), np.ones(200), np.array(DEFAULT.first_variances))
    sides = (problem.excess(x) > 0).astype(float)
    limit, is_used = limit_of(every, sides)
    assert 0 < is_used.sum() <= 200
    distance = (unseen @ problem.weight - problem.limit) / problem.weight.mean()
    is_clear = np.abs(distance) > 1
    assert ((limit.predict(unseen) > 0) == (distance > 0))[is_clear].mean() > 0.9


def test_what_is_known_without_a_value_is_as_if_it_were_never_told():
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.integers(0, 2, (20, 4)), rng.normal(size=(20, 2))], axis=1)
    variances = np.array([1.0, 0.3, 0.5, 0.4, 0.2, 0.3, 0.05])
    model = Regression(features, 4, np.arange(6), rng.normal(size=20), rng.random(20) + 0.5, variances)
    # Variances are in units of the data, so the units of all data are kept.
    unit = model._unit_variances
    mean, deviation = model.left_out()
    for i in range(20):
        others = model.of_data(np.arange(20) != i)
        others.__dict__["_unit_variances"] = unit
        assert mean[i] == pytest.approx(others.predict(features[i : i + 1])[0])
        own = variances[-1] / model.weights[i]
        assert deviation[i] ** 2 == pytest.approx(others.variance(features[i : i + 1])[0] + own, rel=1e-6)
    unseen = np.concatenate([rng.integers(0, 2, (7, 4)), rng.normal(size=(7, 2))], axis=1)
    assert model.variance(unseen) == pytest.approx(np.diag(model.covariance(unseen)), abs=1e-12)
