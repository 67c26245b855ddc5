import numpy as np
import pytest

from dcmaes.distributions import Ising, LatticeGaussian


def _law(dimension, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(scale=scale, size=(dimension, dimension)), 1)
    return Ising(rng.normal(scale=scale, size=dimension), coupling + coupling.T)


def test_two_variables_by_hand():
    law = Ising([1.0, -2.0], [[0.0, 0.5], [0.5, 0.0]])
    weights = np.exp([[0.0, -2.0], [1.0, -0.5]])
    assert law.log_partition == pytest.approx(np.log(weights.sum()), rel=1e-14)
    np.testing.assert_allclose(law.probabilities, weights / weights.sum(), rtol=1e-14)


def test_log_weight_is_log_probability_plus_log_partition():
    law = _law(5)
    states = np.array(list(np.ndindex(*(2,) * 5)))
    np.testing.assert_allclose(law.log_weight(states), law.log_pmf(states) + law.log_partition, atol=1e-12)
    assert law.log_weight([0, 0, 0, 0, 2]) == -np.inf
    assert np.ndim(law.log_weight(states[3])) == 0


def test_twenty_variables_are_exact_and_twenty_one_are_not():
    assert _law(20, scale=0.2).method == "exact"
    assert Ising(np.zeros(20), np.zeros((20, 20))).log_partition == pytest.approx(20 * np.log(2))
    assert _law(21, scale=0.2).method == "gibbs"


@pytest.mark.parametrize(
    "call",
    [
        lambda law: law.probabilities,
        lambda law: law.log_probabilities,
        lambda law: law.canonical,
        lambda law: law.fisher_information,
    ],
)
def test_what_needs_all_states_says_so_and_points_elsewhere(call):
    with pytest.raises(ValueError, match=r"all 1.07e\+09 states .* up to 1048576; beyond, use log_pmf"):
        call(_law(30, scale=0.1))


def test_marginals_of_dense_large_laws_are_refused():
    with pytest.raises(ValueError, match="too dense"):
        _law(30, scale=0.1).marginal([0])


def test_sums_over_all_states_of_dense_large_laws_are_estimated_with_an_error():
    # Twenty variables known exactly, and four dense ones joined to them: too large to enumerate.
    law = _law(24, seed=3, scale=0.3)
    assert law.method == "gibbs"
    assert 0 < law.log_partition_error < 0.1
    exact = np.logaddexp.reduce(
        [
            law.condition(dict(enumerate(first))).log_partition + law.log_weight(list(first) + [0] * 20)
            for first in np.ndindex(2, 2, 2, 2)
        ]
    )
    # 5 standard errors, themselves known to a fifth: a false alarm in fewer than 1 of 10,000 seeds
    assert abs(law.log_partition - exact) < 5 * law.log_partition_error
    np.testing.assert_allclose(law.log_pmf(np.ones(24)), law.log_weight(np.ones(24)) - law.log_partition)
    assert law.pmf(np.ones(24)) == pytest.approx(np.exp(law.log_pmf(np.ones(24))))
    assert law.kl(law) == 0.0
    assert 0 < law.entropy() < 24 * np.log(2)


def test_large_sparse_laws_are_exact_by_elimination():
    k = 60
    coupling = np.diag(np.full(k - 1, 1.5), 1)
    law = Ising(np.full(k, -0.5), coupling + coupling.T)
    assert law.method == "exact"
    assert law.log_partition_error == 0.0
    transfer = np.array([[1.0, np.exp(-0.5)], [1.0, np.exp(-0.5 + 1.5)]])  # from one spin to the next
    total = np.ones(2)
    for _ in range(k - 1):
        total = transfer @ total
    assert law.log_partition == pytest.approx(np.log(total[0] + np.exp(-0.5) * total[1]), rel=1e-12)
    pair = law.marginal([30, 31])
    assert law.covariance[30, 31] == pytest.approx(pair.covariance[0, 1], rel=1e-9)
    far = law.marginal([10, 40])
    assert law.covariance[10, 40] == pytest.approx(far.covariance[0, 1], abs=1e-15)


def test_large_laws_condition_down_to_exact_ones():
    law = _law(24, scale=0.3)
    small = law.condition(dict.fromkeys(range(20), 1))
    assert small.method == "exact"
    for last in [(0, 0, 0, 0), (1, 0, 1, 1)]:
        difference = law.log_weight([1] * 20 + list(last)) - law.log_weight([1] * 20 + [0] * 4)
        assert small.log_pmf(last) - small.log_pmf([0] * 4) == pytest.approx(difference, abs=1e-10)


def test_moments_of_large_laws_are_estimated_with_errors_and_repeatable():
    field = np.linspace(-1, 1, 30)
    law = Ising(field, np.zeros((30, 30)))
    expected = 1 / (1 + np.exp(-field))
    moments = law.estimate_moments(np.random.default_rng(0))
    assert moments.method == "gibbs"
    # 5 standard errors over 30 means and 435 covariances: a false alarm in about 1 of 4,000 seeds
    assert (np.abs(moments.mean - expected) < 5 * moments.mean_error).all()
    off = ~np.eye(30, dtype=bool)
    assert (np.abs(moments.covariance) < 5 * moments.covariance_error)[off].all()
    # and the errors are of the size that 256 * 60 nearly independent draws should have
    sizes = moments.mean_error / np.sqrt(expected * (1 - expected) / (256 * 60))
    assert 0.7 < sizes.mean() < 1.4
    assert (moments.r_hat < 1.1).all()
    np.testing.assert_allclose(law.mean, expected, rtol=1e-12)  # this one is exact, by elimination
    dense = _law(30, scale=0.1)
    assert dense.moments.method == "gibbs"
    np.testing.assert_array_equal(dense.mean, _law(30, scale=0.1).mean)


