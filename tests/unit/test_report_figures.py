"""Every plot of every kind of run is drawn, on axes of one's own if wanted."""

import math
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest

import dcmaes as dc
from dcmaes import report
from dcmaes.report._drawing import short_names

mpl.use("Agg")
from matplotlib import pyplot as plt  # the backend comes first

ON_AXES = {
    "convergence": report.plot_convergence,
    "coordinates": report.plot_coordinates,
    "correlations": report.plot_correlations,
    "importance": report.plot_importance,
    "interaction graph": report.plot_interaction_graph,
    "interactions": report.plot_interactions,
    "timeline": report.plot_timeline,
}


def mixed(budget, **options):
    space = dc.Space(
        {
            "$lr$_{}": dc.Float(1e-5, 1e-1, log=True),
            "a name that is much too long for an axis": dc.Integer(0, 10**6),
            "act": dc.Categorical(["<script>", "$x^$", "a\nb"]),
            "norm": dc.Binary(),
            "hour": dc.Integer(0, 23, periodic=True),
        }
    )

    def objective(p):
        if p["hour"] == 3:
            raise ValueError("three o'clock")
        return dc.Outcome(abs(math.log10(p["$lr$_{}"]) + 3) + p["norm"], float(p["hour"] > 20))

    return dc.maximize(objective, space, budget=budget, seed=0, **options)


RUNS = {
    "mixed": lambda: mixed(120),
    "correlated": lambda: mixed(120, strategy="cma"),
    "one evaluation": lambda: mixed(1),
    "none": lambda: dc.Optimizer(dc.Space.binary(3), budget=3).result(),
    "all failed": lambda: dc.minimize(lambda x: math.nan, dc.Space.integers(3, 0, 9), budget=9, seed=0),
    "all infeasible": lambda: dc.minimize(
        lambda x: dc.Outcome(1.0, 1.0 + x[0]), dc.Space.integers(3, 0, 9), budget=9, seed=0
    ),
    "200 variables": lambda: dc.minimize(sum, dc.Space.integers(200, 0, 9), budget=100, seed=0),
    "200 bits": lambda: dc.minimize(sum, dc.Space.binary(200), budget=300, seed=0, strategy="cma"),
}


@cache
def run(name):
    return RUNS[name]()


@pytest.fixture(params=RUNS)
def result(request):
    return run(request.param)


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")  # those of doctests in the same process
    yield
    plt.close("all")


@pytest.mark.parametrize("plot", ON_AXES.values(), ids=ON_AXES)
def test_plots_of_every_run_are_drawn_in_a_new_figure_or_say_why_there_is_nothing(plot, result):
    ax = plot(result)
    ax.figure.canvas.draw()
    assert plt.get_fignums() == [ax.figure.number]
    assert ax.has_data() or ax.get_xlabel()


@pytest.mark.parametrize("plot", ON_AXES.values(), ids=ON_AXES)
def test_plots_are_drawn_on_given_axes(plot):
    _, ax = plt.subplots()
    assert plot(mixed(30), ax=ax) is ax
    ax.figure.canvas.draw()
    assert len(plt.get_fignums()) == 1


def test_marginals_are_drawn(result):
    figure = report.plot_marginals(result)
    figure.canvas.draw()
    assert bool(figure.axes) == (len(result.history) > 0)


def test_one_marginal_on_given_axes():
    _, ax = plt.subplots()
    assert report.plot_marginal(mixed(30), "act", ax=ax) is ax
    ax.figure.canvas.draw()


def test_what_is_left_out_is_said():
    result = run("200 variables")
    label = report.plot_importance(result).get_xlabel()
    assert "180 less important variables not shown" in label.replace("\n", " ")
    assert "176 less" in report.plot_marginals(result).get_supxlabel()
    assert "184 less" in report.plot_coordinates(result).get_xlabel()


def test_no_plot_needs_colour_alone():
    ax = report.plot_convergence(mixed(120))
    markers = [line.get_marker() for line in ax.lines if line.get_marker() != "None"]
    assert len(set(markers)) == len(markers) == 3


def test_names_that_begin_alike_are_told_apart():
    names = [f"node-{i:03}.cluster.example.org:4711" for i in range(12)]
    alike = ["a" * 30, "a" * 31, "b"]
    for some in (names, [name[::-1] for name in names], [f"{name}-{name}" for name in names], alike):
        short = short_names(some)
        assert len(set(short)) == len(some)
        assert max(len(name) for name in short) <= 18
    assert short_names(["one name that is much too long"]) == ["one name …too long"]


def test_the_graph_has_a_legend_with_numbers():
    def objective(x):
        return float(x[0] * x[1] + 3 * x[2] * x[3])

    result = dc.minimize(objective, dc.Space.integers(5, -5, 5), budget=80, seed=0)
    legend = report.plot_interaction_graph(result).get_legend()
    strongest = result.interactions()[0]
    assert strongest.is_certain
    assert legend.get_texts()[0].get_text() == f"{strongest.strength:.4g}"
    nothing = dc.minimize(sum, dc.Space.binary(10), budget=40, seed=0)
    assert report.plot_interaction_graph(nothing).get_legend() is None
    assert "No interaction worth showing" in report.plot_interactions(nothing).get_xlabel()


def test_limits_are_checked():
    result = mixed(1)
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        report.plot_importance(result, limit=0)


def test_drawing_leaves_the_data_alone():
    result = mixed(40)
    before = result.history.values.copy()
    report.plot_convergence(result)
    np.testing.assert_array_equal(result.history.values, before)
