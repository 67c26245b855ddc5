"""The larger of two Gaussian processes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dcmaes.models import FEWEST_ON_A_SIDE, Maximum, Process, Scales
from dcmaes.space import Categorical, Float, Space

SITES = Space({"a": Float(0, 1), "b": Float(0, 1), "how": Categorical(["x", "y", "z"])}).sites
SCALES = Scales.expected(SITES)


def missing(x):
    """What is missing at a point: from here on a penalty begins."""
    return 1 - x[:, 1] * (1 + 2 * x[:, 0]) + 0.2 * (x[:, 2] == 1)


def cost(x):
    return x[:, :2].sum(axis=1) + 0.3 * (x[:, 2] == 2) + 5 * np.maximum(missing(x), 0.0)


def model_of(n=40, seed=0):
    x = SITES.uniform(np.random.default_rng(seed).random((n, 3)))
    values = cost(x)
    targets = (values - values.mean()) / values.std()
    process = Process(SITES, x, targets, np.ones(n), SCALES)
    return Maximum(process, targets > np.median(targets), SCALES, SCALES)


def anywhere(n, seed=9):
    return SITES.uniform(np.random.default_rng(seed).random((n, 3)))


def test_the_sides_of_a_kink_are_found():
    n_wrong = []
    for seed in range(6):
        model = model_of(60, seed).fitted(8)
        n_wrong.append(int((model.is_high != (missing(model.whole.x) > 0)).sum()))
    # A point close to the kink may be on either side.
    assert sorted(n_wrong)[4] <= 2, n_wrong


def test_it_predicts_a_function_with_a_kink_better_than_one_process():
    x, ratios = anywhere(300), []
    for seed in range(5):
        model = model_of(60, seed)
        values, whole = cost(model.whole.x), model.whole
        truth = (cost(x) - values.mean()) / values.std()
        one, two = (fit.predict(x)[0] for fit in (whole.fitted(40), model.fitted(8)))
        ratios.append(np.sqrt(((two - truth) ** 2).mean() / ((one - truth) ** 2).mean()))
    assert np.median(ratios) < 0.9, ratios


@pytest.mark.parametrize("lowest", [-3.0, -1.0, 0.5, 4.0])
def test_expected_improvement_is_the_integral(lowest):
    model, x = model_of().fitted(8), anywhere(20)
    predicted = model.low.predict(x), model.high.predict(x)
    found = np.exp(model.log_improvement(x, lowest))
    for i in range(len(x)):
        (m1, s1), (m2, s2) = ((mean[i], s[i]) for mean, s in predicted)

        def below(t, m1=m1, s1=s1, m2=m2, s2=s2):
            return norm.cdf(t, m1, s1) * norm.cdf(t, m2, s2)

        kinks = sorted({t for t in (m1, m2) if lowest - 10 < t < lowest})
        expected = quad(below, lowest - 10, lowest, points=kinks or None, limit=400)[0]
        assert found[i] == pytest.approx(expected, rel=0.02, abs=1e-9)


def test_the_improvement_of_two_equal_functions_is_less_than_that_of_one():
    model, x = model_of().fitted(8), anywhere(50)
    assert (model.log_improvement(x, 0.0) <= model.low.log_improvement(x, 0.0) + 1e-2).all()
    assert (model.log_improvement(x, 0.0) <= model.high.log_improvement(x, 0.0) + 1e-2).all()


def test_mean_and_deviation_are_those_of_the_larger():
    model, x = model_of().fitted(8), anywhere(10)
    rng = np.random.default_rng(4)
    draws = [
        mean + s * rng.standard_normal((100_000, 10))
        for mean, s in (model.low.predict(x), model.high.predict(x))
    ]
    larger = np.maximum(*draws)
    mean, deviation = model.predict(x)
    # Five standard errors of a mean of 100,000 draws: false alarms are rarer than one in 100,000.
    np.testing.assert_array_less(np.abs(larger.mean(axis=0) - mean), 5 * deviation / np.sqrt(100_000) + 1e-12)
    np.testing.assert_allclose(larger.std(axis=0), deviation, rtol=0.02)


def test_densities_integrate_to_one():
    """The density of one value as a function of that value: the sides and scales stay as they are."""
    model, i = model_of().fitted(8), 3
    grid = np.linspace(-15.0, 15.0, 3001)

    def density(value):
        targets = model.whole.targets.copy()
        targets[i] = value
        return np.exp(replace(model, whole=replace(model.whole, targets=targets)).log_densities()[i])

    # Its own process has its variance from its targets, this one among them, hence the tolerance.
    near = np.abs(grid - model.whole.targets[i]) < 3
    total = np.trapezoid([density(value) for value in grid[near]], grid[near])
    assert total == pytest.approx(1.0, abs=0.1)


def test_beliefs_leave_the_mean_as_it_is_and_lessen_the_doubt():
    model, x = model_of().fitted(8), anywhere(3, seed=2)
    mean, deviation = model.predict(x)
    later, doubt = model.with_beliefs(x).predict(x)
    np.testing.assert_allclose(later, mean, atol=0.05)
    assert (doubt <= deviation + 1e-9).all()
    assert model.with_beliefs(x[:0]) is model


def test_later_values_are_sorted_to_their_sides():
    model = model_of(60).fitted(8)
    extended = Maximum.extended(model.whole, model.is_high[:40], model.low_scales, model.high_scales)
    assert (extended.is_high[:40] == model.is_high[:40]).all()
    assert (extended.is_high[40:] == model.is_high[40:]).mean() > 0.8
    same = Maximum.extended(model.whole, model.is_high, model.low_scales, model.high_scales)
    np.testing.assert_array_equal(same.is_high, model.is_high)


def test_no_side_gets_too_few_values():
    x = anywhere(20)
    smooth = (x[:, 0] - 0.3) ** 2
    process = Process(SITES, x, (smooth - smooth.mean()) / smooth.std(), np.ones(20), SCALES)
    first = process.targets > np.median(process.targets)
    fitted = Maximum(process, first, SCALES, SCALES).fitted(8)
    assert FEWEST_ON_A_SIDE <= fitted.is_high.sum() <= 20 - FEWEST_ON_A_SIDE
