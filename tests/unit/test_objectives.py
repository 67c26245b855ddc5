"""Runs with several objectives: what they take, record, stop at and find."""

import math
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer._evaluators import CheckedObjective
from dcmaes.pareto import hypervolume, is_nondominated
from dcmaes.run._objectives import Objectives
from dcmaes.strategies import Evaluations, Memory

TWO = {"cost": "minimize", "gain": "maximize"}
SPACE = dc.Space.binary(10)
WORTH = np.arange(10)


def both(x):
    return int(x.sum()), int(x @ WORTH)


def named(x):
    cost, gain = both(x)
    return {"gain": gain, "cost": cost}


def run(objective=both, space=SPACE, **arguments):
    return dc.minimize(objective, space, **{"budget": 60, "seed": 0, "objectives": TWO, **arguments})


@pytest.mark.parametrize("strategy", ["auto", "front", "random"])
def test_front_is_what_no_evaluation_dominates(strategy):
    result = run(strategy=strategy)
    assert result.strategy == ("front" if strategy == "auto" else strategy)
    values = np.array([both(point) for point in result.history.points])
    np.testing.assert_array_equal(result.history.values, values)
    front = values[is_nondominated(values * [1, -1])]
    np.testing.assert_array_equal(result.front.values, front[np.argsort(front[:, 0])])
    assert [record.value for record in result.front] == [both(record.point) for record in result.front]
    assert result.hypervolume((10, 0)) == hypervolume(values * [1, -1], [10, 0])
    assert result.nfev == 60
    assert result.success


def test_a_dict_is_as_good_as_a_tuple_or_an_array():
    for other in (named, lambda x: np.array(both(x)), lambda x: list(both(x))):
        np.testing.assert_array_equal(run(other).history.values, run().history.values)


def test_directions_turn_signs_at_the_door():
    one = run(objectives={"cost": "minimize", "loss": "minimize"}, objective=lambda x: (x.sum(), -x @ WORTH))
    np.testing.assert_array_equal(one.history.points, run().history.points)
    np.testing.assert_array_equal(one.front.values * [1, -1], run().front.values)


def test_maximize_is_the_direction_of_objectives_without_one():
    result = dc.maximize(lambda x: (x.sum(), -x @ WORTH), SPACE, budget=40, seed=0, objectives=2)
    values = result.history.values
    np.testing.assert_array_equal(
        result.front.values[::-1],
        values[is_nondominated(-values)][np.argsort(values[is_nondominated(-values)][:, 0])],
    )
    same = dc.maximize(both, SPACE, budget=60, seed=0, objectives=TWO)
    np.testing.assert_array_equal(same.history.points, run().history.points)


def test_knee_and_weights_pick_from_the_front():
    result = run()
    values = result.front.values
    unit = (values - values.min(axis=0)) / np.ptp(values, axis=0) * [1, -1]
    assert result.knee().value == tuple(values[unit.sum(axis=1).argmin()])
    assert result.fun == result.knee().value
    assert both(result.x) == result.fun
    assert result.knee({"gain": 1}).value == tuple(values[-1])
    assert result.knee([1, 0]).value == tuple(values[0])


def test_the_best_point_is_the_knee_also_of_a_hollow_front():
    space = dc.Space.integers(1, 0, 40)
    result = run(lambda x: (x[0], int(x[0] ** 2)), space, budget=41)
    assert len(result.front) == 41
    assert result.fun == result.knee().value
    assert 0 < result.x[0] < 40


def test_history_has_a_column_for_each():
    frame = run().history.to_frame()
    assert list(frame.columns[-9:-7]) == ["cost", "gain"]
    assert "value" not in frame
    space = dc.Space({"cost": dc.Integer(0, 3), "a": dc.Integer(0, 3)})
    result = run(lambda p: (p["cost"], p["a"]), space, budget=5)
    assert list(result.history.to_frame().columns[:5]) == ["id", "point.cost", "a", "cost", "gain"]
    assert len(result.front.to_frame()) == len(result.front)