def test_moments_of_small_laws_have_no_error():
    law = _law(3)
    assert law.moments.method == "exact"
    assert (law.moments.mean_error == 0).all()
    assert (law.moments.covariance_error == 0).all()
    np.testing.assert_array_equal(law.moments.mean, law.mean)


def test_chains_that_do_not_mix_are_reported():
    # Two opposite wells of equal depth: heat-bath chains stay where they start.
    coupling = np.full((24, 24), 4.0)
    np.fill_diagonal(coupling, 0.0)
    law = Ising(-coupling.sum(axis=0) / 2, coupling)
    run = law.simulate(64, np.random.default_rng(0))
    assert run.max_r_hat > 1.5
    with pytest.warns(RuntimeWarning, match=r"not mixed: R-hat is .* at variable \d+ after 100 sweeps"):
        law.sample(64, np.random.default_rng(0))
    with pytest.warns(RuntimeWarning, match="not mixed"):
        _ = law.mean


def test_independent_is_no_coupling_at_any_size():
    assert Ising(np.ones(40), np.zeros((40, 40))).is_independent()
    assert not _law(40).is_independent()


def test_arrays_are_read_only_copies():
    field, coupling = np.zeros(2), np.zeros((2, 2))
    law = Ising(field, coupling)
    field[0] = coupling[0, 1] = 5.0
    assert law.field[0] == 0.0
    assert law.coupling[0, 1] == 0.0
    for array in (law.field, law.coupling, law.mean, law.covariance, law.canonical, law.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1.0


@pytest.mark.parametrize(
    ("field", "coupling", "error", "message"),
    [
        ([], np.zeros((0, 0)), ValueError, "field must not be empty"),
        ([[0.0]], [[0.0]], ValueError, "field must have shape"),
        ([0.0, 0.0], np.zeros((3, 3)), ValueError, r"coupling must have shape \(2, 2\), got \(3, 3\)"),
        ([0.0, np.nan], np.zeros((2, 2)), ValueError, "field must be finite"),
        ([0.0, 0.0], [[0.0, np.inf], [np.inf, 0.0]], ValueError, "coupling must be finite"),
        (
            [0.0, 0.0],
            [[0.0, 1.0], [2.0, 0.0]],
            ValueError,
            r"must be symmetric, got 1.0 at \(0, 1\)",
        ),
        ([0.0, 0.0], [[0.0, 1.0], [1.0, 3.0]], ValueError, r"zero diagonal, got 3.0 at \(1, 1\)"),
        ("no", [[0.0]], TypeError, "field must be an array of numbers"),
    ],
)
def test_bad_parameters_are_named(field, coupling, error, message):
    with pytest.raises(error, match=message):
        Ising(field, coupling)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"burn_in": 0}, "burn_in must be at least 1"),
        ({"thinning": 0}, "thinning must be at least 1"),
        ({"n_chains": 1}, "n_chains must be at least 2"),
    ],
)
def test_bad_settings_are_named(settings, message):
    law, rng = _law(25, scale=0.1), np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        law.simulate(3, rng, **settings)


def test_estimates_need_enough_chains_for_their_errors():
    with pytest.raises(ValueError, match="n_chains must be at least 16"):
        _law(3).estimate_moments(np.random.default_rng(0), n_chains=8)


@pytest.mark.parametrize("size", [0, 1, 5, 300])
def test_sizes_of_simulations(size):
    run = _law(22, scale=0.1).simulate(size, np.random.default_rng(0), burn_in=10)
    assert run.samples.shape == (size, 22)
    assert run.samples.dtype == np.int64
    assert set(np.unique(run.samples)) <= {0, 1}
    assert _law(22, scale=0.1).sample(None, np.random.default_rng(0)).shape == (22,)
    assert _law(22, scale=0.1).sample((2, 3), np.random.default_rng(0)).shape == (2, 3, 22)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Ising.fit([[0, 1], [1, 1]], trials=2), r"trials must be 1 for \{0,1\} variables, got 2"),
        (
            lambda: Ising.fit([[0, 2], [1, 1]]),
            r"data must hold whole numbers from 0 to 1 for variable 1",
        ),
        (
            lambda: _law(2).kl(LatticeGaussian([1, 2], [0.0, 0.0], np.zeros((2, 2)))),
            r"other must have \(2, 2\) states, got \(2, 3\)",
        ),
        (lambda: _law(2).log_likelihood([[[0, 1]]]), r"data must have shape \(n, 2\), got \(1, 1, 2\)"),
    ],
)
def test_what_does_not_go_with_the_lattice_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_fits_take_the_trials_that_are_implied():
    data = _law(2).sample(200, np.random.default_rng(0))
    assert Ising.fit(data, trials=1) == Ising.fit(data)
