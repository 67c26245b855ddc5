"""Which sites the centre's value hangs on, the search for minima on a grid, and what a model learns from."""

from itertools import product

import numpy as np
import pytest
from alone import Alone

from dcmaes.models import Energy, FeatureMap
from dcmaes.space import Float, Space
from dcmaes.strategies import Evaluations, make_strategy
from dcmaes.strategies.ising._neighbourhood import Neighbourhood
from dcmaes.strategies.ising._plateau import Blame, harmless_points
from dcmaes.strategies.ising._tabu import Box, search


def planted(seed, d=12, n=120):
    """Return blame learned from random changes under three harmful sites, and which those are."""
    rng = np.random.default_rng(seed)
    harmful = np.zeros(d, dtype=bool)
    harmful[rng.permutation(d)[:3]] = True
    blame = Blame.none(d)
    for _ in range(n):
        changed = (rng.random(d) < 0.2).astype(float)
        blame = blame.worse(changed) if (changed[harmful] > 0).any() else blame.tie(changed)
    return blame, harmful


@pytest.mark.parametrize("seed", range(5))
def test_planted_harmful_sites_are_found(seed):
    blame, harmful = planted(seed)
    assert (blame.harm[harmful] > 0.9).all()
    assert (blame.harm[~harmful] < 0.1).all()


def test_harm_is_the_posterior_of_the_rule_where_that_can_be_enumerated():
    # One worse point over disjoint suspects has no loops: belief propagation is exact up to its damping.
    blame = Blame.none(3).worse(np.array([1.0, 1.0, 0.0])).tie(np.array([0.0, 1.0, 0.0]))
    prior, doubt = np.array([0.4, 0.4 * 0.02 / (0.4 * 0.02 + 0.6), 0.4]), 0.02
    joint = {}
    for state in product([0, 1], repeat=3):
        likelihood = 1.0 if state[0] or state[1] else doubt
        joint[state] = likelihood * np.prod([p if s else 1 - p for p, s in zip(prior, state, strict=True)])
    total = sum(joint.values())
    exact = [sum(w for s, w in joint.items() if s[i]) / total for i in range(3)]
    np.testing.assert_allclose(blame.harm, exact, atol=0.02)


def test_an_improvement_takes_its_sites_from_older_suspicions_and_suspects_them():
    blame = Blame.none(3).worse(np.array([1.0, 1.0, 0.0])).better(np.array([1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(blame.suspects, [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


def test_steps_across_a_plateau_keep_harmful_sites_and_change_about_half_of_the_others():
    blame, harmful = planted(0)
    sites, rng = Space.binary(12).sites, np.random.default_rng(0)
    points = harmless_points(blame, np.zeros(12), sites, 400, rng)
    assert points[:, harmful].mean() < 0.1
    assert 0.4 < points[:, ~harmful].mean() < 0.6
    assert ((points == 0) | (points == 1)).all()


def test_steps_across_a_plateau_use_all_other_choices():
    space = Space.from_dict({f"x{i}": {"type": "categorical", "choices": [0, 1, 2, 3]} for i in range(3)})
    centre = np.array([0.0, 3.0, 1.0])
    points = harmless_points(Blame.none(3), centre, space.sites, 300, np.random.default_rng(0))
    for site in range(3):
        assert set(points[:, site]) == {0.0, 1.0, 2.0, 3.0}


@pytest.mark.parametrize("seed", range(5))
def test_rounding_in_turn_comes_closer_than_rounding_at_once(seed):
    d, rng = 6, np.random.default_rng(seed)
    root = rng.normal(size=(d, d)) * 10 ** np.linspace(0, 1.5, d)
    hessian = root @ root.T
    slope = -hessian @ rng.uniform(-3, 3, d)
    coupling = hessian - np.diag(np.diag(hessian))
    one = Energy(0, np.zeros(1), slope[None], np.diag(hessian)[None] / 2, coupling[None])
    feature_map = FeatureMap(Space.integers(d, -20, 20).sites, np.full(d, 20.0), np.full(d, 1 / 40))
    box = Box.around(feature_map, np.full(1, 20.0))
    visited = search(one, None, feature_map, box, n_steps=0, most_changes=np.full(1, 9), tenure=0, rng=rng)
    at_once = box.snap(-np.linalg.solve(hessian, slope)[None])
    assert visited.energy[0, 0] <= one.value(at_once)[0]
    np.testing.assert_array_equal(visited.features[0], np.rint(visited.features[0]))


@pytest.mark.parametrize("space", [Space.integers(3, 0, 9), Space.array([Float(0.0, 1.0)] * 3)])
def test_a_model_that_knows_nothing_proposes_points_of_the_space(space):
    feature_map = FeatureMap(space.sites, np.zeros(3), np.full(3, 0.2))
    flat = Energy(0, np.zeros(2), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3, 3)))
    box, rng = Box.around(feature_map, np.full(2, 2.0)), np.random.default_rng(0)
    visited = search(flat, None, feature_map, box, n_steps=5, most_changes=np.full(2, 3), tenure=1, rng=rng)
    assert np.isfinite(visited.features).all()


def test_a_converged_cloud_does_not_fill_the_window():
    rng = np.random.default_rng(0)
    sites = Space.array([Float(0.0, 1.0)] * 2).sites
    x = np.concatenate([0.5 + 1e-9 * rng.normal(size=(400, 2)), rng.random((50, 2))])
    feature_map = FeatureMap(sites, x[0], np.full(2, 0.2))
    memory = Evaluations(x, np.zeros(450), np.zeros(450))
    near = Neighbourhood.around(feature_map, memory, reach=3.0, window=120)
    is_far = np.abs(near.features).max(axis=1) > 1e-3
    assert len(near.features) == 90
    assert is_far.sum() == 50


def test_the_summary_tells_what_low_points_chose():
    space = Space.from_dict({"a": {"type": "binary"}, "b": {"type": "categorical", "choices": [0, 1, 2]}})
    strategy, rng = Alone(make_strategy("ising")), np.random.default_rng(0)
    state = strategy.init(space.sites, Evaluations.empty(2), 100, rng)
    np.testing.assert_allclose(strategy.summary(state).probabilities[1], np.full(3, 1 / 3))
    points = np.array(list(product([0.0, 1.0], [0.0, 1.0, 2.0])))
    state = strategy.update(
        state, Evaluations(points, 10 * (points[:, 0] + (points[:, 1] != 2)), np.zeros(6))
    )
    summary = strategy.summary(state)
    for shares, best in zip(summary.probabilities, (0, 2), strict=True):
        assert shares.sum() == pytest.approx(1.0)
        assert shares.argmax() == best
    assert summary.mean[0] == pytest.approx(summary.probabilities[0][1])
