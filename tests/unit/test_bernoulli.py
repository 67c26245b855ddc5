import numpy as np
import pytest

from dcmaes.distributions import BivariateBernoulli, Ising, LatticeTable, MultivariateBernoulli

canonical = MultivariateBernoulli.from_canonical
PAIR = {"p00": 0.1, "p10": 0.3, "p01": 0.2, "p11": 0.4}


def _table(dimension, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(2**dimension)).reshape((2,) * dimension)


def test_bivariate_by_hand():
    law = BivariateBernoulli(**PAIR)
    assert (law.p00, law.p10, law.p01, law.p11) == (0.1, 0.3, 0.2, 0.4)
    np.testing.assert_allclose(
        law.canonical, [np.log(3), np.log(2), np.log(0.4 * 0.1 / (0.3 * 0.2))], rtol=1e-14
    )
    assert law.log_partition == pytest.approx(-np.log(0.1))
    np.testing.assert_allclose(law.mean, [0.7, 0.6])
    np.testing.assert_allclose(law.covariance, [[0.21, -0.02], [-0.02, 0.24]], atol=1e-16)
    np.testing.assert_allclose(law.pmf([[0, 0], [1, 0], [0, 1], [1, 1]]), [0.1, 0.3, 0.2, 0.4])


def test_proposition_1():
    t1, t2, t12 = 0.3, -1.2, 2.0
    law = BivariateBernoulli.from_canonical(t1, t2, t12)
    total = 1 + np.exp(t1) + np.exp(t2) + np.exp(t1 + t2 + t12)
    assert law.p00 == pytest.approx(1 / total)
    assert law.p10 == pytest.approx(np.exp(t1) / total)
    assert law.p01 == pytest.approx(np.exp(t2) / total)
    assert law.p11 == pytest.approx(np.exp(t1 + t2 + t12) / total)


@pytest.mark.parametrize("theta12", [-3.0, -1e-6, 0.0, 1e-6, 2.0])
def test_proposition_2(theta12):
    law = BivariateBernoulli.from_canonical(0.4, -0.7, theta12)
    expected = law.p00**2 * np.exp(0.4 - 0.7) * np.expm1(theta12)
    assert law.covariance[0, 1] == pytest.approx(expected, abs=1e-15)
    assert law.is_independent() == (theta12 == 0.0)


def test_proposition_3():
    law = BivariateBernoulli(**PAIR)
    np.testing.assert_allclose(law.marginal([0]).probabilities, [0.1 + 0.2, 0.3 + 0.4])
    np.testing.assert_allclose(law.condition({1: 0}).probabilities, [0.1 / 0.4, 0.3 / 0.4])
    np.testing.assert_allclose(law.condition({1: 1}).probabilities, [0.2 / 0.6, 0.4 / 0.6])


@pytest.mark.parametrize("seed", range(5))
def test_proposition_6_independent_iff_no_parameter_beyond_order_one(seed):
    theta = np.zeros((2, 2, 2, 2))
    for i, value in enumerate(np.random.default_rng(seed).normal(size=4)):
        theta[tuple(np.eye(4, dtype=int)[i])] = value
    assert MultivariateBernoulli.from_canonical(theta).is_independent()
    higher = [cell for cell in np.ndindex(2, 2, 2, 2) if sum(cell) >= 2]
    theta[higher[seed]] = 1e-6
    assert not MultivariateBernoulli.from_canonical(theta).is_independent()
    assert MultivariateBernoulli.from_canonical(theta).is_independent(tol=1e-4)


def test_rare_events_that_come_together_are_not_independent():
    assert not BivariateBernoulli(1 - 1e-12, 0.0, 0.0, 1e-12).is_independent()


def test_constant_variables_are_independent():
    assert MultivariateBernoulli([[0.0, 0.0], [0.25, 0.75]]).is_independent()
    assert not MultivariateBernoulli([[0.5, 0.0], [0.25, 0.25]]).is_independent()


def test_laws_beyond_underflow_keep_their_logs():
    law = MultivariateBernoulli.from_canonical({(0,): -2000.0, (1,): 1.0})
    assert law.pmf([1, 1]) == 0.0
    assert law.log_pmf([1, 1]) == pytest.approx(-2000.0 + 1.0 - np.log1p(np.e))
    assert law.is_independent()
    assert law.canonical[1, 0] == -2000.0


