"""Weights of choices: what is drawn follows them, in every strategy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dcmaes as dc
from dcmaes.space._sites import Prior
from dcmaes.strategies import strategy_names
from dcmaes.strategies.cma._marginals import Layout

SINGLE = [name for name in strategy_names() if name not in ("paper", "front")]


class TestPrior:
    def test_draws_follow_the_weights(self):
        # Four tests, each with a false alarm in a million.
        space = dc.Space(
            {
                "a": dc.Categorical(["x", "y", "z"], prior=[6, 3, 1]),
                "n": dc.Integer(0, 3),
                "b": dc.Binary(prior=[1, 4]),
                "o": dc.Ordinal([1, 2, 3, 4], prior=[4, 3, 2, 1]),
            }
        )
        x = space.sites.uniform(np.random.default_rng(0).random((10_000, 4))).astype(int)
        for site in range(4):
            counts = np.bincount(x[:, site], minlength=space.sites.n_states[site])
            assert stats.chisquare(counts, 10_000 * space.sites.shares(site)).pvalue > 1e-6

    def test_other_variables_are_drawn_as_before(self):
        def space(**options):
            return dc.Space(
                {
                    "n": dc.Integer(1, 100, log=True),
                    "a": dc.Categorical(["x", "y", "z"], **options),
                    "f": dc.Float(0, 1),
                    "c": dc.Categorical(["x", "y", "z"]),
                }
            )

        u = np.random.default_rng(1).random((1000, 4))
        before, after = space().sites.uniform(u), space(prior=[8, 1, 1]).sites.uniform(u)
        assert np.array_equal(before[:, [0, 2, 3]], after[:, [0, 2, 3]])
        assert not np.array_equal(before, after)

    @pytest.mark.parametrize("n", [2, 4, 8])
    def test_equal_weights_are_no_weights(self, n):
        u = np.random.default_rng(n).random((1000, 3))
        plain, equal = (
            dc.Space({str(i): dc.Categorical(range(n), prior=prior) for i in range(3)})
            for prior in (None, [1.0] * n)
        )
        assert np.array_equal(plain.sites.uniform(u), equal.sites.uniform(u))

    @given(
        st.lists(st.lists(st.integers(1, 1000), min_size=1, max_size=9), min_size=1, max_size=20), st.data()
    )
    def test_every_site_is_searched_in_its_own_list(self, weights, data):
        shares = {3 * i: np.array(row) / sum(row) for i, row in enumerate(weights)}
        u = np.array([data.draw(st.floats(0, 1, exclude_max=True)) for _ in weights])
        states = Prior(shares).states(u)
        for state, share, one in zip(states.astype(int), shares.values(), u, strict=True):
            ends = np.cumsum(share)
            # Up to rounding.
            assert (ends[state - 1] if state else 0.0) <= one + 1e-12
            assert one <= ends[state] + 1e-12

    def test_the_ends_of_the_unit_interval(self):
        prior = Prior({i: [0.1, 0.2, 0.7] for i in range(1000)})
        assert (prior.states(np.zeros(1000)) == 0).all()
        assert (prior.states(np.full(1000, np.nextafter(1.0, 0.0))) == 2).all()

    def test_sites_with_other_weights_are_other_sites(self):
        def sites(*prior):
            return dc.Space({"a": dc.Categorical(["x", "y"], prior=prior or None)}).sites

        assert sites(1, 2) == sites(2, 4)
        assert hash(sites(1, 2)) == hash(sites(2, 4))
        assert sites(1, 2) != sites(2, 1)
        assert sites(1, 2) != sites()

    def test_variables_that_wake_up_are_drawn_by_it(self):
        space = dc.Space(
            {"on": dc.Binary(), "how": dc.Categorical(["x", "y", "z"], prior=[98, 1, 1], when={"on": True})}
        )
        asleep, awake = np.array([[0.0, 0.0]] * 3), np.array([[1.0, 0.0]] * 3)
        u = np.array([[0.0, 0.5], [0.0, 0.97], [0.0, 0.995]])
        assert space.sites.awake(awake, asleep, u)[:, 1].tolist() == [0.0, 0.0, 2.0]

    @pytest.mark.parametrize("strategy", SINGLE)
    def test_the_first_points_follow_it(self, strategy):
        def n_likely(prior):
            trials = dc.Optimizer(dc.Space(_choices(prior)), budget=50, seed=0, strategy=strategy).ask(10)
            return sum(value == "d" for trial in trials for value in trial.point.values())

        # Of 100 choices: 25 are expected without weights, with them 73 (more than half, but for a chance of
        # one in a hundred thousand if they are independent).
        assert n_likely([1, 1, 1, 8]) > 50
        assert n_likely(None) < 50

    @pytest.mark.parametrize("strategy", ["auto", "ising", "cma", "mixing"])
    def test_no_choice_is_ruled_out(self, strategy):
        space = dc.Space(_choices([1000, 1000, 1000, 1], n=4) | {"n": dc.Integer(0, 9)})

        def wrong(point):
            return sum(value != "d" for value in point.values()) + point["n"]

        # The best point has probability 1e-15 under the prior; each of five seeds finds it.
        for seed in range(5):
            assert dc.minimize(wrong, space, budget=400, seed=seed, strategy=strategy, target=1.0).fun == 1.0

    def test_the_population_of_cma_begins_with_it(self):
        space = dc.Space(
            {"a": dc.Categorical(["x", "y", "z"], prior=[2, 1, 1]), "b": dc.Categorical(["x", "y"])}
        )
        assert Layout(space.sites).shares.tolist() == [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]]

    def test_random_search_says_so(self):
        space = dc.Space({"act": dc.Categorical(["relu", "gelu", "tanh"], prior=[1, 2, 1])})
        result = dc.minimize(lambda p: 0.0, space, budget=3, seed=0, strategy="random")
        assert dict(result.distribution.marginals["act"]) == {"relu": 0.25, "gelu": 0.5, "tanh": 0.25}


def _choices(prior, n=10):
    return {f"c{i}": dc.Categorical(["a", "b", "c", "d"], prior=prior) for i in range(n)}