def test_growth_ends_at_the_hypervolume():
    result = run()
    growth = result.front.growth((10, 0))
    assert (np.diff(growth) >= 0).all()
    assert growth[-1] == result.hypervolume((10, 0))
    assert growth[9] == hypervolume(result.history.values[:10] * [1, -1], [10, 0])


def test_three_objectives():
    result = run(lambda x: (*both(x), x[::2].sum()), objectives=["cost", "worth", "even"], budget=80)
    values = result.history.values
    assert {tuple(row) for row in values[is_nondominated(values)]} == {r.value for r in result.front}
    assert result.front.growth((11, 50, 6))[-1] == result.hypervolume((11, 50, 6))


@pytest.mark.parametrize(
    "extreme",
    [
        lambda x: ((x.sum() - 6) * 1e307, (30 - x @ WORTH) * 1e306),
        lambda x: (1.7e308 * (1 - 2 * x[0]), 1.7e308 * (2 * x[1] - 1)),
        lambda x: (x.sum() * 1e-310, -x[0] * 1e-320),
        lambda x: (10.0 ** (x.sum() * 20), -x[3]),
        lambda x: (1.0, 2.0),
        lambda x: (x.sum() * 1e300, -x[0] * 1e300, x[1] * 1e305),
    ],
)
def test_values_of_any_size(extreme):
    result = run(extreme, objectives=len(extreme(np.zeros(10, dtype=int))), budget=40)
    values = result.history.values
    assert len(result.front) == is_nondominated(values).sum()
    assert result.hypervolume() >= 0
    assert result.fun == result.knee().value
    assert result.front.growth()[-1] == result.hypervolume()


def test_more_than_four_objectives_are_warned_of():
    with pytest.warns(UserWarning, match="5 objectives"):
        result = run(lambda x: x[:5].tolist(), objectives=5, budget=12)
    assert result.history.values.shape == (12, 5)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (1.0, "not 2 values (cost, gain) but one number: 1"),
        ((1, 2, 3), "not 2 values (cost, gain) but 3"),
        ((), "not 2 values (cost, gain) but 0"),
        ({"cost": 1}, "not 2 values (cost, gain) but a dict without gain"),
        ({"cost": 1, "gain": 2, "x": 3}, "not 2 values (cost, gain) but a dict with 'x'"),
        (None, "not 2 values (cost, gain) but no number: None (is a return missing?)"),
        ("12", "not 2 values (cost, gain) but no number: the string '12'"),
        ((1, math.nan), "gain is not finite: nan"),
        ((1, "b"), "gain is no number: the string 'b'"),
        (np.zeros((2, 1)), "not 2 values (cost, gain) but no number: an array of shape (2, 1)"),
        (dc.Outcome((1, 2), "x"), "violation is no number: the string 'x'"),
        (dc.Outcome(3.0), "not 2 values (cost, gain) but one number: 3"),
        (ValueError("no"), "ValueError: no"),
    ],
)
def test_other_numbers_of_values_are_failures_that_say_so(told, reason):
    opt = dc.Optimizer(SPACE, budget=3, seed=0, objectives=TWO)
    opt.tell(opt.ask(1), [told])
    (record,) = opt.history
    assert (record.status, record.reason) == ("failed", reason)
    assert all(map(math.isnan, record.value))
    assert len(opt.result().front) == 0
    assert opt.result().x is None


def test_ten_wrong_answers_alike_end_the_run():
    with pytest.raises(dc.EvaluationError, match="not 2 values"):
        run(lambda x: 1.0)


def test_failures_do_not_reach_the_front():
    def sometimes(x):
        if x[0]:
            raise ValueError("no")
        return both(x)

    result = run(sometimes)
    assert result.n_failures > 0
    assert all(not record.point[0] for record in result.front)