def test_zero_probabilities_leave_everything_but_the_canonical_parameters():
    law = MultivariateBernoulli([[0.5, 0.0], [0.25, 0.25]])
    np.testing.assert_allclose(law.mean, [0.5, 0.25])
    np.testing.assert_allclose(law.covariance, [[0.25, 0.125], [0.125, 0.1875]])
    np.testing.assert_allclose(law.marginal([1]).probabilities, [0.75, 0.25])
    np.testing.assert_allclose(law.condition({0: 0}).probabilities, [1.0, 0.0])
    assert law.entropy() == pytest.approx(1.5 * np.log(2))
    assert law.log_pmf([0, 1]) == -np.inf
    assert law.log_partition == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match=r"probabilities\[0, 1\] is 0"):
        _ = law.canonical
    with pytest.raises(ValueError, match="probability 0"):
        MultivariateBernoulli([[1.0, 0.0], [0.0, 0.0]]).condition({0: 1})
    with pytest.raises(ValueError, match="state of zeros"):
        _ = MultivariateBernoulli([0.0, 1.0]).log_partition


def test_divergence_with_zeros():
    narrow, wide = MultivariateBernoulli([0.0, 1.0]), MultivariateBernoulli([0.5, 0.5])
    assert narrow.kl(wide) == pytest.approx(np.log(2))
    assert wide.kl(narrow) == np.inf
    assert narrow.kl(narrow) == 0.0


def test_points_that_are_not_states_have_probability_zero():
    law = MultivariateBernoulli(_table(2))
    np.testing.assert_array_equal(law.pmf([[2, 0], [0.5, 1], [-1, 0]]), 0.0)
    np.testing.assert_array_equal(law.log_pmf([[2, 0], [0.5, 1], [-1, 0]]), -np.inf)


def test_shapes():
    law = MultivariateBernoulli(_table(3))
    assert np.ndim(law.pmf([0, 1, 0])) == 0
    assert law.pmf(np.zeros((4, 5, 3))).shape == (4, 5)
    rng = np.random.default_rng(0)
    assert law.sample(None, rng).shape == (3,)
    assert law.sample(0, rng).shape == (0, 3)
    assert law.sample((2, 4), rng).shape == (2, 4, 3)
    assert law.sample(2, rng).dtype == np.int64


