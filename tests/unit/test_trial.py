"""Trials are read-only but pleasant to use; whatever is told of them becomes a reading."""

from __future__ import annotations

import copy
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.run._trial import FrozenPoint, read


@pytest.fixture
def trial():
    space = dc.Space({"n": dc.Integer(1, 9), "act": dc.Categorical(["relu", "gelu"])})
    return dc.Optimizer(space, budget=5, seed=0, strategy="random").ask(1)[0]


def test_a_named_point_refuses_every_change(trial):
    before = dict(trial.point)
    for change in (
        lambda p: p.__setitem__("n", 1),
        lambda p: p.__delitem__("n"),
        lambda p: p.update(n=1),
        lambda p: p.pop("n"),
        lambda p: p.popitem(),
        lambda p: p.clear(),
        lambda p: p.setdefault("m", 1),
        lambda p: p.__ior__({"n": 1}),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change(trial.point)
    assert trial.point == before
    with pytest.raises(AttributeError):
        trial.point = {}


def test_a_named_point_is_used_like_a_dict(trial):
    point = trial.point
    assert json.loads(json.dumps(point)) == dict(**point) == point
    sent = pickle.loads(pickle.dumps(point))  # noqa: S301
    for plain in (sent, copy.copy(point), copy.deepcopy(point), point | {}):
        assert type(plain) is dict
        assert plain == point
    assert isinstance(point, FrozenPoint)


def test_an_array_point_refuses_writes():
    trial = dc.Optimizer(dc.Space.binary(4), budget=5, seed=0).ask(1)[0]
    with pytest.raises(ValueError, match="read-only"):
        trial.point[0] = 1


@pytest.mark.parametrize(
    ("told", "value"),
    [
        (1, 1.0),
        (True, 1.0),
        (-0.5, -0.5),
        (1e300, 1e300),
        (np.float32(0.25), 0.25),
        (np.int8(-3), -3.0),
        (np.array(2.0), 2.0),
        (np.array([[2.0]]), 2.0),
        (Fraction(1, 4), 0.25),
        (Decimal("0.5"), 0.5),
    ],
)
def test_numbers_are_read(told, value):
    reading = read(told)
    assert (reading.value, reading.violation, reading.reason) == (value, 0.0, None)
    assert type(reading.value) is float


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (math.nan, "not finite: nan"),
        (math.inf, "not finite: inf"),
        (-math.inf, "not finite: -inf"),
        (np.float64("nan"), "not finite: nan"),
        (10**400, "a number too large for a float"),
        (None, "no number: None (is a return missing?)"),
        ("0.5", "no number: the string '0.5'"),
        (b"1", "no number: the string b'1'"),
        (np.str_("1"), "no number: the string"),
        (np.zeros(3), "no number: an array of shape (3,)"),
        (np.zeros(0), "no number: an array of shape (0,)"),
        ([0.5], "no number: an object of type list"),
        ({"loss": 1}, "no number: an object of type dict"),
        (1j, "no real number: 1j"),
        (np.complex128(1), "no real number"),
        (np.array(None), "no number: an object of type NoneType"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (KeyError(), "KeyError"),
        (dc.Outcome(math.nan), "not finite: nan"),
        (dc.Outcome(1.0, math.nan), "violation is not finite: nan"),
        (dc.Outcome(1.0, None), "violation is no number: None"),
        (dc.Outcome("x", 0.0), "no number: the string 'x'"),
    ],
)
def test_everything_else_is_a_failure_with_its_reason(told, reason):
    reading = read(told)
    assert math.isnan(reading.value)
    assert reading.violation == math.inf
    assert reading.reason.startswith(reason)


def test_outcomes_are_read():
    assert read(dc.Outcome(2, 0.5))[:3] == (2.0, 0.5, None)
    assert read(dc.Outcome(2, -1.0))[:3] == (2.0, 0.0, None)
    infeasible = read(dc.Outcome(None, 0.5))
    assert math.isnan(infeasible.value)
    assert infeasible.violation == 0.5
    assert infeasible.reason is None


def test_a_long_reason_is_cut_and_a_broken_exception_described():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    assert len(read(ValueError("x" * 10_000)).reason) == 500
    assert read(Broken()).reason == "Broken: (its message cannot be shown)"
