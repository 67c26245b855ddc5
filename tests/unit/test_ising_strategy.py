"""The parts of the `ising` strategy, and what the whole does not depend on."""

from itertools import product

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.models import Energy, FeatureMap
from dcmaes.space import Space
from dcmaes.strategies import Evaluations, IsingSearch
from dcmaes.strategies._labels import low_rise, rises
from dcmaes.strategies.ising._neighbourhood import nearness
from dcmaes.strategies.ising._tabu import Box, search


def evaluations(values, violations=None):
    values = np.array(values, dtype=float)
    violations = np.zeros(len(values)) if violations is None else np.array(violations, dtype=float)
    return Evaluations(np.zeros((len(values), 1)), values, violations)


def test_rises_rank_infeasible_points_and_failures_behind():
    rise = rises(evaluations([0.0, 16.0, np.nan, np.nan], [0.0, 0.0, 1.0, np.inf]))
    assert rise[:2].tolist() == [0.0, 1.0]
    assert 1.0 < rise[2] < rise[3]


def test_rises_without_a_feasible_point_are_violations():
    rise = rises(evaluations([np.nan, 5.0, np.nan], [3.0, 1.0, np.inf]))
    assert rise[1] == 0.0 < rise[0] < rise[2]


@pytest.mark.parametrize("values", [[1e308, -1e308, 0.0], [5e-324, 0.0, 1e-300], [3.0, 3.0, 3.0]])
def test_rises_of_extreme_values_are_finite(values):
    rise = rises(evaluations(values))
    assert np.isfinite(rise).all()
    assert np.isfinite((rise / low_rise(rise, 0.3, float(rise.max()))) ** 2).all()


def test_an_outlier_does_not_change_what_counts_as_low():
    values = np.arange(1.0, 11.0)
    assert low_rise(np.append(values, 1e30), 0.3, 1e30) == pytest.approx(low_rise(values, 0.3, 10.0), rel=0.3)


def test_nearness_keeps_enough_points():
    near = nearness(np.arange(100.0), n_features=10)
    assert near[0] == 1.0
    assert near[20] > 0.75
    assert near[-1] < 0.01


def bits_energy(rng, k):
    coupling = np.triu(rng.normal(size=(3, k, k)), 1)
    coupling = coupling + coupling.transpose(0, 2, 1)
    return Energy(k, rng.normal(size=3), rng.normal(size=(3, k)), np.zeros((3, 0)), coupling)


@pytest.mark.parametrize("seed", range(5))
def test_search_finds_ground_states_of_two_state_sites(seed):
    k, rng = 8, np.random.default_rng(seed)
    energy = bits_energy(rng, k)
    feature_map = FeatureMap(Space.binary(k).sites, np.zeros(k), np.ones(k))
    visited = search(
        energy,
        None,
        feature_map,
        Box.around(feature_map, np.full(len(energy.field), 2.0)),
        n_steps=60,
        most_changes=np.full(len(energy.field), k),
        tenure=2,
        rng=rng,
    )
    states = np.array(list(product([0.0, 1.0], repeat=k)))
    for chain in range(3):
        one = Energy(
            k,
            energy.radial[chain, None].repeat(2**k),
            energy.field[chain][None].repeat(2**k, 0),
            np.zeros((2**k, 0)),
            energy.coupling[chain][None].repeat(2**k, 0),
        )
        assert visited.energy[:, chain].min() == pytest.approx(one.value(states).min())
    for step in range(61):
        np.testing.assert_allclose(energy.value(visited.features[step]), visited.energy[step], atol=1e-9)


def mixed_example(seed):
    rng = np.random.default_rng(seed)
    space = Space(
        {
            "a": dc.Categorical(["x", "y", "z"]),
            "b": dc.Binary(),
            "c": dc.Integer(0, 6),
            "d": dc.Integer(0, 6),
            "e": dc.Categorical(["x", "y", "z"]),
        }
    )
    centre = np.array([0.0, 1.0, 3.0, 2.0, 1.0])
    feature_map = FeatureMap(space.sites, centre, np.full(5, 0.2))
    n = feature_map.n_features
    coupling = np.triu(rng.normal(size=(2, n, n)) * (feature_map.site[:, None] != feature_map.site), 1)
    energy = Energy(
        feature_map.n_choices,
        rng.normal(size=2),
        rng.normal(size=(2, n)),
        rng.uniform(0.5, 1, size=(2, 2)),
        coupling + coupling.transpose(0, 2, 1),
    )
    return feature_map, energy, rng


@pytest.mark.parametrize("seed", range(5))
def test_search_finds_ground_states_of_all_kinds_of_sites(seed):
    feature_map, energy, rng = mixed_example(seed)
    visited = search(
        energy,
        None,
        feature_map,
        Box.around(feature_map, np.full(len(energy.field), 9.0)),
        n_steps=80,
        most_changes=np.full(len(energy.field), 9),
        tenure=1,
        rng=rng,
    )
    points = np.array(list(product(range(3), range(2), range(7), range(7), range(3))), dtype=float)
    features = feature_map.features(points)
    n = len(points)
    for chain in range(2):
        one = Energy(
            energy.n_choices,
            energy.radial[chain, None].repeat(n),
            energy.field[chain][None].repeat(n, 0),
            energy.curvature[chain][None].repeat(n, 0),
            np.broadcast_to(energy.coupling[chain], (n, *energy.coupling[chain].shape)),
        )
        assert visited.energy[:, chain].min() == pytest.approx(one.value(features).min())
    for step in range(81):
        np.testing.assert_allclose(energy.value(visited.features[step]), visited.energy[step], atol=1e-9)
        coded = feature_map.points(visited.features[step])
        np.testing.assert_allclose(feature_map.features(coded), visited.features[step], atol=1e-9)


