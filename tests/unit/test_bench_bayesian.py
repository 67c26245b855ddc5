"""How the adapters of Bayesian optimizers say what the variables are; none of their packages is needed."""

from __future__ import annotations

import ConfigSpace
import numpy as np
import pytest

from dcmaes_bench import Domain
from dcmaes_bench._peers import _bayesian as bayesian

SPECS = (
    {"type": "integer", "low": 4, "high": 64, "log": True},
    {"type": "integer", "low": -3, "high": 3},
    {"type": "categorical", "choices": ["a", "b", "c"]},
    {"type": "float", "low": 1e-4, "high": 1.0, "log": True},
    {"type": "float", "low": -2.0, "high": 2.0},
    {"type": "ordinal", "values": [1, 10, 100]},
    {"type": "integer", "low": 7, "high": 7},
)
DOMAIN = Domain.of_specs(SPECS)


def test_numbers_are_coded_on_their_own_scale_and_choices_as_they_are():
    point = np.array([16.0, 0.0, 2.0, 1e-2, 1.0, 1.0, 7.0])
    assert bayesian._unit(DOMAIN, point) == pytest.approx([0.5, 0.5, 2.0, 0.5, 0.75, 0.5, 0.0])


def test_every_state_survives_coding():
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(DOMAIN.is_discrete):
        coded = bayesian._unit_states(DOMAIN, i)
        assert len(coded) == DOMAIN.n_states[i]
        assert coded[0] == 0.0
        assert coded[-1] in (0.0, 1.0, 2.0)  # exactly: BoTorch compares it with the bound
        for state, value in enumerate(coded):
            point = DOMAIN.sample(rng)
            point[i] = DOMAIN.low[i] + state
            u = bayesian._unit(DOMAIN, point)
            assert u[i] == value
            assert bayesian._from_unit(DOMAIN, u) == pytest.approx(point)


def test_states_of_a_log_scale_lie_closer_at_its_upper_end():
    steps = np.diff(bayesian._unit_states(DOMAIN, 0))
    assert (np.diff(steps) < 0).all()
    assert np.diff(bayesian._unit_states(DOMAIN, 1)) == pytest.approx(np.full(6, 1 / 6))


def test_hebo_is_told_types_and_scales():
    found = [bayesian._hebo_variable(DOMAIN, i) for i in range(DOMAIN.dimension)]
    assert [one["type"] for one in found] == ["pow_int", "int", "cat", "pow", "num", "int", "cat"]
    assert (found[0]["lb"], found[0]["ub"], found[2]["categories"]) == (4, 64, [0, 1, 2])


def test_smac_is_told_types_scales_and_conditions():
    found = [bayesian._smac_variable(ConfigSpace, DOMAIN, i) for i in range(DOMAIN.dimension)]
    names = [type(one).__name__.removesuffix("Hyperparameter") for one in found]
    integer, choice, real = "UniformInteger", "Categorical", "UniformFloat"
    assert names == [integer, integer, choice, real, real, integer, choice]
    assert [bool(getattr(one, "log", False)) for one in found] == [True, False, False, True, *[False] * 3]
    settings = ConfigSpace.ConfigurationSpace(seed=0)
    settings.add(found)
    settings.add(bayesian._smac_condition(ConfigSpace, settings, 4, {2: [0.0, 1.0], 5: [2.0]}))
    points = [dict(one) for one in settings.sample_configuration(100)]
    assert [("x4" in one) for one in points] == [one["x2"] != 2 and one["x5"] == 2 for one in points]


def test_neighbours_differ_in_at_most_one_variable():
    rng = np.random.default_rng(1)
    point = DOMAIN.sample(rng)
    near = bayesian._one_change(DOMAIN, point, 200, rng)
    differs = near != point
    assert all(DOMAIN.contains(one) for one in near)
    assert set(differs.sum(axis=1)) == {0, 1}  # a discrete variable may be drawn as it was
    assert differs.any(axis=0).tolist() == [True] * 6 + [False]  # the last one has a single state
    assert bayesian._is_among(point, [near[0], point])
    assert not bayesian._is_among(point, list(near[differs.any(axis=1)]))
