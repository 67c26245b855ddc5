"""What Algorithm 1 does as a search: it gets somewhere, and stops too early."""

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.strategies import Evaluations, Memory, Paper

SEEDS = range(6)


def sphere(optimum):
    return lambda x: float(((np.asarray(x) - optimum) ** 2).sum())


def run(space, function, seed, **options):
    return dc.minimize(function, space, budget=3_000, seed=seed, strategy=Paper(**options), target=0.0)


def test_it_finds_most_optima_of_a_small_sphere():
    space, optimum = dc.Space.integers(5, 0, 10), np.array([9, 7, 5, 3, 3])
    results = [run(space, sphere(optimum), seed) for seed in SEEDS]
    assert sum(r.fun == 0.0 for r in results) >= 4
    assert all(r.nfev < 400 for r in results)


def test_erratum_12_a_mean_on_the_lattice_repeats_before_the_search_is_over():
    space, optimum = dc.Space.integers(10, -50, 50), np.array([33, 12, 0, -25, -20, -45, -42, -48, -32, 29])
    results = [run(space, sphere(optimum), seed, round_mean=True) for seed in SEEDS]
    early = [r for r in results if r.stop_reason is dc.StopReason.CONVERGED and r.fun > 0.0]
    assert len(early) >= 5
    assert all("the mean moved by 0 states in generation" in r.message for r in early)
    assert np.median([r.nfev for r in early]) < 1_500


def test_erratum_12_the_rule_fires_while_the_law_is_still_wide():
    # The two best points of the first generation have the old mean as their weighted mean: sigma is still 2.
    strategy = Alone(Paper(population_size=4, step_size=2.0))
    space = dc.Space.integers(2, 0, 10)
    start = Evaluations(np.array([[5.0, 5.0]]), np.array([1.0]), np.zeros(1))
    state = strategy.init(space.sites, start, 100, np.random.default_rng(0))
    told = Evaluations(
        np.array([[5.0, 5.0], [5.0, 5.0], [0.0, 9.0], [3.0, 3.0]]), np.array([1.0, 1, 5, 6]), np.zeros(4)
    )
    state = strategy.update(state, told)
    assert state.step_size > 1.0
    assert strategy.convergence(state) == "the mean moved by 0 states in generation 1, less than 1e-06"
    assert strategy.restart(state, np.random.default_rng(0)) is None


def test_erratum_9_the_cap_makes_wide_ranges_slow():
    # From the middle of 0..10,000 the deviation of a step is at most 50, the optimum 4,900 away.
    space = dc.Space.integers(2, 0, 10_000)
    state = Paper().init(space.sites, Memory(space.sites), 100, np.random.default_rng(0))
    assert state.step_size == 50.0
    summary = Paper().summary(state, None)
    assert summary.deviation == pytest.approx([0.005, 0.005], rel=1e-3)
    result = run(space, sphere(np.array([100, 9_900])), seed=0)
    assert result.nfev > 400


def test_erratum_7_an_optimum_at_the_end_of_a_range_takes_longer_than_one_inside():
    space = dc.Space.integers(10, 0, 10)
    inside = [run(space, sphere(np.full(10, 3)), seed).nfev for seed in range(3)]
    corner = [run(space, sphere(np.zeros(10)), seed).nfev for seed in range(3)]
    assert np.median(corner) > 1.5 * np.median(inside)


def test_erratum_8_exchanging_zeros_and_ones_changes_the_search():
    space = dc.Space.binary(32)

    def best(bit, seed):
        return dc.minimize(sphere(np.full(32, bit)), space, budget=1_000, seed=seed, strategy="paper").fun

    assert np.median([best(0, seed) for seed in range(3)]) <= 1
    assert min(best(1, seed) for seed in range(3)) >= 3


def test_one_run_is_saved_and_loaded_exactly(tmp_path):
    space = dc.Space.integers(3, 0, 1000)
    optimizer = dc.Optimizer(space, budget=200, seed=3, strategy="paper")
    for _ in range(5):
        trials = optimizer.ask()
        optimizer.tell(trials, [float(t.point.sum()) for t in trials])
    optimizer.save(tmp_path / "run")
    loaded = dc.Optimizer.load(tmp_path / "run")
    assert [t.point.tolist() for t in loaded.ask(4)] == [t.point.tolist() for t in optimizer.ask(4)]
