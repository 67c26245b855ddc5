"""What strategies learn in spaces with conditions: nothing about a site while it is inactive."""

from __future__ import annotations

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.models import FeatureMap
from dcmaes.models._process import Coordinates
from dcmaes.strategies import Cma, Evaluations, Memory, Mixing, make_strategy
from dcmaes.strategies.blocks import Blocks
from dcmaes.strategies.cma._distribution import measure
from dcmaes.strategies.gaussian_process import changed
from dcmaes.strategies.mixing._plans import Climb, Mix
from dcmaes.strategies.sparse import is_suitable

SPACE = dc.Space(
    {
        "which": dc.Categorical(["a", "b"]),
        "x": dc.Float(0, 1, when={"which": "a"}),
        "c": dc.Categorical(["p", "q", "r"], when={"which": "b"}),
        "n": dc.Integer(0, 10, when={"which": "b"}),
        "y": dc.Float(0, 1),
    }
)
WHICH, X, C, N, Y = range(5)
SITES = SPACE.sites


def always(when):
    """The same variables with conditions that always hold, or without conditions."""
    return dc.Space(
        {
            "which": dc.Categorical(["a", "b"]),
            "x": dc.Float(0, 1, when=when),
            "c": dc.Categorical(["p", "q", "r"], when=when),
            "n": dc.Integer(0, 10, when=when),
            "y": dc.Float(0, 1),
        }
    )


class TestFeatures:
    def test_features_of_inactive_sites_are_zero(self):
        centre = SPACE.encode({"which": "b", "c": "q", "n": 5, "y": 0.5})
        feature_map = FeatureMap(SITES, centre, np.full(5, 0.1))
        x = SPACE.encode_many(
            [{"which": "a", "x": 0.7, "y": 0.6}, {"which": "b", "c": "r", "n": 7, "y": 0.5}]
        )
        features = dict(zip(feature_map.site.tolist(), feature_map.features(x).T, strict=False))
        # Of x, which is at rest at the centre, the distance from rest.
        np.testing.assert_allclose(features[X], [2.0, 0.0])
        np.testing.assert_allclose(features[N], [0.0, 2.0])
        np.testing.assert_allclose(features[Y], [1.0, 0.0])
        assert feature_map.features(x)[0, feature_map.site == C].tolist() == [0.0, 0.0]
        assert feature_map.features(x)[1, feature_map.site == C].sum() == 1.0
        assert not feature_map.features(centre).any()

    def test_points_of_features_are_canonical(self):
        centre = SPACE.encode({"which": "b", "c": "q", "n": 5, "y": 0.5})
        feature_map = FeatureMap(SITES, centre, np.full(5, 0.1))
        features = np.random.default_rng(0).choice([0.0, 1.0], size=(20, feature_map.n_features))
        features[:, feature_map.site == C] = 0.0
        x = feature_map.points(features)
        np.testing.assert_array_equal(x, SITES.canonical(x))


