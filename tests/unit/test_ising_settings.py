"""Settings of `ising` are an object that the strategy has: passed on, kept in its options, not in states."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import FrontSearch, IsingSearch, make_strategy
from dcmaes.strategies.front import FrontSettings
from dcmaes.strategies.ising import IsingSettings

OTHERS = replace(IsingSettings(), radii=(1.0, 2.0), keep=0.8, middle=1.0)


def asked(strategy, n=40):
    """Return the points of a run, and its optimizer."""
    opt, points = dc.Optimizer(dc.Space.integers(4, -9, 9), budget=100, seed=3, strategy=strategy), []
    while opt.n_evaluations < n:
        for trial in opt.ask():
            points.append(trial.point)
            opt.tell(trial, float((trial.point**2).sum()))
    return np.array(points), opt


def test_settings_change_what_is_proposed():
    usual, _ = asked(IsingSearch())
    others, _ = asked(IsingSearch(settings=OTHERS))
    same, _ = asked(IsingSearch(settings=IsingSettings()))
    assert usual.tolist() == same.tolist()
    assert usual.tolist() != others.tolist()


def test_options_have_what_differs_and_make_the_same_strategy():
    assert "settings" not in IsingSearch().options()
    options = json.loads(json.dumps(IsingSearch(settings=OTHERS).options()))
    assert options["settings"] == {"radii": [1.0, 2.0], "keep": 0.8, "middle": 1.0}
    assert make_strategy("ising", options).settings == OTHERS


def test_settings_of_several_objectives_have_those_of_the_regressions_in_them():
    others = FrontSettings(regression=OTHERS, expected=((1.0, 2.0),) * 3, n_draws=1)
    options = json.loads(json.dumps(FrontSearch(settings=others).options()))
    assert options["settings"]["regression"]["keep"] == 0.8
    assert make_strategy("front", options).settings == others
    assert FrontSearch().options() == {}


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError, match="radius"):
        IsingSearch(settings={"radius": 1.0})


def test_a_run_goes_on_with_its_settings(tmp_path):
    _, opt = asked(IsingSearch(settings=OTHERS))
    opt.save(tmp_path / "run.db")
    again = dc.Optimizer.load(tmp_path / "run.db")
    for one, other in zip(opt.ask(8), again.ask(8), strict=True):
        np.testing.assert_array_equal(one.point, other.point)
    assert again._run.search.state.settings == again._run.search.state.blame.settings == OTHERS
