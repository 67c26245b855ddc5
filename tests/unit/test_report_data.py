"""The numbers behind the plots, without a backend."""

import math

import numpy as np
import pytest

import dcmaes as dc
from dcmaes._html import value_text
from dcmaes.report import (
    Band,
    Heat,
    convergence_data,
    coordinates_data,
    correlations_data,
    graph_data,
    interactions_data,
    marginal_data,
    marginals_data,
    timeline_data,
)
from dcmaes.report._drawing import axis_position, axis_ticks, number_text, state_labels
from dcmaes.report._page import payload
from dcmaes.report._run import read_run


def told(space, points, values, *, seconds=None, **options):
    """Return the result of a run in which these points, asked for first, were told these values."""
    optimizer = dc.Optimizer(space, budget=len(points), seed=0, strategy="random", x0=points, **options)
    trials = []
    while len(trials) < len(points):
        trials += optimizer.ask(len(points) - len(trials))
    optimizer.tell(trials, values, seconds=seconds)
    return optimizer.result()


LINE = dc.Space({"n": dc.Integer(0, 9)})


def line(values, **options):
    return told(LINE, [{"n": i} for i in range(len(values))], values, **options)


def test_convergence_of_a_hand_made_run():
    data = convergence_data(line([5.0, ValueError("no"), dc.Outcome(1.0, 2.0), 3.0, 4.0]))
    np.testing.assert_array_equal(data.evaluation, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(data.value, [5.0, np.nan, 1.0, 3.0, 4.0])
    np.testing.assert_array_equal(data.best, [5.0, 5.0, 5.0, 3.0, 3.0])
    assert data.status.tolist() == ["ok", "failed", "infeasible", "ok", "ok"]
    assert not data.is_log
    assert data.axis == (3.0, 5.0, 1)  # the infeasible one is beyond


def test_convergence_axis_leaves_outliers_out_on_the_bad_side_only():
    values = [float(v) for v in range(100)]
    space = dc.Space({"n": dc.Integer(0, 200)})
    points = [{"n": i} for i in range(101)]
    low_is_good = convergence_data(told(space, points, [*values, 1e6]))
    assert low_is_good.axis.low == 0.0
    assert 90.0 < low_is_good.axis.high < 100.0
    assert low_is_good.axis.n_beyond >= 1
    high_is_good = convergence_data(told(space, points, [*values, -1e6], direction="maximize"))
    assert high_is_good.axis.high == 99.0
    assert -10.0 < high_is_good.axis.low < 10.0
    np.testing.assert_array_equal(high_is_good.best[:3], [0.0, 1.0, 2.0])


def test_convergence_axis_is_logarithmic_over_decades_of_positive_values():
    data = convergence_data(line([1e-3, 1.0, 50.0]))
    assert data.is_log
    assert data.axis == data.log == (1e-3, 50.0, 0)
    assert convergence_data(line([0.0, 1.0, 500.0])).log is None
    assert not convergence_data(line([0.0, 1.0, 500.0])).is_log


def test_restarts_are_where_a_restarted_search_was_first_told():
    result = dc.minimize(
        lambda x: float((x**2).sum()),
        dc.Space.integers(2, -5, 5),
        budget=400,
        seed=0,
        strategy="cma",
        duplicates="allow",
    )
    data = convergence_data(result)
    restarts = result.history.restarts
    assert len(data.restarts) == restarts.max() > 0
    for k, evaluation in enumerate(data.restarts, start=1):
        assert restarts[evaluation - 1] >= k > restarts[: evaluation - 1].max()


def test_nothing_but_failures():
    result = line([ValueError("a"), ValueError("b")])
    data = convergence_data(result)
    assert data.axis is None
    assert np.isnan(data.best).all()
    assert coordinates_data(result).index.size == 0
    assert marginals_data(result).panels[0].best is None
    assert timeline_data(result).n_untimed == 2


def test_marginals_count_what_was_asked_for():
    space = dc.Space(
        {"act": dc.Categorical(["relu", "gelu"]), "n": dc.Integer(0, 100), "a": dc.Binary(), "b": dc.Binary()}
    )
    points = [{"act": "gelu", "n": i, "a": i > 0, "b": False} for i in range(80)]
    data = marginals_data(told(space, points, [float(i) for i in range(80)]))
    np.testing.assert_array_equal(data.edges, np.arange(0, 82, 2))
    binary, act, n = data.panels
    assert isinstance(binary, Heat)
    assert (binary.rows, binary.best, binary.is_binary) == (("a", "b"), (0, 0), True)
    np.testing.assert_array_equal(binary.share[0, :2], [0.5, 1.0])
    np.testing.assert_array_equal(binary.share[1], np.zeros(40))
    assert (act.rows, act.best) == (("relu", "gelu"), (1,))
    np.testing.assert_array_equal(act.share, [np.zeros(40), np.ones(40)])
    assert isinstance(n, Band)
    np.testing.assert_allclose(n.quantile[2], (2 * np.arange(40) + 0.5) / 100)
    assert n.best == 0.0


def test_one_marginal_by_its_name():
    result = line([1.0, 2.0])
    edges, panel = marginal_data(result, "n")
    assert (edges.tolist(), panel.title) == ([0, 1, 2], "n")
    with pytest.raises(ValueError, match=r"variable must be one of \['n'\], got 'm'"):
        marginal_data(result, "m")


def test_caps_say_what_they_left_out():
    result = dc.minimize(sum, dc.Space.integers(30, 0, 99), budget=150, seed=0)
    marginals = marginals_data(result, limit=4)
    assert (len(marginals.panels), marginals.n_left_out) == (4, 26)
    lines = coordinates_data(result, limit=5, lines=60)
    assert lines.position.shape == (60, 5)
    assert (lines.n_left_out, lines.n_lines_left_out) == (25, 90)
    assert lines.value[-1] == result.fun
    many = dc.minimize(sum, dc.Space.binary(200), budget=50, seed=0)
    (panel,) = marginals_data(many).panels
    assert (len(panel.rows), panel.n_left_out) == (60, 140)
    choices = dc.minimize(
        lambda p: p["c"], dc.Space({"c": dc.Categorical(list(range(500)))}), budget=100, seed=0
    )
    (panel,) = marginals_data(choices).panels
    assert (len(panel.rows), panel.n_left_out) == (60, 440)
    assert panel.best is not None


def test_coordinates_are_drawn_worst_first_and_only_feasible():
    data = coordinates_data(line([5.0, dc.Outcome(0.0, 1.0), 3.0, 4.0, ValueError()]))
    assert data.index.tolist() == [0, 3, 2]
    np.testing.assert_array_equal(data.quality, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(data.position[:, 0], [0.0, 3 / 9, 2 / 9])


def test_interactions_are_clustered():
    pairs = [(0, 4), (1, 5), (2, 3)]

    def objective(x):
        return float(sum((3 + i) * (x[i] - x[j]) ** 2 for i, j in pairs))

    result = dc.minimize(objective, dc.Space.integers(6, -20, 20), budget=600, seed=0, strategy="cma")
    data = interactions_data(result)
    np.testing.assert_array_equal(data.strength, data.strength.T)
    by_pair = {(i.first, i.second): i.strength for i in result.interactions() if i.is_certain}
    names = [int(name[1:]) for name in data.names]
    for a in range(6):
        for b in range(a + 1, 6):
            i, j = sorted((names[a], names[b]))
            assert data.strength[a, b] == by_pair.get((i, j), 0.0)
    assert by_pair.keys() == set(pairs)
    strongest = result.interactions()[0]
    places = {name: k for k, name in enumerate(names)}
    assert abs(places[strongest.first] - places[strongest.second]) == 1
    graph = graph_data(result, limit=2)
    assert len(graph.first) == 2
    assert graph.strength[0] == 1.0
    assert {graph.names[graph.first[0]], graph.names[graph.second[0]]} == {
        f"x{strongest.first}",
        f"x{strongest.second}",
    }
    assert graph.scale == strongest.strength
    assert graph.n_left_out == 1


@pytest.mark.parametrize("strategy", ["auto", "cma", "mixing"])
def test_interactions_of_a_sum_are_not_worth_showing(strategy):
    result = dc.minimize(sum, dc.Space.binary(20), budget=100, seed=0, strategy=strategy)
    remark = "No interaction worth showing: the evaluations show none beyond doubt."
    matrix, graph = interactions_data(result), graph_data(result)
    assert (matrix.names, matrix.remark, matrix.n_left_out) == ((), remark, 20)
    assert (graph.names, graph.remark, graph.n_left_out) == ((), remark, 0)


def test_interactions_of_many_variables_are_the_strongest():
    def objective(x):
        return float(sum(k * x[k] * x[k + 20] for k in range(1, 6)) + x.sum())

    result = dc.minimize(objective, dc.Space.integers(40, -9, 9), budget=400, seed=0, strategy="cma")
    pairs = [pair for pair in result.interactions() if pair.is_certain]
    data = interactions_data(result, limit=4)
    assert (len(data.names), data.n_left_out) == (4, 36)
    assert {f"x{pairs[0].first}", f"x{pairs[0].second}"} <= set(data.names)
    assert data.scale == pairs[0].strength
    assert correlations_data(result, limit=10).scale == 1.0


def test_lanes_are_as_many_as_ran_at_once():
    optimizer = dc.Optimizer(LINE, budget=5, seed=0, strategy="random")
    trials = optimizer.ask(5)
    run = read_run(_timed(optimizer, trials))
    data = timeline_data(run)
    assert data.lanes == ("lane 1", "lane 2")
    assert data.lane[np.argsort(data.index)].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(data.busy, [1.0, 0.75])
    assert data.n_untimed == 1


def _timed(optimizer, trials):
    """Tell four trials, and give their run times on two lanes; the fifth has none."""
    from dataclasses import replace

    optimizer.tell(trials, [1.0] * 5)
    nan = math.nan
    starts, ends = np.array([0.0, 0.0, 2.0, 1.0, nan]), np.array([2.0, 1.0, 4.0, 3.0, nan])
    return replace(read_run(optimizer.result()), starts=starts, ends=ends)


def test_workers_have_their_own_lane():
    from dataclasses import replace

    optimizer = dc.Optimizer(LINE, budget=5, seed=0, strategy="random")
    run = _timed(optimizer, optimizer.ask(5))
    data = timeline_data(replace(run, workers=("b", "a", "b", "a", None)))
    assert data.lanes == ("a", "b")
    assert data.lane[np.argsort(data.index)].tolist() == [1, 0, 1, 0]


def test_very_many_short_evaluations_share_bars():
    from dataclasses import replace

    result = dc.minimize(sum, dc.Space.integers(3, 0, 99), budget=3000, seed=0, strategy="random")
    starts = np.arange(3000.0)
    data = timeline_data(replace(read_run(result), starts=starts, ends=starts + 0.5))
    assert len(data.start) <= 501
    assert data.count.sum() == 3000
    np.testing.assert_allclose(data.busy, [1500.0 / 2999.5])


def test_positions_and_ticks_agree():
    space = dc.Space(
        {
            "n": dc.Integer(-50, 50),
            "w": dc.Integer(16, 4096, log=True),
            "h": dc.Integer(0, 23, periodic=True),
            "f": dc.Float(0.0, 1.0),
            "lr": dc.Float(1e-5, 1e-1, log=True),
            "one": dc.Integer(3, 3),
            "s": dc.Integer(0, 40, step=10),
            "g": dc.Float(0.0, 1.0, step=0.05),
            "a": dc.Float(0.0, 360.0, step=90.0, periodic=True),
        }
    )
    for name, site in zip(space.names, range(space.dimension), strict=True):
        ticks = axis_ticks(space, site)
        assert 1 <= len(ticks) <= 10
        for position, label in ticks:
            point = {"n": 0, "w": 16, "h": 0, "f": 0.0, "lr": 1e-5, "one": 3, "s": 0, "g": 0.0, "a": 0.0}
            point[name] = float(label) if name in ("f", "lr", "g", "a") else int(label)
            if name == "w":
                assert position == pytest.approx(math.log(int(label) / 16) / math.log(4096 / 16))
            else:
                assert axis_position(space, space.encode(point))[site] == pytest.approx(position)


def test_steps_are_shown_as_their_values():
    space = dc.Space({"n": dc.Integer(10, 30, step=10), "f": dc.Float(0.0, 0.3, step=0.1)})
    assert state_labels(space, 0) == ["10", "20", "30"]
    assert state_labels(space, 1) == ["0", "0.1", "0.2", "0.3"]
    result = dc.minimize(lambda p: p["f"] - p["n"], space, budget=12, seed=0, strategy="random")
    variables = payload(read_run(result), "steps")["table"]["variables"]
    assert variables[0]["number"] == [record.point["n"] for record in result.history]
    assert variables[1]["number"] == [record.point["f"] for record in result.history]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.5, "-0.5"), (1 / 3, "0.3333"), (1e20, "1e+20"), (2.0**40, "1099511627776")],
)
def test_numbers_are_written_short(value, text):
    assert number_text(value) == text


def test_values_are_written_in_one_short_line():
    assert value_text("a\nb" * 100) == ("a b" * 100)[:39] + "…"
    assert value_text("") == "''"


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="result must be a Result"):
        convergence_data(3)
