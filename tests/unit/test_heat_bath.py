import numpy as np
import pytest

from dcmaes.distributions._heat_bath import (
    HeatBathSettings,
    MixingMonitor,
    run_heat_bath,
    simulate,
    sweep,
    sweep_lattice,
)
from dcmaes.distributions._quadratic import Exponent


def _slow_sweep(states, uniforms, field, coupling):
    """One site of one chain at a time, straight from the conditional probability."""
    for chain in range(states.shape[1]):
        for site in range(states.shape[0]):
            local = field[site] + coupling[site] @ states[:, chain]
            states[site, chain] = uniforms[site, chain] < 1.0 / (1.0 + np.exp(-local))


@pytest.mark.parametrize("dimension", [1, 2, 15, 16, 17, 50])
def test_blocks_give_the_states_of_single_updates(dimension):
    rng = np.random.default_rng(dimension)
    coupling = np.triu(rng.normal(size=(dimension, dimension)), 1)
    coupling += coupling.T
    field = rng.normal(size=dimension)
    fast = np.floor(2 * rng.random((dimension, 7)))
    slow = fast.copy()
    for _ in range(20):
        uniforms = rng.random(fast.shape)
        sweep(fast, uniforms, field, coupling)
        _slow_sweep(slow, uniforms, field, coupling)
        np.testing.assert_array_equal(fast, slow)


def test_one_sweep_by_hand():
    # P(x0 = 1 | x1 = 0) = 1/2: 0.4 draws 1. Then the field of x1 is log 3: P = 3/4, 0.7 draws 1 and 0.8 draws
    # 0.
    states = np.zeros((2, 2))
    uniforms = np.array([[0.4, 0.4], [0.7, 0.8]])
    sweep(states, uniforms, np.zeros(2), np.log(3.0) * np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(states, [[1.0, 1.0], [1.0, 0.0]])


def test_sites_of_many_states_are_drawn_from_their_conditional_law():
    # Given x1 = 2, x0 on 0..2 has the weights 1, e^(1 + 0.6 - 0.2), e^(2 + 1.2 - 0.8).
    exponent = Exponent(np.array([2, 3]), np.array([1.0, 0.0]), np.array([[-0.4, 0.3], [0.3, -0.1]]))
    weights = np.exp([0.0, 1.0 + 0.6 - 0.2, 2.0 + 1.2 - 0.8])
    sums = np.cumsum(weights) / weights.sum()
    for state, uniform in enumerate([sums[0] - 1e-9, sums[1] - 1e-9, sums[2] - 1e-9]):
        states = np.array([[0.0], [2.0]])
        sweep_lattice(states, np.array([[uniform], [0.0]]), exponent)
        assert states[:, 0].tolist() == [state, 0.0]


def test_a_uniform_of_zero_draws_one():
    states = np.zeros((1, 1))
    sweep(states, np.zeros((1, 1)), np.array([-800.0]), np.zeros((1, 1)))
    assert states[0, 0] == 1.0


def test_split_r_hat_by_its_definition():
    rng = np.random.default_rng(0)
    draws = (rng.random((11, 3, 4)) < 0.4).astype(float)  # sweeps, sites, chains; the first counts as burn-in
    monitor = MixingMonitor(first=1, n_sweeps=11)
    for states in draws:
        monitor.observe(states)
    halves = np.concatenate([draws[1:6], draws[6:11]], axis=2)
    within = halves.var(axis=0, ddof=1).mean(axis=1)
    between = halves.mean(axis=0).var(axis=1, ddof=1)
    np.testing.assert_allclose(monitor.r_hat(), np.sqrt((0.8 * within + between) / within), rtol=1e-12)


@pytest.mark.parametrize(("states", "expected"), [([[1.0, 1.0]], 1.0), ([[0.0, 1.0]], np.inf)])
def test_frozen_chains(states, expected):
    monitor = MixingMonitor(first=0, n_sweeps=8)
    for _ in range(8):
        monitor.observe(np.array(states))
    np.testing.assert_array_equal(monitor.r_hat(), [expected])


def test_runs_too_short_to_tell_say_nan():
    exponent = Exponent(np.ones(2, dtype=np.int64), np.zeros(2), np.zeros((2, 2)))
    run = run_heat_bath(
        exponent,
        3,
        HeatBathSettings(4, burn_in=1),
        np.random.default_rng(0),
        np.zeros((exponent.trials.size, 4)),
    )
    assert np.isnan(run.r_hat).all()


def test_draws_are_taken_after_burn_in_and_at_every_thinning():
    settings = HeatBathSettings(n_chains=2, burn_in=7, thinning=3)
    assert settings.n_sweeps(4) == 16
    monitor = MixingMonitor(0, 16)
    exponent = Exponent(np.ones(3, dtype=np.int64), np.zeros(3), np.zeros((3, 3)))
    start, rng = np.zeros((exponent.trials.size, settings.n_chains)), np.random.default_rng(0)
    kept = [s.copy() for s in simulate(exponent, 4, settings, rng, monitor, start)]
    every = HeatBathSettings(n_chains=2, burn_in=1, thinning=1)
    start, rng = np.zeros_like(start), np.random.default_rng(0)
    path = [s.copy() for s in simulate(exponent, 16, every, rng, MixingMonitor(0, 16), start)]
    np.testing.assert_array_equal(kept, [path[6], path[9], path[12], path[15]])