def test_infeasible_points_come_after_all_feasible_ones():
    result = run(lambda x: dc.Outcome(both(x), x.sum() - 4), budget=80)
    assert all(record.point.sum() <= 4 for record in result.front)
    assert len(result.front) == 5
    nothing = run(lambda x: dc.Outcome(None, 1 + x.sum()), budget=80)
    assert len(nothing.front) == 0
    assert nothing.violation == 1
    assert not nothing.success
    assert "no feasible point was found" in nothing.message


def test_cheap_constraints_rule_points_out():
    result = run(constraints=lambda x: x.sum() - 4)
    assert (result.history.points.sum(axis=1) <= 4).all()


def test_target_is_a_hypervolume():
    result = run(target=200, reference={"cost": 10, "gain": 0})
    assert result.stop_reason is dc.StopReason.TARGET
    volume = result.hypervolume()
    assert result.message == f"target hypervolume 200 reached with {volume:g} at evaluation {result.nfev}"
    growth = result.front.growth()
    assert growth[-2] < 200 <= growth[-1] == volume


def test_patience_counts_from_the_last_growth_of_the_front():
    result = run(patience=15, strategy="random", budget=500)
    assert result.stop_reason is dc.StopReason.PATIENCE
    assert (
        f"the hypervolume has not grown since {len(result.front)} points were on the front" in result.message
    )
    latest = max(record.id for record in result.front)
    assert result.nfev == latest + 1 + 15


def test_every_point_of_a_small_space_is_found():
    result = run(space=dc.Space.binary(4), objective=lambda x: (x.sum(), x @ [1, 2, 3, 4]), budget=100)
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED
    assert result.nfev == 16


def test_ask_and_tell_in_any_order():
    opt = dc.Optimizer(SPACE, budget=20, seed=0, objectives=TWO)
    trials = opt.ask(6)
    opt.tell(trials[3], both(trials[3].point))
    opt.tell([trials[5], trials[0]], np.array([both(trials[5].point), both(trials[0].point)]))
    assert [record.id for record in opt.history] == [3, 5, 0]
    assert opt.best.value in {record.value for record in opt.result().front}
    assert "points on the front" in repr(opt)
    with pytest.raises(ValueError, match="values must be a sequence of 2"):
        opt.tell(trials[1:3], (1, 2, 3))


def test_workers_and_executors_check_values_where_they_are_made():
    with ThreadPoolExecutor(2) as pool:
        threads = run(named, executor=pool, workers=2, batch_size=4)
    processes = run(named, workers=2, batch_size=4)
    np.testing.assert_array_equal(threads.history.points, processes.history.points)
    assert processes.n_failures == 0


def test_checked_objectives_travel_to_other_processes():
    checked = CheckedObjective(both, Objectives(tuple(TWO), tuple(TWO.values())))
    checked = pickle.loads(pickle.dumps(checked))  # noqa: S301 - our own
    assert checked(np.ones(10, dtype=int)).value == (10.0, 45.0)


def test_starting_points_with_values():
    ones = np.ones(10, dtype=int)
    result = run(x0=[(ones, both(ones)), np.zeros(10, dtype=int)], budget=10)
    assert result.history[0].is_given
    assert result.history[0].value == (10.0, 45.0)
    assert result.history[1].value == (0.0, 0.0)
    single = run(x0=(ones, named(ones)), budget=5)
    assert single.history[0].value == (10.0, 45.0)
    with pytest.raises(ValueError, match=r"x0\[0\]: the known value must be 2 finite numbers"):
        run(x0=[(ones, 3.0)])


@pytest.mark.parametrize("form", ["result", "frame", "csv"])
def test_warm_start_from_another_run(form, tmp_path):
    first = run(budget=20)
    source = first
    if form != "result":
        source = first.history.to_frame()
    if form == "csv":
        source.to_csv(tmp_path / "run.csv", index=False)
        source = tmp_path / "run.csv"
    second = run(x0=source, budget=5)
    np.testing.assert_array_equal(second.history.values[:20], first.history.values)
    assert second.nfev == 5


