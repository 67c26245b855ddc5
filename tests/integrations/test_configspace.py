"""Spaces of ConfigSpace: the same points, the same conditions, the same forbidden ones."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ConfigSpace", reason="needs the extra configspace")

import ConfigSpace as cs

import dcmaes as dc
from dcmaes.integrations.configspace import from_configspace


def theirs(seed=0):
    """Every kind of hyperparameter, condition and forbidden clause."""
    space = cs.ConfigurationSpace(seed=seed)
    model = cs.CategoricalHyperparameter("model", ["svm", "forest", "line"], weights=[1, 1, 2])
    kernel = cs.CategoricalHyperparameter("kernel", ["linear", "rbf", "poly"])
    gamma = cs.UniformFloatHyperparameter("gamma", 1e-5, 1.0, log=True)
    degree = cs.UniformIntegerHyperparameter("degree", 2, 9)
    offset = cs.NormalFloatHyperparameter("offset", 0.0, 1.0, lower=-3.0, upper=3.0)
    trees = cs.UniformIntegerHyperparameter("trees", 10, 1000, log=True)
    size = cs.OrdinalHyperparameter("size", ["s", "m", "l", "xl"])
    large = cs.UniformFloatHyperparameter("large", 0.0, 1.0)
    other = cs.UniformIntegerHyperparameter("other", 0, 3)
    solver = cs.Constant("solver", "exact")
    space.add(model, kernel, gamma, degree, offset, trees, size, large, other, solver)
    space.add(
        cs.EqualsCondition(kernel, model, "svm"),
        cs.InCondition(gamma, kernel, ["rbf", "poly"]),
        cs.AndConjunction(
            cs.EqualsCondition(degree, kernel, "poly"), cs.LessThanCondition(degree, gamma, 0.5)
        ),
        cs.AndConjunction(
            cs.GreaterThanCondition(offset, degree, 3), cs.NotEqualsCondition(offset, degree, 7)
        ),
        cs.NotEqualsCondition(trees, model, "svm"),
        cs.GreaterThanCondition(large, size, "m"),
        cs.OrConjunction(cs.EqualsCondition(other, size, "s"), cs.EqualsCondition(other, size, "xl")),
    )
    space.add(
        cs.ForbiddenAndConjunction(
            cs.ForbiddenEqualsClause(model, "forest"), cs.ForbiddenInClause(size, ["m", "l"])
        ),
        cs.ForbiddenEqualsClause(degree, 5),
        cs.ForbiddenGreaterThanRelation(other, degree),
    )
    return space


def test_variables_and_conditions():
    space = from_configspace(theirs()).space
    variables = dict(zip(space.names, space.variables, strict=True))
    # Their default is the choice with the largest weight.
    assert variables["model"] == dc.Categorical(["svm", "forest", "line"], default="line", prior=[1, 1, 2])
    gamma = theirs()["gamma"].default_value
    assert variables["gamma"] == dc.Float(
        1e-5, 1.0, log=True, default=gamma, when={"kernel": ["rbf", "poly"]}
    )
    assert variables["degree"].when == {"kernel": "poly", "gamma": {"high": np.nextafter(0.5, 0)}}
    assert variables["offset"] == dc.Float(-3.0, 3.0, default=0.0, when={"degree": [4, 5, 6, 8, 9]})
    assert variables["trees"] == dc.Integer(
        10, 1000, log=True, default=100, when={"model": ["forest", "line"]}
    )
    assert variables["large"].when == {"size": ["l", "xl"]}
    assert variables["other"].when == {"size": ["s", "xl"]}
    assert variables["solver"] == dc.Categorical(["exact"])


def test_runs_start_with_their_default():
    converted = from_configspace(theirs())
    assert converted.space.default == converted.default
    result = dc.minimize(len, converted.space, budget=3, seed=0, constraints=converted.constraints)
    assert result.history[0].point == converted.default


def test_a_choice_that_is_ruled_out_by_its_weight_is_unlikely():
    space = cs.ConfigurationSpace()
    space.add(cs.CategoricalHyperparameter("a", ["x", "y", "z"], weights=[2, 0, 6], default_value="x"))
    (variable,) = from_configspace(space).space.variables
    assert variable == dc.Categorical(["x", "y", "z"], default="x", prior=[2, 0.02, 6])


def test_a_default_that_was_rounded_beyond_a_bound():
    space = cs.ConfigurationSpace()
    space.add(cs.UniformFloatHyperparameter("a", 1 / 3, 1 / 3 + 1e-12))
    (variable,) = from_configspace(space).space.variables
    assert variable.low <= variable.default <= variable.high


def test_their_points_are_ours():
    converted = from_configspace(theirs())
    for configuration in theirs(seed=3).sample_configuration(300):
        point = {
            name: value.item() if hasattr(value, "item") else value for name, value in configuration.items()
        }
        assert converted.space.contains(point)
        assert not any(constraint(point) for constraint in converted.constraints)


def test_our_points_are_theirs_unless_forbidden():
    converted, space = from_configspace(theirs()), theirs()
    n_forbidden = 0
    for point in converted.space.sample(np.random.default_rng(0), 300):
        if any(constraint(point) for constraint in converted.constraints):
            n_forbidden += 1
            with pytest.raises(cs.ForbiddenValueError):
                cs.Configuration(space, values=point)
        else:
            cs.Configuration(space, values=point)
    assert 20 < n_forbidden < 150


def test_a_run():
    converted = from_configspace(theirs())
    seen = []

    def objective(point):
        seen.append(cs.Configuration(theirs(), values=dict(point)))
        return point.get("gamma", 1.0) + len(point)

    result = dc.minimize(
        objective,
        converted.space,
        budget=40,
        seed=0,
        constraints=converted.constraints,
        x0=converted.default,
    )
    assert result.nfev == len(seen) == 40
    assert result.n_failures == 0
    assert result.history[0].point == converted.default


def test_conditions_that_cannot_be_expressed_are_named():
    space = cs.ConfigurationSpace({"a": ["x", "y"], "b": (0, 9), "c": (0.0, 1.0), "d": (0.0, 1.0)})
    either = cs.OrConjunction(
        cs.EqualsCondition(space["c"], space["a"], "x"), cs.EqualsCondition(space["c"], space["b"], 3)
    )
    space.add(either)
    with pytest.raises(
        ValueError, match=r"'c' cannot be expressed: it joins conditions on 'a', 'b' by \"or\""
    ):
        from_configspace(space)
    space = cs.ConfigurationSpace({"c": (0.0, 1.0), "d": (0.0, 1.0)})
    space.add(cs.NotEqualsCondition(space["c"], space["d"], 0.5))
    with pytest.raises(ValueError, match="'c' cannot be expressed: 'd' has too many values"):
        from_configspace(space)
    with pytest.raises(TypeError, match=r"must be a ConfigSpace\.ConfigurationSpace, got 3"):
        from_configspace(3)
