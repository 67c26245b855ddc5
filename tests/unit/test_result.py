"""Results, histories and distributions in the user's own terms."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import RandomSearch, Summary

SPACE = dc.Space(
    {
        "n": dc.Integer(1, 9),
        "width": dc.Integer(10, 1000, log=True),
        "act": dc.Categorical(["relu", "gelu"]),
        "norm": dc.Binary(),
        "batch": dc.Ordinal([16, 32, 64]),
        "hour": dc.Integer(0, 23, periodic=True),
        "lr": dc.Float(0.01, 100.0, log=True),
        "value": dc.Float(-1.0, 3.0),
    }
)


class Showing(RandomSearch):
    """Random search that shows a distribution made up for the test."""

    def summary(self, state, memory):
        mean = np.array([0.25, 0.5, np.nan, 0.75, 0.6, 0.5, 0.5, 0.25])
        correlation = np.eye(8)
        correlation[0, 1] = correlation[1, 0] = -0.5
        probabilities = [np.empty(0) for _ in range(8)]
        probabilities[2] = np.array([0.125, 0.875])
        deviation = np.where(np.isnan(mean), np.nan, 0.1)
        return Summary(mean, deviation, tuple(probabilities), correlation, 0.125)

    def interactions(self, state, memory):
        strength = np.zeros((8, 8))
        for i, j, s in [(0, 1, 0.5), (2, 6, 0.9), (3, 4, 0.5), (5, 7, 0.001)]:
            strength[i, j] = strength[j, i] = s
        return strength


def mixed(point):
    if point["n"] == 3:
        raise ValueError("three")
    return dc.Outcome(point["n"] + point["lr"], violation=point["n"] - 7)


@pytest.fixture(scope="module")
def result():
    return dc.minimize(
        mixed, SPACE, budget=60, seed=0, strategy=Showing(), x0=[({**_start(), "n": 9}, dc.Outcome(0.0, 2.0))]
    )


def _start():
    return SPACE.sample(np.random.default_rng(0), 1)[0]


def test_history_is_a_sequence_of_records(result):
    history = result.history
    assert len(history) == len(list(history)) == 61
    assert history[-1].id == history[60].id == 60
    assert [record.id for record in history[2:5]] == [2, 3, 4]
    with pytest.raises(IndexError):
        history[61]
    for record in history[1:]:
        assert SPACE.contains(record.point)
        expected = "failed" if record.point["n"] == 3 else "infeasible" if record.point["n"] > 7 else "ok"
        assert record.status == expected
        assert record.reason == ("ValueError: three" if expected == "failed" else None)
        assert math.isnan(record.value) == (expected == "failed")
        assert record.objective_time >= 0.0
        assert not record.is_given


def test_columns_agree_with_records(result):
    history = result.history
    columns = {
        "ids": "id",
        "values": "value",
        "violations": "violation",
        "statuses": "status",
        "reasons": "reason",
        "restarts": "restart",
        "objective_times": "objective_time",
        "told_at": "told_at",
        "is_given": "is_given",
    }
    for column, field in columns.items():
        found, expected = getattr(history, column), [getattr(record, field) for record in history]
        np.testing.assert_array_equal(found, np.array(expected))
        if isinstance(found, np.ndarray):
            assert not found.flags.writeable
    assert history.points == [record.point for record in history]


def test_best_so_far_counts_feasible_values_only(result):
    best = math.nan
    for record, found in zip(result.history, result.history.best_so_far, strict=True):
        if record.status == "ok":
            best = record.value if math.isnan(best) else min(best, record.value)
        np.testing.assert_equal(found, best)
    assert result.fun == best


def test_frame(result):
    frame = result.history.to_frame()
    assert list(frame.columns[:9]) == ["id", *list(SPACE.names)[:-1], "point.value"]
    assert frame["act"].tolist() == [record.point["act"] for record in result.history]
    np.testing.assert_array_equal(frame["value"], result.history.values)
    positional = dc.minimize(sum, dc.Space.binary(3), budget=3, seed=0, strategy="random").history.to_frame()
    assert list(positional.columns[:4]) == ["id", "x0", "x1", "x2"]


def test_the_history_of_a_result_does_not_grow():
    opt = dc.Optimizer(dc.Space.integers(2, 0, 99), budget=20, seed=0, strategy="random")
    opt.tell(opt.ask(3), [1.0, 2.0, 3.0])
    result = opt.result()
    opt.tell(opt.ask(3), [0.0, 0.0, 0.0])
    assert len(result.history) == 3
    assert (result.nfev, result.fun) == (3, 1.0)
    assert result.stop_reason is None
    assert result.message == "still running: 3 of 20 evaluations told"


def test_result_fields(result):
    assert result.success
    assert result.violation == 0.0
    assert result.nfev == 60
    assert result.n_failures == sum(record.status == "failed" for record in result.history)
    assert 0 < result.objective_time < 10
    assert result.fun == mixed(result.x).value
    assert "fun: " in repr(result)
    assert "budget of 60 evaluations used" in repr(result)


def test_nothing_told_yet():
    result = dc.Optimizer(SPACE, budget=5).result()
    assert result.x is None
    assert math.isnan(result.fun)
    assert not result.success
    assert "still running" in repr(result)
    assert len(result.history.to_frame()) == 0
    assert len(result.history.best_so_far) == 0


def test_interactions_are_named_sorted_and_without_zeros(result):
    found = result.interactions()
    assert found == [
        ("act", "lr", 0.9),
        ("n", "width", 0.5),
        ("norm", "batch", 0.5),
        ("hour", "value", 0.001),
    ]
    assert found[0].first == "act"
    first, second, strength = found[0]
    assert (first, second, strength) == (found[0].first, found[0].second, found[0].strength)


def test_means_of_steps_are_in_the_users_units():
    class Halfway(RandomSearch):
        def summary(self, state, memory):
            return dataclasses.replace(super().summary(state, memory), mean=np.full(4, 0.5))

    space = dc.Space(
        {
            "batch": dc.Integer(32, 96, step=32),
            "width": dc.Integer(64, 1024, step=64, log=True),
            "hour": dc.Integer(0, 18, step=6, periodic=True),
            "angle": dc.Float(0, 360, step=90, periodic=True),
        }
    )
    means = dc.Optimizer(space, budget=4, strategy=Halfway()).result().distribution.means
    assert means == pytest.approx({"batch": 64.0, "width": 256.0, "hour": 12.0, "angle": 180.0})


def test_an_interaction_is_three_values_and_how_sure_it_is():
    pair = dc.Interaction("n", "lr", 0.5, is_certain=True)
    assert pair == ("n", "lr", 0.5)
    assert len(pair) == 3
    pickled = pickle.loads(pickle.dumps(pair))  # noqa: S301 - made here
    for again in (copy.copy(pair), copy.deepcopy(pair), pickled):
        assert type(again) is dc.Interaction
        assert again == pair
        assert again.is_certain
    assert not dc.Interaction("n", "lr", 0.5).is_certain
    assert "is_certain=True" in repr(pair)


@pytest.mark.parametrize("direction", [dc.minimize, dc.maximize])
def test_interactions_that_values_show_are_certain(direction):
    space = dc.Space.integers(4, -9, 9)
    result = direction(lambda x: float(x[0] ** 2 + x[1] * x[2] + x[3]), space, budget=80, seed=0)
    assert {(pair.first, pair.second) for pair in result.interactions() if pair.is_certain} == {(1, 2)}


def test_interactions_of_arrays_have_positions():
    class Pair(RandomSearch):
        def interactions(self, state, memory):
            return np.array([[0.0, 0.5], [0.5, 0.0]])

    found = dc.Optimizer(dc.Space.binary(2), budget=4, strategy=Pair()).result().interactions()
    assert found == [(0, 1, 0.5)]


def test_distribution_is_in_the_users_units(result):
    shown = result.distribution
    assert shown.means == pytest.approx(
        {"n": 3.0, "width": 100.0, "norm": 0.75, "hour": 12.0, "lr": 1.0, "value": 0.0}
    )
    assert shown.marginals == {"act": (("relu", 0.125), ("gelu", 0.875))}
    assert shown.center == pytest.approx(
        {"n": 3, "width": 100, "act": "gelu", "norm": True, "batch": 32, "hour": 12, "lr": 1.0, "value": 0.0}
    )
    assert set(shown.deviations) == set(SPACE.names) - {"act"}
    assert shown.correlations[0, 1] == -0.5
    assert not shown.correlations.flags.writeable
    assert shown.step_size == 0.125
    assert "step size 0.125" in repr(shown)
