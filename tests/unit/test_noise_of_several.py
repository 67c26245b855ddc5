"""Noise with several objectives: means of each, the front of these means, what is evaluated again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes.pareto import hypervolume, is_nondominated
from dcmaes.run import _noise
from dcmaes.strategies._several import Several

TWO = {"cost": "minimize", "gain": "maximize"}
WEIGHTS = np.random.default_rng(1).uniform(0.5, 1.5, (2, 12))


def true(x):
    """Values of a front of many points: what costs more gains more."""
    return float(WEIGHTS[0] @ x), float(WEIGHTS[1] @ x)


def noisy(deviation=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: tuple(value + deviation * float(rng.normal()) for value in true(x))


def run(objective=None, space=None, **arguments):
    space = dc.Space.binary(12) if space is None else space
    defaults = {"budget": 120, "seed": 0, "objectives": TWO, "duplicates": "reevaluate"}
    return dc.minimize(objective or noisy(), space, **{**defaults, **arguments})


def told(points, values, **arguments):
    """Return an optimizer that was told these values at these points."""
    opt = dc.Optimizer(
        dc.Space.integers(1, 0, 99), budget=100, seed=0, objectives=2, duplicates="reevaluate", **arguments
    )
    for point, value in zip(points, values, strict=True):
        opt.tell(opt.attach([point]), value)
    return opt


def means_of(result):
    """Return the mean values of the feasible points of a run, by point, and how many they are of."""
    groups = {}
    for record in result.history:
        if record.status == "ok":
            groups.setdefault(tuple(np.atleast_1d(record.point).tolist()), []).append(record.value)
    return {point: (np.mean(values, axis=0), len(values)) for point, values in groups.items()}


def test_means_and_front_by_hand():
    opt = told([1, 2, 1, 3, 2], [(0.0, 4.0), (4.0, 0.0), (2.0, 6.0), (9.0, 9.0), (0.0, 2.0)])
    result = opt.result()
    # Point 1 has the means 1 and 5, point 2 the means 2 and 1; point 3 is behind both.
    assert result.front.values.tolist() == [[1.0, 5.0], [2.0, 1.0]]
    assert result.front.points.tolist() == [[1], [2]]
    assert result.front.counts.tolist() == [2, 2]
    assert [record.value for record in result.front] == [(1.0, 5.0), (2.0, 1.0)]
    assert [record.value for record in result.front[:1]] == [(1.0, 5.0)]
    assert result.history.values[:2].tolist() == [[0.0, 4.0], [4.0, 0.0]]  # as told
    assert result.hypervolume((10, 10)) == 9 * 5 + 8 * 4
    # Squares around the means: 2 + 8 in the first objective, 2 + 2 in the second, two degrees of freedom.
    assert result.noise.deviation == pytest.approx((math.sqrt(5), math.sqrt(2)))
    assert result.noise.n_evaluations == 2
    assert result.noise.error == pytest.approx((math.sqrt(5 / 2), 1.0))


def test_a_point_that_was_lucky_leaves_the_front_and_what_it_hid_comes_back():
    opt = told([1, 2], [(1.0, 1.0), (2.0, 2.0)])
    assert opt.result().front.points.tolist() == [[1]]
    opt.tell(opt.attach([1]), (5.0, 5.0))
    result = opt.result()
    assert result.front.points.tolist() == [[2]]
    assert result.x.tolist() == [2]
    assert result.fun == (2.0, 2.0)
    assert result.front.growth((4, 4)).tolist() == [9.0, 9.0, 4.0]


def test_failed_and_infeasible_repeats():
    opt = told([1, 1, 2], [(1.0, 1.0), RuntimeError("no"), (2.0, 3.0)])
    result = opt.result()
    assert result.front.points.tolist() == [[1]]
    assert (result.front[0].value, result.front[0].status) == ((1.0, 1.0), "ok")
    assert result.front.counts.tolist() == [1]
    # Infeasible once is infeasible on average.
    opt.tell(opt.attach([1]), dc.Outcome((0.0, 0.0), violation=2.0))
    result = opt.result()
    assert result.front.points.tolist() == [[2]]
    opt.tell(opt.attach([2]), dc.Outcome(None, violation=9.0))
    result = opt.result()
    assert len(result.front) == 0
    # The smallest mean violation: 1 in the mean of point 1, 4.5 in that of point 2.
    assert (result.x.tolist(), result.violation, result.success) == ([1], 1.0, False)


def test_a_front_of_one_point_and_a_mean_of_zero_are_written_so():
    result = run(lambda x: (1.0, 0.0), space=dc.Space.binary(2), budget=12, patience=9)
    assert repr(result.front) == "<Front of 1 point: cost, gain>"
    assert repr(result.fun) == "(1.0, 0.0)"
    assert "not grown since 1 point was on the front" in result.message
    assert "front: 1 point\n" in repr(result)


def test_a_point_that_only_failed_has_no_means():
    opt = told([1, 1], [RuntimeError("no"), RuntimeError("no")])
    result = opt.result()
    assert (len(result.front), result.x) == (0, None)
    assert np.isnan(result.fun).all()


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.tuples(*[st.integers(0, 3)] * 3),
            st.sampled_from([0.0, 0.0, 0.0, 1.0]),
        ),
        max_size=30,
    ),
    st.integers(2, 3),
    st.booleans(),
)
def test_the_front_of_means_is_that_of_enumeration(told, m, has_reference):
    reference = np.full(m, 2.5) if has_reference else None
    several = Several(m, reference, is_averaged=True)
    points: dict[int, list] = {}
    for place, (point, values, violation) in enumerate(told):
        rows = points.setdefault(point, [])
        previous, first = (rows[-1][0], rows[0][0]) if rows else (-1, place)
        rows.append((place, values[:m], violation))
        mean = np.mean([row[1] for row in rows], axis=0)
        is_feasible = all(row[2] == 0 for row in rows)
        before, kept = several.copy(), several.snapshot()
        front_before = several.front.tolist()
        several.append(values[:m], is_feasible, mean.tolist(), first, previous)
        assert before.front.tolist() == kept.front.tolist() == front_before
        feasible = [rows for rows in points.values() if all(row[2] == 0 for row in rows)]
        # Of points with the same means, the one that was first evaluated before the others.
        feasible.sort(key=lambda rows: rows[0][0])
        means = np.array([np.mean([row[1] for row in rows], axis=0) for rows in feasible]).reshape(-1, m)
        on_front = [rows for rows, is_on in zip(feasible, is_nondominated(means), strict=True) if is_on]
        assert several.front.tolist() == sorted(rows[-1][0] for rows in on_front)
        counted = [
            rows[0][0]
            for rows in on_front
            if not has_reference or (np.mean([row[1] for row in rows], axis=0) < 2.5).all()
        ]
        assert several.grown_at == max(counted, default=None)


@pytest.mark.parametrize("strategy", ["front", "random"])
def test_everything_in_a_result_is_by_means(strategy):
    space = dc.Space.binary(5) if strategy == "random" else None
    result = run(space=space, objective=(lambda x: noisy_of_five(x)) if space else None, strategy=strategy)
    means = means_of(result)
    values = np.array([mean for mean, _ in means.values()]) * [1, -1]
    front = values[is_nondominated(values)]
    np.testing.assert_allclose(result.front.values * [1, -1], front[np.argsort(front[:, 0])])
    for record, count in zip(result.front, result.front.counts, strict=True):
        mean, n = means[tuple(record.point.tolist())]
        assert record.value == pytest.approx(mean)
        assert count == n
    assert result.hypervolume((20, 0)) == pytest.approx(hypervolume(values, [20, 0]))
    assert result.front.growth((20, 0))[-1] == pytest.approx(result.hypervolume((20, 0)))
    assert result.fun == result.knee().value
    assert max(result.front.counts) > 1
    frame = result.front.to_frame()
    np.testing.assert_array_equal(frame[["cost", "gain"]].to_numpy(), result.front.values)
    assert frame["count"].tolist() == result.front.counts.tolist()
    assert len(result.history.to_frame()) == 120
    assert "cost" in repr(result)
    assert f"per evaluation; fun is the mean of {result.noise.n_evaluations}" in repr(result)


def noisy_of_five(x, _rng=np.random.default_rng(5)):  # noqa: B008 one stream of noise for the test above
    return float(x.sum()) + _rng.normal(), float(x @ np.arange(5)) + _rng.normal()


def test_one_evaluation_in_five_goes_to_the_point_of_the_front_evaluated_least_often():
    opt = dc.Optimizer(
        dc.Space.binary(30), budget=150, seed=0, objectives=2, strategy="random", duplicates="reevaluate"
    )
    rng, counts, n_again = np.random.default_rng(0), {}, 0
    while opt.should_stop() is None:
        front = {tuple(record.point.tolist()) for record in opt.result().front}
        (trial,) = opt.ask(1)
        point = tuple(trial.point.tolist())
        if point in counts:
            n_again += 1
            assert counts[point] == min(counts[other] for other in front)
            assert point in front
        counts[point] = counts.get(point, 0) + 1
        opt.tell(trial, tuple(rng.normal(size=2).tolist()))
    assert 28 <= n_again <= 30


def test_an_objective_without_noise_is_found_out():
    result = run(true, space=dc.Space.binary(12), strategy="random")
    n_again = 120 - len(np.unique(result.history.points, axis=0))
    assert n_again <= _noise._EQUAL_REPEATS + 5  # some random points of 4,096 come again by chance
    assert result.noise.deviation == (0.0, 0.0)


def test_noise_in_one_objective_is_enough_to_go_on():
    rng = np.random.default_rng(0)
    result = run(lambda x: (true(x)[0], true(x)[1] + float(rng.normal())), strategy="random")
    assert 120 - len(np.unique(result.history.points, axis=0)) > 15
    assert result.noise.deviation[0] == 0.0
    assert result.noise.deviation[1] == pytest.approx(1.0, rel=0.4)


@pytest.mark.slow
def test_means_are_nearer_to_the_truth_than_single_values():
    """Of the front, as a mean over five seeds."""
    errors = {"reevaluate": [], "cache": []}
    for seed in range(5):
        for duplicates, found in errors.items():
            front = run(noisy(seed=seed), seed=seed, duplicates=duplicates, budget=200).front
            found.append(np.abs(front.values - [true(point) for point in front.points]).mean())
    assert np.mean(errors["reevaluate"]) < 0.8 * np.mean(errors["cache"])


def test_a_target_must_be_reached_beyond_doubt():
    arguments = {"reference": (10.0, 10.0), "target": 60.0}
    opt = told([1], [(2.0, 2.0)], **arguments)
    assert opt.should_stop() is None  # 64, but how sure is that?
    opt.tell(opt.attach([2]), (9.0, 9.0))
    opt.tell(opt.attach([2]), (9.5, 9.5))
    # One evaluation deviates by sqrt(1/8) in each objective: point 1 is sure of (10 - 2.354)^2 = 58.5 only.
    assert opt.should_stop() is None
    opt.tell(opt.attach([1]), (2.0, 2.0))
    # Now sqrt(1/16) / sqrt(2) = 0.177 each, and (10 - 2.177)^2 = 61.2.
    assert opt.should_stop() is dc.StopReason.TARGET
    assert opt.result().message == "target hypervolume 60 reached with 64 at evaluation 4"


def test_patience_counts_from_the_newest_point_of_the_front():
    opt = told([1, 2, 3, 1, 1], [(1, 1), (2, 2), (0.5, 3), (1, 1.5), (1, 0.5)], patience=4)
    assert opt.should_stop() is None  # repeats of point 1 bring nothing new
    opt.tell(opt.attach([4]), (9, 9))
    assert opt.should_stop() is None
    opt.tell(opt.attach([5]), (9, 9))
    assert opt.should_stop() is dc.StopReason.PATIENCE
    assert "not grown since 2 points were on the front, at evaluation 3" in opt.result().message


def ask_and_tell(opt, objective, n):
    for _ in range(n):
        trials = opt.ask(3)
        opt.tell(trials, [objective(trial) for trial in trials])
    return opt


def by_trial(trial):
    """Return values with noise that is a function of the number of the trial."""
    noise = np.random.default_rng(trial.id).normal(size=3)
    values = tuple((np.array([*true(trial.point), trial.point.sum()]) + noise).tolist())
    if trial.id % 17 == 4:
        return RuntimeError("seventeen")
    return dc.Outcome(values, violation=max(0.0, float(trial.point[0] + trial.point[1]) - 1.5))


@pytest.mark.parametrize("strategy", ["front", "random"])
def test_saved_stored_forked_and_resumed_exactly(strategy, tmp_path):
    arguments = {
        "budget": 200,
        "seed": 3,
        "objectives": 3,
        "strategy": strategy,
        "duplicates": "reevaluate",
        "reference": (10, 10, 10),
        "x0": [([0] * 12, (0.5, 0.1, 0.2)), ([0] * 12, (1.5, 0.3, 0.4)), [1] * 12],
    }
    space = dc.Space.binary(12)
    opt = ask_and_tell(dc.Optimizer(space, store=tmp_path / "run.db", **arguments), by_trial, 25)
    assert opt.history.values[:2].tolist() == [[0.5, 0.1, 0.2], [1.5, 0.3, 0.4]]
    opt.save(tmp_path / "saved.db")
    fork = opt.fork(seed=7)
    ask_and_tell(fork, by_trial, 5)
    stored = dc.store.read(tmp_path / "run.db").result()
    opt.close()
    others = [
        dc.Optimizer.load(tmp_path / "saved.db"),
        dc.Optimizer(space, store=tmp_path / "run.db", **arguments),
    ]
    straight = ask_and_tell(dc.Optimizer(space, **arguments), by_trial, 25)
    for other in (stored, *(each.result() for each in others)):
        assert other.front.values.tolist() == straight.result().front.values.tolist()
        assert other.front.counts.tolist() == straight.result().front.counts.tolist()
        assert repr(other.noise) == repr(straight.result().noise)
        assert other.fun == straight.result().fun
    expected = ask_and_tell(straight, by_trial, 10).result()
    for other in others:
        found = ask_and_tell(other, by_trial, 10).result()
        assert found.history.points.tolist() == expected.history.points.tolist()
        np.testing.assert_array_equal(found.history.values, expected.history.values)
        assert found.front.values.tolist() == expected.front.values.tolist()
    others[1].close()


def test_conditional_variables_and_constraints():
    space = dc.Space(
        {"kind": dc.Categorical(["a", "b"]), "n": dc.Integer(0, 9), "k": dc.Integer(0, 3, when={"kind": "b"})}
    )
    rng = np.random.default_rng(0)

    def objective(point):
        noise = rng.normal(size=2)
        return point["n"] + point.get("k", 2) + noise[0], 9 - point["n"] + noise[1]

    result = run(objective, space, budget=100, objectives=2, constraints=["n <= 7"], workers=None)
    assert all(point["n"] <= 7 for point in result.history.points)
    assert max(result.front.counts) > 1
    pairs = result.interactions("f0")
    assert pairs
    assert all({pair.first, pair.second} < set(space.names) for pair in pairs)


def test_results_that_are_looked_at_later_do_not_change():
    opt = told([1, 2], [(1.0, 1.0), (2.0, 2.0)])
    early = opt.result()
    opt.tell(opt.attach([1]), (5.0, 5.0))
    assert early.front.points.tolist() == [[1]]
    assert early.front.values.tolist() == [[1.0, 1.0]]
    assert early.front.growth((4, 4)).tolist() == [9.0, 9.0]


def test_the_report_shows_means(tmp_path):
    from dcmaes.report import front_data, write_html

    result = run(budget=60)
    data = front_data(result)
    np.testing.assert_array_equal(data.value[data.front], result.front.values)
    write_html(result, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
