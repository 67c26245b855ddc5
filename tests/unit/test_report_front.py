"""Plots and the report of runs with several objectives."""

import json
import re

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.pareto import is_nondominated
from dcmaes.report import (
    convergence_data,
    front_data,
    front_path_data,
    importance_data,
    one_objective,
    plot_convergence,
    plot_front,
    plot_front_path,
    plot_growth,
    render_html,
    write_html,
)

plt = pytest.importorskip("matplotlib.pyplot")
TWO = {"cost": "minimize", "gain <b>": "maximize"}
SPACE = dc.Space({"n": dc.Integer(0, 30), "how": dc.Categorical(["a", "b"]), "same": dc.Integer(0, 3)})


def both(point):
    extra = point["how"] == "b"
    return point["n"] + 5 * extra + point["same"], np.sqrt(point["n"]) + extra


@pytest.fixture(scope="module")
def result():
    return dc.minimize(both, SPACE, budget=60, seed=0, objectives=TWO)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_front_data_are_those_of_the_result(result):
    data = front_data(result)
    assert data.names == tuple(TWO)
    assert data.directions == ("minimize", "maximize")
    np.testing.assert_array_equal(data.value[data.front], result.front.values)
    assert tuple(data.value[data.knee]) == result.knee().value
    assert data.growth[-1] == result.hypervolume()
    np.testing.assert_array_equal(data.reference, [data.value[:, 0].max(), data.value[:, 1].min()])


def test_variables_that_change_along_the_front_come_first(result):
    data = front_path_data(result)
    assert data.names[:2] == ("cost", "gain <b>")
    order = [data.change[list(SPACE.names).index(name)] for name in data.names[2:]]
    assert order == sorted(order, reverse=True)
    points = result.front.points
    low, high = min(p["n"] for p in points), max(p["n"] for p in points)
    assert data.change[0] == pytest.approx((high - low) / 30)
    share = np.mean([p["how"] == "b" for p in points])
    assert data.change[1] == pytest.approx(min(share, 1 - share))
    assert data.change[2] == pytest.approx(np.ptp([p["same"] for p in points]) / 3)
    assert data.position.shape == (len(points), 5)
    assert front_path_data(result, limit=1).n_left_out == 2


def test_plots_of_one_objective_show_the_one_that_is_meant(result):
    gain = one_objective(result, "gain <b>")
    np.testing.assert_array_equal(gain.values, result.history.values[:, 1])
    np.testing.assert_array_equal(convergence_data(gain).best, np.maximum.accumulate(gain.values))
    np.testing.assert_array_equal(convergence_data(result).value, result.history.values[:, 0])
    assert plot_convergence(gain).get_ylabel() == "gain <b>"
    assert plot_convergence(result).get_ylabel() == "cost"
    names = np.array(importance_data(one_objective(result, "cost")).names)
    assert set(names) == {"n", "how", "same"}
    with pytest.raises(ValueError, match="name must be one of 'cost', 'gain <b>'"):
        one_objective(result, "loss")


def test_plots(result):
    ax = plot_front(result)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cost (minimize)", "gain <b> (maximize)")
    turned = plot_front(result, objectives=["gain <b>", "cost"])
    assert turned.get_xlabel() == "gain <b> (maximize)"
    x, y = plot_growth(result).lines[0].get_data()
    assert (len(x), y[-1]) == (60, result.hypervolume())
    assert len(plot_front_path(result).lines) == len(result.front)
    with pytest.raises(ValueError, match="objectives must be two names"):
        plot_front(result, objectives=["cost"])


def test_a_run_with_one_objective_has_no_front_to_plot():
    with pytest.raises(ValueError, match="several objectives"):
        plot_front(dc.minimize(sum, dc.Space.binary(3), budget=4, seed=0))


def payload(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])


def test_the_page_has_the_front_and_every_objective(result):
    data = payload(render_html(result))
    front = data["charts"]["front"]
    values = np.array(front["front_value"])
    np.testing.assert_array_equal(values, result.front.values)
    assert is_nondominated(values * [1, -1]).all()
    assert [one["name"] for one in data["charts"]["each"]] == list(TWO)
    assert data["summary"]["objectives"]["n_front"] == len(result.front)
    assert tuple(data["summary"]["objectives"]["knee"]) == result.fun
    best = data["summary"]["best"]
    assert both(result.history[best].point) == result.fun
    columns = data["table"]["values"]
    np.testing.assert_array_equal([column["number"] for column in columns], result.history.values.T)
    assert "objectives={'cost': 'minimize', 'gain <b>': 'maximize'}" in data["reproduction"]["command"]


def test_a_page_of_a_stored_run_and_of_one_without_a_front(tmp_path):
    def sometimes(point):
        if point["n"] > 15:
            raise ValueError("too many")
        return dc.Outcome(both(point), point["n"] - 5)

    path = tmp_path / "run.db"
    dc.minimize(sometimes, SPACE, budget=30, seed=0, objectives=TWO, store=path)
    write_html(dc.store.read(path), tmp_path / "report.html")
    data = payload((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert data["summary"]["n_failures"] > 0
    nothing = dc.minimize(lambda p: dc.Outcome(None, 1.0), SPACE, budget=12, seed=0, objectives=TWO)
    assert payload(render_html(nothing))["charts"]["front"]["front"] == []