def test_a_history_with_other_objectives_is_refused():
    with pytest.raises(ValueError, match="evaluation 0 comes from a run with other objectives"):
        run(x0=dc.minimize(sum, SPACE, budget=5, seed=0))
    with pytest.raises(ValueError, match="'cost'"):
        dc.minimize(sum, SPACE, budget=5, x0=run(budget=5).history.to_frame())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objectives": 1}, "at least 2"),
        ({"objectives": []}, "at least 2"),
        ({"objectives": True}, "objectives must be"),
        ({"objectives": "ab"}, "objectives must be"),
        ({"objectives": [1, 2]}, "objectives must be"),
        ({"objectives": 10**9}, "at most 100"),
        ({"objectives": ["a", "a"]}, "different names"),
        ({"objectives": {"a": "up", "b": "minimize"}}, r"objectives\['a'\] must be one of"),
        ({"objectives": {1: "minimize", 2: "minimize"}}, "names that are text"),
        ({"objectives": ["value", "size"]}, "'value' is a column of the history"),
        ({"objectives": None, "reference": (1, 2)}, "reference is for several objectives"),
        ({"reference": (1, 2, 3)}, r"reference must have shape \(2,\)"),
        ({"reference": {"cost": 1}}, "reference must have the keys cost, gain"),
        ({"target": 3.0}, "pass reference="),
        ({"strategy": "cma"}, "'cma' searches for one"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(arguments, message):
    called = []
    with pytest.raises((ValueError, TypeError), match=message):
        run(called.append, **arguments)
    assert called == []


@pytest.mark.parametrize("strategy", ["auto", "random"])
def test_a_stored_run_goes_on_as_if_it_had_never_stopped(strategy, tmp_path):
    whole = run(strategy=strategy)
    path = tmp_path / "run.db"
    for n in (7, 23):
        run(strategy=strategy, store=path, callbacks=lambda opt, n=n: opt.n_evaluations == n)
    resumed = dc.resume(path, both)
    np.testing.assert_array_equal(resumed.history.points, whole.history.points)
    np.testing.assert_array_equal(resumed.front.values, whole.front.values)
    stored = dc.store.read(path)
    assert stored.settings["objectives"]["names"] == ["cost", "gain"]
    assert stored.result().fun == whole.fun
    np.testing.assert_array_equal(stored.history.values, whole.history.values)


def test_saved_and_loaded_the_next_ask_is_the_same(tmp_path):
    opt = dc.Optimizer(SPACE, budget=60, seed=1, objectives=TWO, reference=(10, 0), target=1e9)
    for _ in range(8):
        trials = opt.ask(4)
        opt.tell(trials[:3], [both(trial.point) for trial in trials[:3]])
    opt.tell(trials[3], ValueError("no"))
    opt.save(tmp_path / "run.db")
    again = dc.Optimizer.load(tmp_path / "run.db")
    np.testing.assert_array_equal(again.history.values, opt.history.values)
    assert again.result().hypervolume() == opt.result().hypervolume()
    for _ in range(3):
        mine, theirs = opt.ask(4), again.ask(4)
        assert [t.point.tolist() for t in mine] == [t.point.tolist() for t in theirs]
        opt.tell(mine, [both(t.point) for t in mine])
        again.tell(theirs, [both(t.point) for t in theirs])


def test_a_store_of_other_objectives_is_refused(tmp_path):
    run(store=tmp_path / "run.db", budget=5)
    with pytest.raises(ValueError, match="objectives are minimize cost, minimize gain in the arguments and"):
        run(store=tmp_path / "run.db", budget=5, objectives=["cost", "gain"])
    with pytest.raises(ValueError, match="objectives are one in the arguments"):
        run(sum, store=tmp_path / "run.db", budget=5, objectives=None)


def test_a_store_of_one_objective_is_as_it_was(tmp_path):
    dc.minimize(sum, SPACE, budget=5, seed=0, store=tmp_path / "one.db")
    run(store=tmp_path / "two.db", budget=5)
    versions, kinds, keys = {}, {}, {}
    for name in ("one", "two"):
        with sqlite3.connect(tmp_path / f"{name}.db") as base:
            versions[name] = base.execute("PRAGMA user_version").fetchone()[0]
            kinds[name] = base.execute("SELECT DISTINCT typeof(value) FROM evaluation").fetchall()
            keys[name] = {key for (key,) in base.execute("SELECT key FROM run")}
    assert versions["two"] == versions["one"] + 100
    assert (kinds["one"], kinds["two"]) == ([("real",)], [("text",)])
    assert keys["two"] - keys["one"] == {"objectives"}


def test_interactions_of_each_objective():
    result = run(lambda x: (x[0] * x[1] * 5 + x.sum(), 5 * x[2] * x[3] - x.sum()), objectives=2, budget=150)
    certain = {
        name: {(pair.first, pair.second) for pair in result.interactions(name) if pair.is_certain}
        for name in result.objectives
    }
    assert certain == {"f0": {(0, 1)}, "f1": {(2, 3)}}
    assert {(p.first, p.second) for p in result.interactions() if p.is_certain} == {(0, 1), (2, 3)}
    with pytest.raises(ValueError, match="objective must be one of 'f0', 'f1'"):
        result.interactions("loss")


def test_results_and_fronts_are_shown():
    result = run()
    assert f"front: {len(result.front)} points" in repr(result)
    assert "cost" in result._repr_html_()
    assert "gain" in result.history._repr_html_()
    assert repr(result.front) == f"<Front of {len(result.front)} points: cost, gain>"
    assert [record.id for record in result.front[:2]] == [result.front[0].id, result.front[1].id]


def test_a_front_with_conditional_variables_is_shown():
    space = dc.Space(
        {
            "kind": dc.Categorical(["a", "b"]),
            "n": dc.Integer(0, 9),
            "k": dc.Integer(1, 3, when={"kind": "b"}),
        }
    )

    def objective(point):  # whatever has k costs more and gains more
        more = 20 if "k" in point else 0
        return more + point["n"] + point.get("k", 0), more + point["n"]

    result = run(objective, space, budget=40)
    assert {"k" in point for point in result.front.points} == {True, False}
    (shown,) = [line for line in result._repr_html_().split("<table") if "Front of" in line]
    lacking = next(record for record in result.front if "k" not in record.point)
    assert f"<td>{lacking.point['n']}</td><td></td>" in shown
    assert result.front.to_frame()["k"].isna().any()


def test_an_empty_front_says_so():
    result = dc.Optimizer(SPACE, budget=5, objectives=TWO).result()
    assert len(result.front) == 0
    assert result.hypervolume((1, 1)) == 0.0
    with pytest.raises(ValueError, match="the front is empty"):
        result.knee()


def test_one_objective_has_a_front_of_one():
    result = dc.minimize(sum, SPACE, budget=30, seed=0)
    assert result.objectives == ("value",)
    assert [record.value for record in result.front] == [result.fun]
    assert result.front.values.shape == (1, 1)


def test_memory_keeps_the_front_as_values_come():
    rng = np.random.default_rng(0)
    memory = Memory(SPACE.sites, n_objectives=3)
    values = rng.integers(0, 6, (200, 3)).astype(float)
    x = rng.integers(0, 2, (200, 10)).astype(float)
    memory.tell(Evaluations(x, np.full(200, np.nan), np.zeros(200)), values)
    np.testing.assert_array_equal(memory.front, np.flatnonzero(is_nondominated(values)))
    assert memory.grown_at == memory.front.max()
    np.testing.assert_array_equal(memory.values_at(np.arange(200)), values)
