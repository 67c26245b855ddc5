"""Variables and spaces that are refused when they are defined, and what a definition keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dcmaes import Binary, Categorical, Float, Integer, Ordinal, Space


class TestDefinitions:
    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (lambda: Integer(5, 3), ValueError, "Integer: low must be at most high, got low=5, high=3"),
            (lambda: Integer(0.5, 3), TypeError, "Integer: low must be an integer, got 0.5"),
            (lambda: Integer(0, True), TypeError, "Integer: high must be an integer, got the boolean True"),
            (lambda: Integer(0, math.inf), TypeError, "Integer: high must be an integer, got inf"),
            (
                lambda: Integer(0, 2**53),
                ValueError,
                "Integer: at most 2**53 values fit, got 9007199254740993",
            ),
            (lambda: Integer(0, 2**63), ValueError, "Integer: high must be at most 9223372036854775807"),
            (
                lambda: Integer(0, 8, log=True),
                ValueError,
                "Integer: low must be at least 1 with log=True, got low=0",
            ),
            (lambda: Integer(1, 8, log=1), TypeError, "Integer: log must be True or False, got 1"),
            (lambda: Integer(1, 8, log=True, periodic=True), ValueError, "Integer: log and periodic cannot"),
            (lambda: Integer(0, 8, step=0), ValueError, "Integer: step must be at least 1, got 0"),
            (lambda: Integer(0, 8, step=0.5), TypeError, "Integer: step must be an integer, got 0.5"),
            (
                lambda: Integer(0, 8, step=9),
                ValueError,
                "Integer: step must be at most high - low, got step=9",
            ),
            (
                lambda: Integer(3, 90, step=5, log=True),
                ValueError,
                "Integer: low must be at least 5 with log=True, got low=3",
            ),
            (lambda: Float(0, 8, step=0), ValueError, "Float: step must be between 5e-324 and inf, got 0.0"),
            (lambda: Float(0, 8, step="1"), TypeError, "Float: step must be a number, got '1'"),
            (lambda: Float(0, 8, step=9), ValueError, "Float: step must be at most high - low, got step=9.0"),
            (lambda: Float(0, 1, step=1e-16), ValueError, "Float: step must be larger to tell values from"),
            (lambda: Float(0, 1, step=1e-300), ValueError, "Float: step must be larger to tell values from"),
            (
                lambda: Float(0.01, 1, step=0.1, log=True),
                ValueError,
                "Float: low must be at least 0.1 with log=True, got low=0.01",
            ),
            (
                lambda: Float(0, 1, step=0.3, periodic=True),
                ValueError,
                "Float: high - low must be a whole number of steps with periodic=True",
            ),
            (lambda: Float(1, 0), ValueError, "Float: low must be at most high, got low=1.0, high=0.0"),
            (lambda: Float(math.nan, 0), ValueError, "Float: low must be finite, got nan"),
            (lambda: Float(0, math.inf), ValueError, "Float: high must be finite, got inf"),
            (lambda: Float(0, "1"), TypeError, "Float: high must be a number, got '1'"),
            (
                lambda: Float(0, 1, log=True),
                ValueError,
                "Float: low must be positive with log=True, got low=0.0",
            ),
            (lambda: Float(-1e308, 1e308), ValueError, "Float: the range is beyond floating point"),
            (lambda: Float(1e-300, 1e300, log=True), ValueError, "Float: the range is beyond floating point"),
            (lambda: Ordinal([]), ValueError, "Ordinal: values must have at least one entry, got []"),
            (
                lambda: Ordinal([1, 2, 1]),
                ValueError,
                "Ordinal: values must be different from each other, got 1 more",
            ),
            (
                lambda: Categorical(["a", "a"]),
                ValueError,
                "Categorical: choices must be different from each other",
            ),
            (lambda: Categorical([[1], [1]]), ValueError, "got [1] more than once"),
            (lambda: Categorical([math.nan, -math.nan]), ValueError, "got nan more than once"),
            (
                lambda: Categorical("relu"),
                TypeError,
                "Categorical: choices must be a list or another sequence",
            ),
            (
                lambda: Categorical({"a", "b"}),
                TypeError,
                "Categorical: choices must be a list or another sequence",
            ),
            (lambda: Categorical(3), TypeError, "Categorical: choices must be a list or another sequence"),
            (
                lambda: Categorical(np.zeros((2, 2))),
                ValueError,
                "Categorical: choices must be one-dimensional",
            ),
        ],
    )
    def test_variables(self, make, error, message):
        with pytest.raises(error) as caught:
            make()
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (lambda: Space({}), ValueError, "a space must have at least one variable"),
            (lambda: Space({"a": 3}), TypeError, "variable 'a' must be one of Binary(), Integer(...)"),
            (lambda: Space({"a": Binary}), TypeError, "variable 'a' must be one of Binary(), Integer(...)"),
            (
                lambda: Space({1: Binary()}),
                TypeError,
                "names must be strings of at least one character, got 1",
            ),
            (
                lambda: Space({"": Binary()}),
                TypeError,
                "names must be strings of at least one character, got ''",
            ),
            (lambda: Space([("a", Binary()), ("a", Binary())]), ValueError, "got 'a' more than once"),
            (lambda: Space([Binary()]), TypeError, "use Space.array([...])"),
            (lambda: Space(Binary()), TypeError, "use Space.array([...])"),
            (lambda: Space.array([]), ValueError, "a space must have at least one variable"),
            (lambda: Space.array({"a": Binary()}), TypeError, "variables must be a list of variables"),
            (lambda: Space.array([Binary(), 3]), TypeError, "variable 1 must be one of"),
            (
                lambda: Space.array([Categorical([1, 2])]),
                TypeError,
                "variable 0 must be numeric in a space of arrays",
            ),
            (lambda: Space.array([Ordinal(["a"])]), TypeError, "variable 0 must have numbers as values"),
            (lambda: Space.array([Ordinal([0, True])]), TypeError, "variable 0 must have numbers as values"),
            (
                lambda: Space.array([Ordinal([1, 1.0])]),
                ValueError,
                "variable 0 must have values that are different",
            ),
            (
                lambda: Space.array([Ordinal([1, 2**53 + 1])]),
                ValueError,
                "variable 0 must have values that are",
            ),
            (
                lambda: Space.array([Ordinal([1, 10**400])]),
                ValueError,
                "variable 0 must have values that are",
            ),
            (
                lambda: Space.array([Ordinal([1, math.nan])]),
                ValueError,
                "variable 0 must have values that are",
            ),
            (
                lambda: Space.array([Float(0, 1), Integer(0, 2**60 + 1)]),
                ValueError,
                "Integer: at most 2**53 values",
            ),
            (
                lambda: Space.array([Float(0, 1), Integer(2**60, 2**60 + 1)]),
                ValueError,
                "variable 1 must be within",
            ),
            (lambda: Space.binary(0), ValueError, "n must be at least 1, got 0"),
            (lambda: Space.integers(2, 3, 1), ValueError, "Integer: low must be at most high"),
        ],
    )
    def test_spaces(self, make, error, message):
        with pytest.raises(error) as caught:
            make()
        assert message in str(caught.value)

    def test_arguments_are_copied(self):
        choices = ["a", "b"]
        variables = {"c": Categorical(choices)}
        space = Space(variables)
        choices.append("c")
        variables["d"] = Binary()
        assert space == Space({"c": Categorical(["a", "b"])})

    def test_variables_are_frozen(self):
        for variable, field in ((Integer(0, 1), "low"), (Float(0, 1), "low"), (Categorical([1]), "choices")):
            with pytest.raises(AttributeError):
                setattr(variable, field, 0)

    def test_arrays_as_values_become_python_numbers(self):
        assert [type(v) for v in Ordinal(2 ** np.arange(3)).values] == [int] * 3
        assert Ordinal(range(3)) == Ordinal([0, 1, 2])