def test_at_most_so_many_choices_change():
    rng = np.random.default_rng(0)
    energy = bits_energy(rng, 8)
    feature_map = FeatureMap(Space.binary(8).sites, np.zeros(8), np.ones(8))
    visited = search(
        energy,
        None,
        feature_map,
        Box.around(feature_map, np.full(len(energy.field), 2.0)),
        n_steps=40,
        most_changes=np.full(len(energy.field), 3),
        tenure=1,
        rng=rng,
    )
    assert visited.features.sum(axis=2).max() == 3


def trace(function, space, budget=80, **options):
    result = dc.minimize(function, space, budget=budget, seed=3, strategy=IsingSearch(**options))
    return np.array([record.point for record in result.history]), result


def qubo(x):
    x = np.asarray(x)
    return float(((x - np.roll(x, 1)) ** 2).sum() + 0.375 * x[0] + 0.25 * x[3])


def test_affine_transformations_of_the_values_change_nothing():
    # With powers of two and dyadic values, so that there is no rounding.
    space = dc.Space.binary(10)
    first, _ = trace(qubo, space)
    second, _ = trace(lambda x: 1024.0 * qubo(x), space)
    np.testing.assert_array_equal(first, second)
    shifted, _ = trace(lambda x: qubo(x) + 4.0, space)
    np.testing.assert_array_equal(first, shifted)


def test_relabelling_two_states_relabels_the_search():
    # The features are changes relative to the centre: who is 0 and who is 1 does not enter.
    space, flips = dc.Space.binary(10), np.arange(10) % 2
    told = Evaluations(
        np.random.default_rng(0).integers(0, 2, (12, 10)).astype(float), np.zeros(12), np.zeros(12)
    )
    value = np.array([qubo(x) for x in told.x])
    strategy = Alone(IsingSearch())
    rng = np.random.default_rng(0)
    state = strategy.init(space.sites, Evaluations.empty(10), 100, rng)
    one = strategy.update(state, Evaluations(told.x, value, np.zeros(12)))
    flipped = np.abs(told.x - flips)
    two = strategy.update(state, Evaluations(flipped, value, np.zeros(12)))
    np.testing.assert_array_equal(one.variances, two.variances)
    draws = [strategy.sample(s, 6, np.random.default_rng(1), _Nothing()) for s in (one, two)]
    np.testing.assert_array_equal(np.abs(draws[0] - flips), draws[1])


class _Nothing:
    pending = np.empty((0, 10))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def test_points_known_are_not_proposed():
    points, result = trace(qubo, dc.Space.binary(7), budget=128)
    assert len({tuple(point) for point in points.tolist()}) == result.nfev == 128


def test_the_model_follows_the_order_of_the_sites():
    # Which random number goes where depends on the order, what is learned from the same values does not.
    order = np.random.default_rng(1).permutation(10)
    x = np.random.default_rng(0).integers(0, 2, (40, 10)).astype(float)
    value = np.array([qubo(row) for row in x])
    strategy, energies = Alone(IsingSearch()), []
    for points in (x, x[:, order]):
        state = strategy.init(dc.Space.binary(10).sites, Evaluations.empty(10), 100, np.random.default_rng(0))
        state = strategy.update(state, Evaluations(points, value, np.zeros(40)))
        energies.append(strategy.model(state).values.mean(has_pairs=True))
    np.testing.assert_allclose(energies[1].field, energies[0].field[:, order], atol=1e-9)
    coupling = energies[0].coupling[:, order][:, :, order]
    np.testing.assert_allclose(energies[1].coupling, coupling, atol=1e-9)


@pytest.mark.parametrize("n", [1, 4, 50])
def test_batches_of_any_size_are_of_different_points(n):
    strategy, rng = Alone(IsingSearch()), np.random.default_rng(0)
    x = rng.integers(0, 2, (30, 10)).astype(float)
    state = strategy.init(dc.Space.binary(10).sites, Evaluations.empty(10), 100, rng)
    state = strategy.update(state, Evaluations(x, np.array([qubo(row) for row in x]), np.zeros(30)))
    batch = strategy.sample(state, n, rng, _Nothing())
    assert len(np.unique(batch, axis=0)) == n


def test_options_are_checked():
    with pytest.raises(ValueError, match="window"):
        IsingSearch(window=3)
    with pytest.raises(ValueError, match="max_restarts"):
        IsingSearch(max_restarts=-1)
    assert repr(IsingSearch(window=50)) == "IsingSearch(window=50, max_restarts=1000)"


def test_points_asked_for_one_by_one_begin_in_the_middle_once():
    space = dc.Space({"a": dc.Float(0, 1), "b": dc.Categorical(["x", "y", "z"])})
    optimizer = dc.Optimizer(space, budget=50, seed=0, strategy="ising")
    points = [optimizer.ask(1)[0].point for _ in range(4)]
    assert [point["a"] == 0.5 for point in points] == [True, False, False, False]
