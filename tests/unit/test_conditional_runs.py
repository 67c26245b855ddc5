"""Runs over spaces with conditions: one point is one point, whatever inactive variables might have been."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pandas as pd
import pytest
from conditional_spaces import conditional_spaces, estimators, nested
from hypothesis import given, settings
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes import store
from dcmaes.strategies import Memory, strategy_names

STRATEGIES = [name for name in strategy_names() if name != "paper"]


def anything(point):
    """A number that depends on everything in a point, and on nothing else."""
    return float(zlib.crc32(repr(sorted(point.items())).encode()) % 1000)


def smooth(point):
    """Better with the forest, with 100 trees of depth 8, and bootstrap."""
    value = {"svm": 1.0, "forest": 0.0, "linear": 2.0}[point["model"]] + 0.5 * point["scale"]
    if "trees" in point:
        value += abs(math.log10(point["trees"]) - 2) + (point["depth"] - 8) ** 2 / 64
    value += point.get("gamma", 0.0) + point.get("offset", 0.0) ** 2 + point.get("penalty", 0.0)
    return value - 0.5 * point.get("bootstrap", False)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_point_is_evaluated_once_and_then_the_space_is_exhausted(strategy):
    space = nested()
    result = dc.minimize(anything, space, budget=1000, seed=3, strategy=strategy)
    assert result.nfev == space.size == 72
    assert result.stop_reason.name == "SPACE_EXHAUSTED"
    assert len({repr(point) for point in result.history.points}) == 72
    assert result.message == "all 72 points of the space are known"


@settings(max_examples=30)
@given(conditional_spaces(finite=True, most=4), st.integers(0, 100))
def test_finite_spaces_end_after_their_size(space, seed):
    result = dc.minimize(anything, space, budget=10_000, seed=seed, strategy="random")
    assert result.nfev == space.size
    assert len({repr(point) for point in result.history.points}) == space.size


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_trials_are_points(strategy):
    space = estimators()
    result = dc.minimize(smooth, space, budget=120, seed=1, strategy=strategy)
    assert all(map(space.contains, result.history.points))
    assert space.contains(result.x)


def test_a_point_that_differs_where_it_is_inactive_is_known():
    space = nested()
    memory = Memory(space.sites)
    x = space.sites.canonical(np.zeros(8))
    other = x.copy()
    other[[1, 2, 3]] = [2.0, 3.0, 1.0]  # inactive: "on" is False
    (row,), (same,) = memory.codec.rows(x[None]), memory.codec.rows(other[None])
    assert row == same
    np.testing.assert_array_equal(memory.codec.coded([same])[0], x)


def test_constraints_see_active_variables_only():
    space = dc.Space({"on": dc.Binary(), "n": dc.Integer(1, 9, when={"on": True})})

    def light(point):
        assert space.contains(point)
        return point.get("n", 0) - 2

    result = dc.minimize(anything, space, budget=1000, seed=0, constraints=light)
    assert result.nfev == 3
    assert result.message == "all 10 points of the space are known, 7 of them excluded by constraints"


class TestTables:
    def test_frames_have_missing_values(self):
        result = dc.minimize(smooth, estimators(), budget=60, seed=0, strategy="random")
        frame = result.history.to_frame()
        for name, variable in zip(estimators().names, estimators().variables, strict=True):
            is_there = [name in point for point in result.history.points]
            assert frame[name].notna().tolist() == is_there
            values = [point[name] for point in result.history.points if name in point]
            assert frame[name].dropna().tolist() == values
            if isinstance(variable, dc.Integer):
                assert all(isinstance(value, int) for value in frame[name].dropna().tolist())
        assert frame["trees"].dtype == "Int64"
        assert frame["bootstrap"].dtype == "boolean"

    def test_a_frame_is_a_warm_start(self):
        first = dc.minimize(smooth, estimators(), budget=40, seed=0, strategy="random")
        again = dc.minimize(smooth, estimators(), budget=1, seed=0, x0=first.history.to_frame())
        assert again.history.points[:40] == first.history.points
        assert again.nfev == 1

    def test_a_csv_file_is_a_warm_start(self, tmp_path):
        first = dc.minimize(smooth, estimators(), budget=40, seed=0, strategy="random")
        first.history.to_frame().to_csv(tmp_path / "runs.csv")
        again = dc.minimize(smooth, estimators(), budget=1, seed=0, x0=tmp_path / "runs.csv")
        assert again.history.points[:40] == first.history.points

    def test_cells_of_inactive_variables_do_not_count(self):
        frame = pd.DataFrame({"on": [False, False], "n": [3, None], "value": [1.0, 2.0]})
        space = dc.Space({"on": dc.Binary(), "n": dc.Integer(1, 4, when={"on": True})})
        result = dc.minimize(anything, space, budget=1, seed=0, x0=frame)
        assert result.history.points[:2] == [{"on": False}, {"on": False}]

    def test_cells_of_active_variables_must_be_there(self):
        frame = pd.DataFrame({"on": [True], "n": [None], "value": [1.0]})
        space = dc.Space({"on": dc.Binary(), "n": dc.Integer(1, 4, when={"on": True})})
        with pytest.raises(TypeError, match="row 0, column 'n': the value must be an integer from 1 to 4"):
            dc.minimize(anything, space, budget=1, x0=frame)

    def test_notebooks_show_what_is_there(self):
        result = dc.minimize(anything, nested(), budget=20, seed=0)
        assert "<table>" in result.history._repr_html_()
        shown = result._repr_html_()
        assert all((f"<td>{name}</td>" in shown) == (name in result.x) for name in nested().names)


class TestStarts:
    def test_points_and_values(self):
        space = nested()
        known = ({"on": False, "off": 2, "side": False, "free": 0}, 5.0)
        result = dc.minimize(anything, space, budget=1000, seed=0, x0=[known])
        assert result.history.points[0] == known[0]
        assert result.nfev == space.size - 1

    def test_points_with_inactive_variables_are_refused(self):
        point = {"on": False, "off": 2, "side": False, "free": 0, "n": 1}
        with pytest.raises(ValueError, match=r"x0: point has 'n', which is inactive"):
            dc.minimize(anything, nested(), budget=10, x0=point)


class TestKept:
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_saved_runs_ask_the_same(self, strategy, tmp_path):
        opt = dc.Optimizer(estimators(), budget=200, seed=0, strategy=strategy)
        for _ in range(7):
            trials = opt.ask(5)
            opt.tell(trials[1:], [smooth(trial.point) for trial in trials[1:]])
        opt.save(tmp_path / "run")
        again = dc.Optimizer.load(tmp_path / "run")
        for _ in range(4):
            here, there = opt.ask(4), again.ask(4)
            assert [trial.point for trial in here] == [trial.point for trial in there]
            opt.tell(here, [smooth(trial.point) for trial in here])
            again.tell(there, [smooth(trial.point) for trial in there])

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_stored_runs_go_on_exactly(self, strategy, tmp_path):
        arguments = {"budget": 60, "seed": 0, "strategy": strategy}
        whole = dc.minimize(smooth, estimators(), **arguments)
        path = tmp_path / "run.db"
        dc.minimize(smooth, estimators(), **arguments, store=path, callbacks=lambda o: o.n_evaluations == 25)
        resumed = dc.minimize(smooth, estimators(), **arguments, store=path)
        assert resumed.history.points == whole.history.points
        assert store.read(path).space == estimators()

    def test_other_conditions_are_another_space(self, tmp_path):
        path = tmp_path / "run.db"
        space = dc.Space({"on": dc.Binary(), "n": dc.Integer(1, 9, when={"on": True})})
        other = dc.Space({"on": dc.Binary(), "n": dc.Integer(1, 9, when={"on": False})})
        dc.minimize(anything, space, budget=5, seed=0, store=path)
        with pytest.raises(ValueError, match=r"when=\{'on': False\}.*when=\{'on': True\}"):
            dc.minimize(anything, other, budget=8, seed=0, store=path)
