"""Noisy objectives: how noisy they are, what is evaluated again, and which point is recommended."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.run import _noise
from dcmaes.run._noise import Repeats
from dcmaes.strategies import RandomSearch


def planted(dimension, deviation, seed):
    """Return a space, the true function with a planted optimum of value 0, and its noisy version."""
    rng = np.random.default_rng(seed)
    optimum, weights = rng.integers(0, 2, dimension), rng.uniform(0.5, 1.5, dimension)

    def true(x):
        return float(weights @ (x != optimum))

    return dc.Space.binary(dimension), true, lambda x: true(x) + deviation * rng.normal()


def test_mean_and_deviation_by_hand():
    repeats = Repeats()
    for index, (key, value) in enumerate([(b"a", 1.0), (b"b", 5.0), (b"a", 3.0), (b"b", 5.0), (b"b", 8.0)]):
        repeats.add(key, index, (value,), 0.0)
    assert repeats.mean(b"a") == (0.0, 2.0)
    assert repeats.mean(b"b") == (0.0, 6.0)
    # Squares around the means: 1 + 1 and 1 + 1 + 4, with 1 and 2 degrees of freedom.
    assert repeats.noise(b"a") == pytest.approx((math.sqrt(8 / 3), math.sqrt(8 / 6), 2))
    assert repeats.noise(None)[0] == pytest.approx(math.sqrt(8 / 3))
    assert math.isnan(repeats.mean(b"c").value)


def test_the_estimate_by_hand():
    """Means 0, 4, 8 over 2, 2, 1 evaluations, noise variance 2: prior mean 4, variance 32/3 - (1+1+2)/3."""
    repeats = Repeats()
    for index, (key, value) in enumerate([(b"a", 1.0), (b"a", -1.0), (b"b", 5.0), (b"b", 3.0), (b"c", 8.0)]):
        repeats.add(key, index, (value,), 0.0)
    spread = 32 / 3 - 4 / 3
    estimate, deviation = repeats._estimate()
    assert estimate == pytest.approx([4 - 4 * spread / (spread + 1), 4, 4 + 4 * spread / (spread + 2)])
    assert deviation**2 == pytest.approx([spread / (spread + 1)] * 2 + [2 * spread / (spread + 2)])


def test_infeasible_points_come_last_and_say_nothing_of_the_noise():
    repeats = Repeats()
    for index, (key, value, violation) in enumerate(
        [(b"a", math.nan, 2.0), (b"a", math.nan, 1.0), (b"b", 3.0, 0.0), (b"b", 5.0, 0.0), (b"c", -9.0, 0.1)]
    ):
        repeats.add(key, index, (value,), violation)
    assert repeats.best() == 2
    assert repeats.noise(b"b")[0] == pytest.approx(math.sqrt(2.0))


def test_one_evaluation_in_five_makes_sure_of_the_best():
    space, _, objective = planted(12, 2.0, seed=0)
    opt = dc.Optimizer(space, budget=300, seed=0, strategy="random", duplicates="reevaluate")
    seen, n_again = set(), 0
    while opt.should_stop() is None:
        (trial,) = opt.ask(1)
        n_again += tuple(trial.point) in seen
        seen.add(tuple(trial.point))
        opt.tell(trial, objective(trial.point))
    # Some of 240 random points out of 4,096 come again by chance.
    assert 0.2 * 300 - 2 <= n_again <= 0.2 * 300 + 20


def test_an_objective_without_noise_is_found_out():
    space, true, _ = planted(30, 0.0, seed=1)
    opt = dc.Optimizer(space, budget=400, seed=0, strategy="random", duplicates="reevaluate")
    while opt.should_stop() is None:
        trials = opt.ask()
        opt.tell(trials, [true(trial.point) for trial in trials])
    result = opt.result()
    n_again = 400 - len(np.unique(result.history.points, axis=0))
    assert n_again <= _noise._EQUAL_REPEATS + 1
    assert (result.noise.deviation, result.noise.error) == (0.0, 0.0)


def test_what_makes_sure_is_not_told_to_the_strategy():
    told = []

    class Watching(RandomSearch):
        def update(self, state, evaluations, memory):
            told.extend(map(tuple, evaluations.x))
            return super().update(state, evaluations, memory)

    space, _, objective = planted(40, 2.0, seed=2)
    opt = dc.Optimizer(space, budget=200, seed=0, strategy=Watching(5), duplicates="reevaluate")
    while opt.should_stop() is None:
        trials = opt.ask()
        opt.tell(trials, [objective(trial.point) for trial in trials])
    assert opt.n_evaluations == 200
    assert len(told) == len(set(told))
    assert 155 <= len(told) <= 163


def test_the_planted_optimum_is_recommended_not_the_luckiest_draw():
    """One of 40 choices is better by 3 under noise of deviation 6, in 16 runs of 2,000 evaluations."""
    n_found = n_lucky = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        optimum = int(rng.integers(40))
        space = dc.Space({"choice": dc.Categorical(range(40))})
        opt = dc.Optimizer(space, budget=2000, seed=seed, strategy="random", duplicates="reevaluate")
        while opt.should_stop() is None:
            trials = opt.ask(20)
            means = [3.0 * (trial.point["choice"] != optimum) for trial in trials]
            opt.tell(trials, (means + 6.0 * rng.normal(size=len(trials))).tolist())
        result = opt.result()
        n_found += result.x["choice"] == optimum
        n_lucky += result.history[int(np.argmin(result.history.values))].point["choice"] == optimum
        assert result.noise.deviation == pytest.approx(6.0, rel=0.1)
        assert result.noise.error == result.noise.deviation / math.sqrt(result.noise.n_evaluations)
    assert n_found >= 14
    assert n_lucky <= 8


def test_the_lowest_of_many_means_is_low_by_luck():
    regret, naive = [], []
    for seed in range(12):
        space, true, objective = planted(20, 2.0, seed)
        result = dc.minimize(objective, space, budget=400, seed=seed, strategy="cma", duplicates="reevaluate")
        distinct, group = np.unique(result.history.points, axis=0, return_inverse=True)
        means = np.bincount(group.ravel(), result.history.values) / np.bincount(group.ravel())
        regret.append(true(result.x))
        naive.append(true(distinct[np.argmin(means)]))
    assert np.mean(regret) < 0.6 * np.mean(naive)


def test_the_result_shows_the_noise():
    space, _, objective = planted(8, 1.0, seed=3)
    result = dc.minimize(objective, space, budget=100, seed=0, duplicates="reevaluate", strategy="random")
    assert "per evaluation; fun is the mean of" in repr(result)
    values = [r.value for r in result.history if r.point.tolist() == result.x.tolist()]
    assert result.fun == pytest.approx(np.mean(values))
    assert result.noise.n_evaluations == len(values)
    assert dc.minimize(objective, space, budget=10, seed=0, strategy="random").noise is None


def test_a_target_must_be_reached_beyond_doubt():
    opt = dc.Optimizer(dc.Space.binary(3), budget=100, seed=0, target=1.0, duplicates="reevaluate")
    trials = opt.ask(8)
    opt.tell(trials[0], 0.9)
    assert opt.should_stop() is None
    while opt.should_stop() is None:
        (trial,) = opt.ask(1)
        is_good = trial.point.tolist() == trials[0].point.tolist()
        opt.tell(trial, 0.5 if is_good else 3.0)
    assert opt.should_stop() is dc.StopReason.TARGET
    assert opt.result().fun < 1.0


def test_what_makes_sure_is_in_the_memory():
    rng = np.random.default_rng(0)
    opt = dc.Optimizer(
        dc.Space.binary(40), budget=100, seed=0, strategy=RandomSearch(5), duplicates="reevaluate"
    )
    while opt.should_stop() is None:
        trials = opt.ask()
        opt.tell(trials, [float(rng.normal()) for _ in trials])
    memory = opt._run.memory
    again = np.flatnonzero(memory.column("is_again"))
    assert 17 <= len(again) <= 20
    last = memory.evaluations(again[-1:])
    values = [record.value for record in opt.history if (record.point == last.x[0]).all()]
    assert last.count.tolist() == [len(values)]
    assert last.value[0] == pytest.approx(np.mean(values))
    assert memory.deviation == pytest.approx(opt.result().noise.deviation)