class TestCma:
    def generation(self, space, x, covariance="full"):
        strategy, memory = Cma(population_size=len(x), covariance=covariance), Memory(space.sites)
        state = strategy.init(space.sites, memory, 100, np.random.default_rng(0))
        told = memory.tell(Evaluations(x, np.arange(float(len(x))), np.zeros(len(x))))
        for _ in range(5):
            state, before = strategy.update(state, told, memory), state
        return before.distribution, state.distribution

    @pytest.mark.parametrize("covariance", ["full", "diagonal"])
    def test_inactive_sites_neither_move_nor_shrink(self, covariance):
        rng = np.random.default_rng(1)
        x = SITES.uniform(rng.random((12, 5)))
        x[:, WHICH] = 0.0  # only x and y are active
        x[:, [X, Y]] = 0.2 + 0.01 * x[:, [X, Y]]
        strategy, memory = Cma(population_size=12, covariance=covariance), Memory(SITES)
        first = strategy.init(SITES, memory, 100, rng)
        told, state = memory.tell(Evaluations(x, rng.normal(size=12), np.zeros(12))), first
        for _ in range(10):
            state = strategy.update(state, told, memory)
        before, after = first.distribution.marginals, state.distribution.marginals
        numeric = before.layout.numeric.tolist()
        away = numeric.index(N)
        assert after.mean[away] == before.mean[away]
        assert after.numeric.deviation[away] == pytest.approx(before.numeric.deviation[away], rel=1e-9)
        np.testing.assert_allclose(after.probabilities[1], before.probabilities[1], rtol=1e-12)
        assert after.mutation[1] == pytest.approx(before.mutation[1])
        here = numeric.index(Y)
        assert after.numeric.deviation[here] < 0.5 * before.numeric.deviation[here]
        assert after.mean[here] == pytest.approx(0.2, abs=0.02)
        if covariance == "full":
            is_away = np.isin(before.layout.site_of_latent, [C, N])
            correlation = state.distribution.copula.correlation
            np.testing.assert_allclose(correlation[np.ix_(is_away, is_away)], np.eye(4), atol=1e-9)
            np.testing.assert_allclose(correlation[np.ix_(is_away, ~is_away)], 0.0, atol=1e-9)

    def test_residuals_of_inactive_sites_are_zero(self):
        before, _ = self.generation(SPACE, SITES.uniform(np.random.default_rng(0).random((8, 5))))
        x = SITES.canonical(SITES.uniform(np.random.default_rng(3).random((8, 5))))
        residuals = measure(before, x)
        is_active = SITES.active(x)[:, before.layout.site_of_latent]
        np.testing.assert_array_equal(residuals.active, is_active)
        assert (residuals.white[~is_active] == 0.0).all()
        assert (residuals.latent[~is_active] == 0.0).all()
        assert (residuals.white[is_active] != 0.0).all()

    @pytest.mark.parametrize("covariance", ["full", "diagonal"])
    def test_conditions_that_always_hold_change_nothing(self, covariance):
        rng = np.random.default_rng(2)
        x = always(None).sites.uniform(rng.random((10, 5)))
        spaces = always(None), always({"which": ["a", "b"]})
        plain, conditional = (self.generation(space, x, covariance)[1] for space in spaces)
        assert conditional.layout.sites.has_conditions
        for name in ("mean", "step_size", "scale", "probabilities", "mutation", "floor"):
            np.testing.assert_allclose(
                getattr(conditional.marginals, name), getattr(plain.marginals, name), rtol=1e-9
            )
        if covariance == "full":
            np.testing.assert_allclose(conditional.copula.correlation, plain.copula.correlation, atol=1e-9)

    def test_a_start_says_nothing_of_inactive_choices(self):
        memory = Memory(SITES)
        x = SPACE.encode_many([{"which": "a", "x": 0.5, "y": 0.5}])
        memory.starts = memory.tell(Evaluations(x, np.zeros(1), np.zeros(1)))
        state = Cma().init(SITES, memory, 100, np.random.default_rng(0))
        probabilities = state.distribution.marginals.probabilities
        np.testing.assert_allclose(probabilities, [[0.75, 0.25, 0.0], [1 / 3, 1 / 3, 1 / 3]])


class TestMixing:
    def test_climbing_wakes_sites_up_and_skips_inactive_ones(self):
        plan = Climb(SITES, np.random.default_rng(0))
        x = SPACE.encode({"which": "a", "x": 0.25, "y": 0.5})
        points = [plan.apply(x, step) for step in range(plan.n_steps)]
        changed = np.array([y for y in points if y is not None])
        np.testing.assert_array_equal(changed, SITES.canonical(changed))
        in_a = changed[changed[:, WHICH] == 0.0]
        assert (in_a[:, [C, N]] == SITES.rest[[C, N]]).all()
        assert (changed[:, WHICH] == 1.0).sum() == 1
        for step, y in enumerate(points):
            if y is not None:
                found = plan.find(x, y, np.zeros(plan.n_steps, dtype=bool))
                np.testing.assert_array_equal(points[found], y)
                assert plan.apply(x, step) is not None

    def test_inactive_sites_of_donors_are_not_copied(self):
        donor = SPACE.encode({"which": "a", "x": 0.9, "y": 0.1})
        x = SPACE.encode({"which": "b", "c": "r", "n": 9, "y": 0.5})
        clusters = [np.array([C, N]), np.array([C, N, Y]), np.array([WHICH])]
        plan = Mix(SITES, donor[None], clusters, np.random.default_rng(0))
        assert plan.apply(x, 0) is None
        np.testing.assert_array_equal(
            plan.apply(x, 1), SPACE.encode({"which": "b", "c": "r", "n": 9, "y": 0.1})
        )
        # What wakes up has the donor's states, also if it is in no cluster with what it depends on.
        np.testing.assert_array_equal(plan.apply(x, 2), SPACE.encode({"which": "a", "x": 0.9, "y": 0.5}))

    def test_solutions_are_canonical(self):
        result = dc.minimize(lambda p: p["y"] + p.get("n", 3), SPACE, budget=150, seed=0, strategy=Mixing())
        assert result.fun < 0.05


