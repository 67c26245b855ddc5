"""The law of a lattice step: mean, variance and correlation with its latent, by enumerating the latent."""

import numpy as np
import pytest
from scipy.special import ndtri

from dcmaes import Float, Integer, Ordinal, Space
from dcmaes.strategies.cma._marginals import Layout, Marginals, numeric_steps

N_LEVELS = 40_001
# Middles of equal slices of probability: sums over them are integrals over the latent, good to about 1 / N.
LATENT = ndtri((np.arange(N_LEVELS) + 0.5) / N_LEVELS)
FLOOR = 1e-4


def marginals_of(variable, mean, deviation):
    layout = Layout(Space({"x": variable}).sites)
    return Marginals.within_limits(
        layout, np.array([mean]), 1.0, np.array([deviation]), np.empty((0, 0)), np.empty(0), FLOOR
    )


def outcomes(marginals):
    """Return the unit coordinate that each latent level gives, shape (N_LEVELS,)."""
    steps, uniforms = numeric_steps(marginals.numeric, LATENT[:, None])
    layout = marginals.layout
    x = layout.points(marginals.mean + steps, uniforms, np.empty((N_LEVELS, 0)))
    return layout.sites.coordinate(x)[:, 0]


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.93])
@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.3, 0.59])
def test_narrow_steps_keep_the_mean_and_have_the_documented_variance(fraction, deviation):
    gap = 1 / 100
    marginals = marginals_of(Integer(0, 100), (50 + fraction) * gap, deviation * gap)
    assert marginals.numeric.has_rare
    step = (outcomes(marginals) - marginals.mean) / gap
    assert abs(step.mean()) < 1e-3
    variance = deviation**2 + fraction * (1 - fraction)
    np.testing.assert_allclose((step**2).mean(), variance, rtol=5e-3, atol=1e-4)
    np.testing.assert_allclose(marginals.numeric.spread / gap, np.sqrt(variance), rtol=1e-12)


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5, 0.8])
@pytest.mark.parametrize("deviation", [0.6, 1.0, 4.0])
def test_wide_steps_are_rounded_normals(fraction, deviation):
    gap = 1 / 100
    marginals = marginals_of(Integer(0, 100), (50 + fraction) * gap, deviation * gap)
    assert not marginals.numeric.has_rare
    step = (outcomes(marginals) - marginals.mean) / gap
    np.testing.assert_array_equal(np.rint(50 + fraction + step), np.rint(50 + fraction + deviation * LATENT))
    assert abs(step.mean()) < 2e-3
    np.testing.assert_allclose(step.std(), marginals.numeric.spread[0] / gap, rtol=0.02)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("deviation", [0.02, 0.2, 0.55, 0.7, 3.0])
def test_fidelity_is_the_correlation_of_step_and_latent(fraction, deviation):
    gap = 1 / 100
    marginals = marginals_of(Integer(0, 100), (50 + fraction) * gap, deviation * gap)
    step = outcomes(marginals) - marginals.mean
    correlation = (step * LATENT).mean() / np.sqrt((step**2).mean())
    np.testing.assert_allclose(marginals.numeric.fidelity[0], correlation, rtol=0.02)


@pytest.mark.parametrize("deviation", [0.02, 0.3, 0.59, 0.8, 2.0])
@pytest.mark.parametrize(
    ("variable", "mean"),
    [
        (Integer(0, 100), 0.503),
        (Integer(1, 1000, log=True), 0.4),
        (Integer(0, 23, periodic=True), 0.51),
        (Ordinal(["a", "b", "c"]), 0.6),
        (Ordinal([0, 1]), 0.3),
    ],
)
def test_a_larger_latent_never_gives_a_lower_state(variable, mean, deviation):
    gap = float(Layout(Space({"x": variable}).sites).gap(np.array([mean]))[0])
    # Wide steps are kept from being reflected, which turns the order around.
    u = outcomes(
        marginals_of(variable, mean, min(deviation * gap, 0.1) if gap < 0.3 else deviation * gap / 4)
    )
    assert (np.diff(u) >= 0).all()
    assert u[0] < u[-1]


@pytest.mark.parametrize("jumps", [0.0004, 0.04, 0.3])
@pytest.mark.parametrize("mean", [0.0, 0.2, 0.5, 0.99])
def test_a_binary_site_is_a_thresholded_normal(mean, jumps):
    u = outcomes(marginals_of(Ordinal([0, 1]), mean, np.sqrt(jumps)))
    n_ones = int(u.sum())
    np.testing.assert_array_equal(u, np.arange(N_LEVELS) >= N_LEVELS - n_ones)
    # A jump out of the lattice is reflected: the mean moves a little towards the middle.
    np.testing.assert_allclose(n_ones / N_LEVELS, jumps / 2 + (1 - jumps) * mean, atol=2 / N_LEVELS)


def test_steps_on_a_logarithmic_lattice_have_the_local_spacing():
    for state in (3, 500):
        layout = Layout(Space({"x": Integer(1, 1000, log=True)}).sites)
        mean = layout.sites.coordinate(np.array([float(state)]))
        marginals = marginals_of(Integer(1, 1000, log=True), float(mean[0]), 0.0)
        states = layout.sites.from_coordinate(outcomes(marginals)[:, None], np.full((N_LEVELS, 1), 0.5))
        assert set(np.unique(states)) <= {state - 1.0, float(state), state + 1.0}
        # Without jumps of their own, sites take the floor's.
        np.testing.assert_allclose((states != state).mean(), FLOOR, atol=2 / N_LEVELS)


def test_a_periodic_lattice_jumps_across_the_seam():
    u = outcomes(marginals_of(Integer(0, 9, periodic=True), 0.0, 0.03))
    assert set(np.round(np.unique(u) * 10)) == {0.0, 1.0, 9.0}
    np.testing.assert_allclose((u > 0.5).mean(), (u == 0.1).mean(), atol=2 / N_LEVELS)


def test_a_continuous_site_is_the_normal_itself():
    marginals = marginals_of(Float(-3.0, 5.0), 0.5, 0.01)
    np.testing.assert_allclose(outcomes(marginals), 0.5 + 0.01 * LATENT, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(marginals.numeric.fidelity, 1.0)
