"""Importance finds what was planted."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.report import importance_data


def test_a_planted_problem_with_every_kind_of_variable():
    space = dc.Space(
        {
            "noise": dc.Float(0, 1),
            "main": dc.Float(1e-4, 1.0, log=True),
            "choice": dc.Categorical(["x", "y", "z"]),
            "idle": dc.Binary(),
            "hour": dc.Integer(0, 23, periodic=True),
            "idle integer": dc.Integer(0, 50),
        }
    )

    def objective(p):
        hour = abs((p["hour"] - 3 + 12) % 24 - 12)
        return 3 * abs(np.log10(p["main"]) + 2) + 1.5 * (p["choice"] != "y") + 0.1 * hour

    for strategy in ("random", "cma"):
        data = importance_data(dc.minimize(objective, space, budget=200, seed=1, strategy=strategy))
        share = dict(zip(data.names, data.share, strict=True))
        idle = max(share["noise"], share["idle"], share["idle integer"])
        assert max(share, key=share.get) == "main", strategy
        assert min(share["choice"], share["hour"]) > idle
        assert data.explained > 0.5
        if strategy == "random":
            assert share["choice"] > 2 * share["hour"] > 20 * idle


def test_shares_of_a_linear_function_are_its_squared_weights():
    # Ranks bend a linear function a little: its shares are met to a few hundredths.
    weight = np.array([4.0, 3.0, 2.0, 1.0, 0.0, 0.0])
    result = dc.minimize(
        lambda x: float(weight @ x), dc.Space.integers(6, 0, 30), budget=400, seed=0, strategy="random"
    )
    np.testing.assert_allclose(importance_data(result).share, weight**2 / (weight**2).sum(), atol=0.03)


def test_variables_that_matter_only_together_are_found():
    result = dc.minimize(
        lambda x: 2.0 * (x[0] ^ x[1]) + x[2], dc.Space.binary(8), budget=100, seed=0, strategy="random"
    )
    share = importance_data(result).share
    assert share[0] == pytest.approx(share[1], abs=0.05)
    assert share[0] > 2 * share[2] > 20 * share[3:].max()


def test_the_best_of_two_hundred_are_found():
    weight = np.zeros(200)
    weight[50:55] = [5, 4, 3, 2, 1]
    result = dc.minimize(lambda x: float(weight @ x), dc.Space.binary(200), budget=300, seed=0)
    assert set(importance_data(result).order[:4].tolist()) <= set(range(50, 55))


def test_only_the_order_of_values_counts():
    space = dc.Space.integers(3, 0, 9)

    def run(transform, direction):
        function = dc.minimize if direction == "minimize" else dc.maximize
        return function(lambda x: transform(x[0] * 2.0 + x[1]), space, budget=80, seed=3, strategy="random")

    plain = importance_data(run(lambda v: v, "minimize")).share
    np.testing.assert_allclose(importance_data(run(np.exp, "minimize")).share, plain, atol=1e-12)
    np.testing.assert_allclose(importance_data(run(lambda v: -v, "maximize")).share, plain, atol=1e-6)


def test_values_without_pattern_explain_nothing_and_the_remark_says_so():
    rng = np.random.default_rng(0)
    result = dc.minimize(
        lambda x: rng.random(), dc.Space.integers(4, 0, 99), budget=200, seed=0, strategy="random"
    )
    data = importance_data(result)
    assert data.explained < 0.1
    assert "say little" in data.remark


@pytest.mark.parametrize("budget", [1, 5])
def test_too_few_evaluations(budget):
    data = importance_data(dc.minimize(sum, dc.Space.integers(3, 0, 9), budget=budget, seed=0))
    assert not data.share.any()
    assert np.isnan(data.explained)
    assert data.remark.startswith("Too little to go by")


def test_equal_values_and_failures():
    constant = importance_data(dc.minimize(lambda x: 1.0, dc.Space.integers(3, 0, 9), budget=50, seed=0))
    assert not constant.share.any()
    space = dc.Space.integers(3, 0, 9)
    failed = importance_data(dc.minimize(lambda x: 1 / 0, space, budget=50, seed=0, on_error="continue"))
    assert (failed.n_used, failed.share.any()) == (0, False)


def test_variables_with_one_value_matter_not_at_all():
    space = dc.Space({"one": dc.Integer(3, 3), "c": dc.Categorical(["a"]), "n": dc.Integer(0, 9)})
    data = importance_data(dc.minimize(lambda p: p["n"], space, budget=10, seed=0))
    np.testing.assert_allclose(data.share, [0.0, 0.0, 1.0], atol=1e-12)