def test_arrays_handed_out_are_read_only_and_arguments_are_kept_apart():
    table = _table(2)
    law = MultivariateBernoulli(table)
    kept = law.probabilities.copy()
    table[0, 0] = 7.0
    np.testing.assert_array_equal(law.probabilities, kept)
    for array in (law.probabilities, law.log_probabilities, law.canonical, law.mean, law.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    theta = np.ones((2, 2))
    MultivariateBernoulli.from_canonical(theta)
    np.testing.assert_array_equal(theta, 1.0)


def test_the_first_cell_of_theta_is_ignored():
    theta = np.random.default_rng(1).normal(size=(2, 2, 2))
    law = MultivariateBernoulli.from_canonical(theta)
    theta[0, 0, 0] = np.nan
    np.testing.assert_array_equal(
        MultivariateBernoulli.from_canonical(theta).probabilities, law.probabilities
    )
    assert law.canonical[0, 0, 0] == 0.0


def test_theta_by_index_tuples():
    law = MultivariateBernoulli.from_canonical({(2, 0): 1.5}, dimension=4)
    expected = np.zeros((2,) * 4)
    expected[1, 0, 1, 0] = 1.5
    np.testing.assert_array_equal(law.canonical, expected)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: MultivariateBernoulli([1.0, 1.0]),
            ValueError,
            "probabilities must sum to 1, got a sum of 2",
        ),
        (lambda: MultivariateBernoulli([0.2, 0.3, 0.5]), ValueError, r"shape \(2, ..., 2\), .* got \(3,\)"),
        (lambda: MultivariateBernoulli(1.0), ValueError, r"probabilities must have shape .*got \(\)"),
        (lambda: MultivariateBernoulli([]), ValueError, "probabilities must not be empty"),
        (lambda: MultivariateBernoulli([-0.5, 1.5]), ValueError, r"probabilities must lie .* got -0.5"),
        (lambda: MultivariateBernoulli([np.nan, 1.0]), ValueError, "probabilities must be finite, got nan"),
        (lambda: MultivariateBernoulli("no"), TypeError, "probabilities must be an array of numbers"),
        (lambda: BivariateBernoulli(0.5, 0.5, 0.5, 0.5), ValueError, "must sum to 1"),
        (lambda: BivariateBernoulli(-0.1, 0.5, 0.5, 0.1), ValueError, "p00 must be between 0"),
        (lambda: BivariateBernoulli.from_canonical(0.0, np.inf, 0.0), ValueError, "theta2 must be finite"),
        (lambda: canonical(np.zeros((2, 3))), ValueError, r"theta must have shape"),
        (lambda: canonical([0.0, np.nan]), ValueError, "theta must be finite, got nan"),
        (lambda: canonical("no"), TypeError, "theta must be an array of numbers"),
        (lambda: canonical([0, 1], dimension=2), ValueError, "theta must have dimension = 2"),
        (lambda: canonical({}), ValueError, "theta is empty"),
        (lambda: canonical({0: 1.0}), TypeError, "theta must have tuples of indices"),
        (lambda: canonical({(): 1.0}), TypeError, "theta must have tuples of indices"),
        (lambda: canonical({(0, 0): 1.0}), ValueError, "must not repeat an index"),
        (lambda: canonical({(-1,): 1.0}), ValueError, "index in theta must be at least 0"),
        (lambda: canonical({(0, 3): 1.0}, dimension=3), ValueError, "must be at most 2, got 3"),
        (lambda: canonical({(0, 1): 1.0, (1, 0): 1.0}), ValueError, r"\(0, 1\) twice"),
        (lambda: canonical({(0, 1.5): 1.0}), TypeError, "must be an integer, got 1.5"),
        (lambda: canonical({(0,): "x"}), TypeError, r"theta\[\(0,\)\] must be a number"),
    ],
)
def test_bad_parameters_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("law", [MultivariateBernoulli(_table(3)), Ising(np.zeros(3), np.zeros((3, 3)))])
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda law: law.pmf([0, 1]), ValueError, r"x must have shape \(\.\.\., 3\), got \(2,\)"),
        (lambda law: law.pmf([0, 1, np.nan]), ValueError, "x must be finite"),
        (lambda law: law.log_pmf(1), ValueError, "x must have shape"),
        (lambda law: law.sample(-1, np.random.default_rng(0)), ValueError, "size must be at least 0"),
        (lambda law: law.sample(1.5, np.random.default_rng(0)), TypeError, "size must be an integer"),
        (lambda law: law.sample(1, 0), TypeError, "rng must be a numpy.random.Generator"),
        (lambda law: law.marginal([]), ValueError, "indices must name at least one"),
        (lambda law: law.marginal([3]), ValueError, "index in indices must be at most 2"),
        (lambda law: law.marginal([0, 0]), ValueError, "indices must not repeat"),
        (lambda law: law.marginal(1), TypeError, "indices must be a sequence"),
        (lambda law: law.condition({3: 0}), ValueError, "index in values must be at most 2"),
        (lambda law: law.condition({0: 2}), ValueError, r"values\[0\] must be at most 1"),
        (lambda law: law.condition({0: 0.5}), TypeError, r"values\[0\] must be an integer"),
        (lambda law: law.condition([0]), TypeError, "values must be a mapping"),
        (lambda law: law.condition({0: 0, 1: 0, 2: 0}), ValueError, "values must leave at least one"),
        (lambda law: law.kl(0), TypeError, "other must be a law"),
        (lambda law: law.kl(BivariateBernoulli(**PAIR)), ValueError, "other must have dimension 3, got 2"),
        (lambda law: law.is_independent(-1.0), ValueError, "tol must be between"),
    ],
)
def test_bad_arguments_are_named(law, call, error, message):
    with pytest.raises(error, match=message):
        call(law)


def test_repr_tells_the_law():
    law = BivariateBernoulli(0.25, 0.25, 0.5, 0.0)
    assert repr(law) == "BivariateBernoulli(p00=0.25, p10=0.25, p01=0.5, p11=0.0)"
    assert repr(MultivariateBernoulli([0.25, 0.75])) == "MultivariateBernoulli([0.25, 0.75])"
    assert repr(MultivariateBernoulli(_table(4))) == "<MultivariateBernoulli of 4 variables>"


@pytest.mark.parametrize(
    ("family", "shape", "message"),
    [
        (MultivariateBernoulli, (3, 2), r"frequencies must have shape \(2, \.\.\., 2\), .* got \(3, 2\)"),
        (BivariateBernoulli, (2, 2, 2), r"table of frequencies must have shape \(2, 2\), got \(2, 2, 2\)"),
        (
            LatticeTable,
            (2, 1),
            r"table of frequencies must have an axis .* got shape \(2, 1\)",
        ),
    ],
)
def test_fits_refuse_shapes_that_are_not_of_the_family(family, shape, message):
    with pytest.raises(ValueError, match=message):
        family.fit([[0, 1], [1, 1]], shape=shape)
