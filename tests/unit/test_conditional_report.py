"""Reports and plots of runs over spaces with conditions: what is inactive has no value there."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from conditional_spaces import estimators

import dcmaes as dc
from dcmaes.report import (
    coordinates_data,
    importance_data,
    marginals_data,
    plot_coordinates,
    plot_marginals,
    render_html,
)
from dcmaes.report._run import read_run


def objective(point):
    if point["model"] == "forest":
        return abs(point["depth"] - 8) + 0.1 * point.get("bootstrap", 0)
    return 5 + point["penalty"] + point.get("gamma", 0)


@pytest.fixture(scope="module")
def result():
    return dc.minimize(objective, estimators(), budget=90, seed=0)


def test_positions_are_missing_where_variables_are_inactive(result):
    run = read_run(result)
    is_there = [[name in point for name in run.space.names] for point in result.history.points]
    np.testing.assert_array_equal(~np.isnan(run.position), is_there)
    data = coordinates_data(result)
    np.testing.assert_array_equal(~np.isnan(data.position), np.array(is_there)[data.index])


def test_marginals_count_what_is_active(result):
    points, names = result.history.points, estimators().names
    panels = {panel.title: panel for panel in marginals_data(result).panels}
    heat = panels["depth"]
    shares = np.array([[p.get("depth") == row for p in points] for row in (2, 4, 8, 16)])
    n_periods = heat.share.shape[1]
    edges = np.linspace(0, len(points), n_periods + 1).round().astype(int)
    expected = [shares[:, a:b].mean(axis=1) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(heat.share.T, expected)
    assert heat.best == (2,)
    band = panels["gamma"]
    has_gamma = [any("gamma" in p for p in points[a:b]) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(~np.isnan(band.quantile[0]), has_gamma)
    assert [text == "" for text in band.texts[2]] == [not here for here in has_gamma]
    assert band.best is None
    binaries = next(panel for title, panel in panels.items() if title.startswith("binary variables"))
    assert binaries.rows == ("bootstrap", "scale")
    assert set(panels) == {*names, binaries.title} - {"bootstrap", "scale"}


def test_importance_is_that_of_active_variables(result):
    data = importance_data(result)
    share = dict(zip(data.names, data.share, strict=True))
    assert max(share, key=share.get) in ("model", "depth")
    assert share["offset"] < 0.1


def test_figures_are_drawn(result):
    import matplotlib.pyplot as plt

    ax = plot_coordinates(result)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(coordinates_data(result).names)
    figure = plot_marginals(result)
    assert any(ax.has_data() for ax in figure.axes)
    plt.close("all")


def test_the_page_shows_what_is_there(result):
    text = render_html(result)
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S)[1])
    assert [row[0] for row in data["summary"]["point"]] == list(result.x)
    columns = {column["name"]: column for column in data["table"]["variables"]}
    for i, point in enumerate(result.history.points):
        for name, column in columns.items():
            is_there = column["labels"][column["which"][i]] if "labels" in column else column["number"][i]
            assert (is_there not in ("", None)) == (name in point)
