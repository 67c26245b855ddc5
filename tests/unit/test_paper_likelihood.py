"""The update of `paper` as maximum likelihood: one step by hand, the trust region, and short searches."""

from dataclasses import replace

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.distributions import LatticeGaussian
from dcmaes.strategies import Paper
from dcmaes.strategies.paper._likelihood import (
    LARGEST_DIVERGENCE,
    LEARNING_RATE,
    SMALLEST_VARIANCE,
    advance_law,
    start_law,
)
from dcmaes.strategies.paper._printed import constants


def state_of(trials, mean, covariance, seed=0):
    """A state whose law is all but normal, with that mean and covariance."""
    space = dc.Space.array([dc.Integer(0, n) for n in trials])
    rng = np.random.default_rng(seed)
    state = start_law(space.sites, 8, None, None, rng)
    precision = np.linalg.inv(covariance)
    law = LatticeGaussian(trials, precision @ mean, -precision)
    chains = law.sample(state.chains.shape[1], rng).T.astype(float)
    return replace(state, linear=law.linear.copy(), quadratic=law.quadratic.copy(), chains=chains)


def test_the_law_moves_to_the_moments_of_the_better_half():
    state = state_of([100, 100], np.array([40.0, 60.0]), np.array([[16.0, -6.0], [-6.0, 9.0]]))
    x = np.array(
        [[42, 60], [41, 61], [43, 59], [40, 60], [35, 65], [36, 66], [30, 70], [50, 50]], dtype=float
    )
    weights = constants(2, 8).weights
    half = x[: len(weights)]
    best = weights @ half
    spread = ((half - best).T * weights) @ (half - best) + SMALLEST_VARIANCE * np.eye(2)
    share = LEARNING_RATE
    between = share * (1 - share) * np.outer(best - state.mean, best - state.mean)
    covariance = (1 - share) * state.covariance + share * spread + between
    moved = advance_law(state, x)
    expected = state.quadratic + np.linalg.inv(state.covariance) - np.linalg.inv(covariance)
    np.testing.assert_allclose(moved.quadratic, expected, rtol=1e-9)
    # The law, enumerated, has the mixture's mean: up to what 256 chains know of the old one.
    wanted = state.mean + share * (best - state.mean)
    error = 5 * np.sqrt(np.diag(state.covariance) / 256)
    assert (np.abs(moved.law.mean - wanted) < error).all()
    assert moved.generation == 1


def test_a_step_stays_within_the_trust_region():
    state = state_of([100, 100], np.array([40.0, 60.0]), np.diag([16.0, 9.0]))
    far = np.tile([56.0, 48.0], (8, 1))  # four deviations away, and no spread at all
    moved = advance_law(state, far)
    assert state.mean[0] < moved.law.mean[0] < state.mean[0] + LEARNING_RATE * 16
    assert state.mean[1] > moved.law.mean[1] > state.mean[1] - LEARNING_RATE * 12
    # as normal laws they are at most so far apart; on the lattice nearly so
    assert state.law.kl(moved.law) < 2 * LARGEST_DIVERGENCE


def test_no_direction_freezes():
    state = state_of([10, 1], np.array([5.0, 0.5]), np.diag([2.0, 0.25]))
    for _ in range(60):
        state = advance_law(state, np.tile([7.0, 1.0], (8, 1)))
    assert state.law.mean[0] == pytest.approx(7.0, abs=0.1)
    assert state.law.covariance[0, 0] > 0.03
    assert 0.001 < 1 - state.law.mean[1] < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_a_sphere_is_solved(seed):
    result = dc.minimize(
        lambda x: int(((x - 7) ** 2).sum()),
        dc.Space.integers(4, 0, 10),
        budget=800,
        seed=seed,
        strategy=Paper(update="likelihood"),
        target=0,
    )
    assert result.fun == 0


def test_zeros_and_ones_are_alike():
    # Where the printed update finds none of the ones: see docs/guides/the-paper.md.
    for target in (0, 1):
        result = dc.minimize(
            lambda x, target=target: int((x != target).sum()),
            dc.Space.binary(16),
            budget=600,
            seed=0,
            strategy=Paper(update="likelihood"),
            target=0,
        )
        assert result.fun == 0


def test_the_rule_is_checked_and_kept_among_the_options():
    with pytest.raises(ValueError, match="update must be one of 'printed', 'likelihood'; got 'other'"):
        Paper(update="other")
    assert Paper(update="likelihood").options()["update"] == "likelihood"
    assert repr(Paper()).endswith("update='printed')")


def test_variables_of_too_many_states_are_refused():
    with pytest.raises(ValueError, match="at most 1024, but variable 1 has 5001"):
        dc.Optimizer(
            dc.Space.array([dc.Integer(0, 9), dc.Integer(0, 5000)]),
            budget=10,
            strategy=Paper(update="likelihood"),
        )
