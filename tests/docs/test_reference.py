"""The reference describes every parameter of the functions that people call first, with its type."""

import inspect
import re

import pytest

import dcmaes


@pytest.mark.parametrize("function", [dcmaes.minimize, dcmaes.resume, dcmaes.Optimizer])
def test_every_parameter_has_a_type_and_a_description(function):
    text = inspect.getdoc(function)
    section = text[text.index("Parameters\n----------\n") :]
    described = re.findall(r"^(\w+) : .+\n    \S", section, re.MULTILINE)
    assert set(described) == set(inspect.signature(function).parameters)
