"""Spaces as plain data: nothing is lost through JSON, and mistakes in a file are named."""

from __future__ import annotations

import json
import math
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcmaes import Binary, Categorical, Float, Integer, Ordinal, Space

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


def through_json(space):
    return Space.from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False)))


def typed(value):
    """A form in which equality also compares types and signs."""
    if isinstance(value, (list, tuple)):
        return (type(value), [typed(entry) for entry in value])
    return (type(value), repr(value))


class TestRoundTrip:
    @settings(max_examples=300)
    @given(plain_values)
    def test_every_plain_choice_keeps_value_and_type(self, value):
        space = Space({"c": Categorical([value, "another choice"]), "o": Ordinal(["another value", value])})
        back = through_json(space)
        assert back == space
        assert typed(back.variables[0].choices[0]) == typed(value)
        assert typed(back.variables[1].values[1]) == typed(value)

    def test_look_alikes_stay_apart(self):
        choices = [1, True, 1.0, "1", (1,), [1], "inf", math.inf, None, "None", 10**30]
        back = through_json(Space({"c": Categorical(choices)}))
        assert [typed(c) for c in back.variables[0].choices] == [typed(c) for c in choices]

    @pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.float64])
    def test_numpy_scalars(self, kind):
        space = Space({"c": Categorical([kind(0), kind(1)])})
        assert [type(c) for c in through_json(space).variables[0].choices] == [kind, kind]
        assert through_json(space) == space

    @pytest.mark.parametrize(
        "variable",
        [
            Binary(),
            Integer(-(2**63), -(2**63) + 5),
            Integer(3, 3, periodic=True),
            Integer(1, 10**9, log=True),
            Float(0.1, 0.30000000000000004),
            Float(5e-324, 1e-20, log=True),
            Float(-1, 1, periodic=True),
            Integer(0, 96, step=32),
            Integer(64, 512, step=64, log=True),
            Float(0, 1, step=0.05),
            Float(0, 360, step=15, periodic=True),
        ],
    )
    def test_variables(self, variable):
        assert through_json(Space({"v": variable})).variables == (variable,)
        assert through_json(Space({"array": variable})) == Space({"array": variable})

    def test_steps_are_in_the_data(self):
        space = Space({"n": Integer(0, 100, step=30), "f": Float(0, 1, step=0.1), "plain": Integer(0, 9)})
        assert space.to_dict() == {
            "n": {"type": "integer", "low": 0, "high": 90, "step": 30},
            "f": {"type": "float", "low": 0.0, "high": 1.0, "step": 0.1},
            "plain": {"type": "integer", "low": 0, "high": 9},
        }

    def test_positional(self):
        space = Space.array([Integer(0, 9), Integer(0, 9), Float(0, 1), Binary(), Binary(), Integer(0, 9)])
        assert [entry.get("repeat") for entry in space.to_dict()["array"]] == [2, None, 2, None]
        assert through_json(space) == space
        assert len(Space.binary(100_000).to_dict()["array"]) == 1

    def test_form_of_a_specification_file(self):
        text = """
        lr     = { type = "float", low = 1e-5, high = 1e-1, log = true }
        layers = { type = "integer", low = 1, high = 8 }
        act    = { type = "categorical", choices = ["relu", "gelu"] }
        batch  = { type = "ordinal", values = [16, 32, 64] }
        norm   = { type = "binary" }
        hour   = { type = "integer", low = 0, high = 23, periodic = true }
        """
        space = Space(
            {
                "lr": Float(1e-5, 1e-1, log=True),
                "layers": Integer(1, 8),
                "act": Categorical(["relu", "gelu"]),
                "batch": Ordinal([16, 32, 64]),
                "norm": Binary(),
                "hour": Integer(0, 23, periodic=True),
            }
        )
        assert Space.from_dict(tomllib.loads(text)) == space
        assert space.to_dict() == tomllib.loads(text)


class TestRefused:
    @pytest.mark.parametrize(
        "value", [object(), {"a": 1}, {1}, 1j, print, np.arange(2), np.str_("a"), [(1j,)]]
    )
    def test_choices_that_are_not_plain(self, value):
        space = Space({"fine": Binary(), "thing": Categorical([value, 1])})
        with pytest.raises(TypeError, match="'thing' cannot be written as plain data because of"):
            space.to_dict()

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            (
                {"type": "int", "low": 0, "high": 1},
                ValueError,
                "'v': type must be one of 'binary', 'integer'",
            ),
            ({"type": "integr", "low": 0, "high": 1}, ValueError, "got 'integr'; did you mean 'integer'?"),
            ({"low": 0, "high": 1}, ValueError, "got None"),
            ({"type": ["integer"]}, ValueError, "got ['integer']"),
            ({"type": "integer", "low": 0}, ValueError, "'v': 'high' is missing, which type 'integer' needs"),
            (
                {"type": "integer", "low": 0, "hihg": 1},
                ValueError,
                "'hihg' is not a key of type 'integer' (known: low, high, log, periodic, step, default, when",
            ),
            (
                {"type": "binary", "low": 0},
                ValueError,
                "'v': 'low' is not a key of type 'binary' (known: default, prior, when)",
            ),
            ({"type": "binary", "repeat": 2}, ValueError, "'v': 'repeat' is not a key of type 'binary'"),
            ({"type": "integer", "low": 3, "high": 1}, ValueError, "'v': Integer: low must be at most high"),
            (
                {"type": "integer", "low": 0.0, "high": 1},
                TypeError,
                "'v': Integer: low must be an integer, got 0.0",
            ),
            (
                {"type": "float", "low": 0, "high": 1, "log": "yes"},
                TypeError,
                "'v': Float: log must be True or False",
            ),
            (
                {"type": "categorical", "choices": "abc"},
                TypeError,
                "'v': Categorical: choices must be a list",
            ),
            (
                {"type": "categorical", "choices": []},
                ValueError,
                "'v': Categorical: choices must have at least one",
            ),
            (
                {"type": "categorical", "choices": [{"a": 1}]},
                ValueError,
                "'v': a value must be None, a string",
            ),
            ({"type": "categorical", "choices": [{"float": "1"}]}, ValueError, "'v': a value must be None"),
            ([0, 1], TypeError, "'v' must be a table such as"),
        ],
    )
    def test_mistakes_are_named(self, data, error, message):
        with pytest.raises(error) as caught:
            Space.from_dict({"fine": {"type": "binary"}, "v": data})
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            ([], TypeError, "a space must be described by a dict, got []"),
            ({}, ValueError, "a space must have at least one variable"),
            ({"array": []}, ValueError, "a space must have at least one variable"),
            ({"array": [3]}, TypeError, "array[0] must be a table such as"),
            (
                {"array": [{"type": "binary", "repeat": 0}]},
                ValueError,
                "array[0]: repeat must be at least 1, got 0",
            ),
            ({"array": [{"type": "binary"}, {"type": "x"}]}, ValueError, "array[1]: type must be one of"),
            ({3: {"type": "binary"}}, TypeError, "names must be strings of at least one character, got 3"),
        ],
    )
    def test_mistakes_in_the_whole(self, data, error, message):
        with pytest.raises(error) as caught:
            Space.from_dict(data)
        assert message in str(caught.value)

    def test_data_are_not_changed(self):
        data = {"array": [{"type": "binary", "repeat": 3}]}
        Space.from_dict(data)
        assert data == {"array": [{"type": "binary", "repeat": 3}]}