def test_differences_are_left_alone():
    flags = dc.Space({"a": dc.Binary(), "b": dc.Binary(when={"a": True}), "c": dc.Binary()})
    assert not is_suitable(flags.sites)
    memory = Memory(flags.sites)
    memory.tell(Evaluations(np.zeros((1, 3)), np.zeros(1), np.zeros(1)))
    state = Blocks().init(flags.sites, memory, 100, np.random.default_rng(0))
    assert "active only with certain values" in Blocks().convergence(state, memory)


def test_the_paper_refuses_conditions():
    space = dc.Space({"a": dc.Binary(), "b": dc.Binary(when={"a": True})})
    with pytest.raises(ValueError, match='"paper" handles no variables with conditions; use strategy "cma"'):
        dc.minimize(lambda p: 0.0, space, budget=5, strategy="paper")


def test_there_is_no_law_of_inactive_sites():
    space = dc.Space({"a": dc.Binary(), "b": dc.Binary(when={"a": True}), "c": dc.Binary()})
    result = dc.minimize(lambda p: sum(p.values()), space, budget=4, seed=0)
    assert result.distribution.law is None


def test_widths_of_inactive_sites_stay():
    strategy, memory = make_strategy("ising"), Memory(SITES)
    rng = np.random.default_rng(0)
    x = SITES.uniform(rng.random((40, 5)))
    x[:, WHICH] = 0.0
    x[:, Y] = 0.5 + 0.001 * x[:, Y]
    state = strategy.init(SITES, memory, 100, rng)
    for rows in np.split(x, 10):
        told = memory.tell(Evaluations(rows, rng.normal(size=4), np.zeros(4)))
        state = strategy.update(state, told, memory)
    assert state.width[N] == pytest.approx(strategy.init(SITES, Memory(SITES), 100, rng).width[N])
    assert state.width[Y] < 0.5 * state.width[N]


class TestGaussianProcess:
    def test_inactive_sites_are_equal(self):
        where = Coordinates(SITES)
        points = [{"which": "a", "x": 0.1, "y": 0.5}, {"which": "a", "x": 0.1, "y": 0.5}]
        points += [{"which": "b", "c": one, "n": 3, "y": 0.5} for one in "pqr"]
        at = where.of(SPACE.encode_many(points))
        steps = (at[:, None] - at) ** 2
        site = {int(free): steps[:, :, where.site == i].sum(axis=2) for i, free in enumerate(where.free)}
        assert site[C][0, 1] == site[N][0, 1] == site[X][2, 3] == 0.0
        np.testing.assert_allclose(site[C][0, 2:], 1.0)
        np.testing.assert_allclose(site[C][2, 3:], 1.0)
        assert site[N][0, 2] == pytest.approx(0.2**2)
        assert site[X][0, 2] == pytest.approx(0.4**2)

    def test_changes_are_of_active_sites_and_canonical(self):
        x = np.repeat(SPACE.encode_many([{"which": "a", "x": 0.1, "y": 0.5}]), 300, axis=0)
        new = changed(SITES, x, np.random.default_rng(0), several=False)
        np.testing.assert_array_equal(new, SITES.canonical(new))
        is_away = new[:, WHICH] == 1.0
        assert 60 < is_away.sum() < 140
        assert len(np.unique(new[is_away, C])) == 3
        assert len(np.unique(new[is_away, N])) > 8
        assert ((new != x)[~is_away].sum(axis=1) <= 1).all()
