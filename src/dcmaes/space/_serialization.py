"""Spaces as plain data, the form they have in specification files and saved runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from inspect import signature
from itertools import groupby
from typing import Any

import numpy as np

from dcmaes._validation import check_integer, shown, suggestion
from dcmaes.space._choices import MAX_NESTING
from dcmaes.space._ranges import Float, Integer
from dcmaes.space._variables import MAX_VARIABLES, Binary, Categorical, Ordinal, Variable

KINDS: dict[str, type[Variable]] = {
    "binary": Binary,
    "integer": Integer,
    "ordinal": Ordinal,
    "categorical": Categorical,
    "float": Float,
}
_SIGNATURES = {kind: signature(variable).parameters for kind, variable in KINDS.items()}
# Which keys each kind must have, and which it may have besides.
REQUIRED = {
    kind: [name for name, one in parameters.items() if one.default is one.empty]
    for kind, parameters in _SIGNATURES.items()
}
ALLOWED = {kind: tuple(parameters) for kind, parameters in _SIGNATURES.items()}


def space_to_dict(names: Sequence[str] | None, variables: Sequence[Variable]) -> dict[str, Any]:
    """Return the plain data of a space.

    >>> space_to_dict(None, [Binary(), Binary()])
    {'array': [{'type': 'binary', 'repeat': 2}]}
    """
    if names is not None:
        return {name: _variable_to_dict(name, v) for name, v in zip(names, variables, strict=True)}
    runs = [(variable, sum(1 for _ in run)) for variable, run in groupby(variables)]
    described = [_variable_to_dict(f"run {i}", variable) for i, (variable, _) in enumerate(runs)]
    for data, (_, n_repeats) in zip(described, runs, strict=True):
        if n_repeats > 1:
            data["repeat"] = n_repeats
    return {"array": described}


def space_from_dict(data: Any) -> tuple[list[str] | None, list[Variable]]:
    """Return the names (None for a positional space) and the variables that plain data describe.

    >>> space_from_dict({"norm": {"type": "binary"}})
    (['norm'], [Binary()])
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"a space must be described by a dict, got {shown(data)}")
    if set(data) == {"array"} and isinstance(data["array"], (list, tuple)):
        variables: list[Variable] = []
        for i, entry in enumerate(data["array"]):
            entry = dict(entry) if isinstance(entry, Mapping) else entry
            repeat = entry.pop("repeat", 1) if isinstance(entry, dict) else 1
            variable = _variable_from_dict(f"array[{i}]", entry)
            repeat = check_integer(f"array[{i}]: repeat", repeat, low=1, high=MAX_VARIABLES)
            variables += [variable] * repeat
        return None, variables
    return list(data), [_variable_from_dict(repr(name), entry) for name, entry in data.items()]


def _variable_to_dict(name: str, variable: Variable) -> dict[str, Any]:
    kind = type(variable).__name__.lower()
    data: dict[str, Any] = {"type": kind}
    for key in REQUIRED[kind]:
        value = getattr(variable, key)
        is_listed = key in ("values", "choices")
        data[key] = [_value_to_plain(name, entry) for entry in value] if is_listed else value
    options = variable.options
    if "default" in options:
        options["default"] = _value_to_plain(name, variable.default)
    if variable.when is not None:
        options["when"] = {key: _when_to_plain(name, allowed) for key, allowed in variable.when.items()}
    return data | options


def _variable_from_dict(name: str, data: Any) -> Variable:
    if not isinstance(data, Mapping):
        raise TypeError(
            f"{name} must be a table such as {{type = 'integer', low = 0, high = 9}}, got {shown(data)}"
        )
    kind = data.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        wanted = f"{name}: type must be one of {', '.join(map(repr, KINDS))}"
        raise ValueError(f"{wanted}; got {shown(kind)}{suggestion(kind, KINDS)}")
    allowed = ALLOWED[kind]
    for key in data:
        if key not in ("type", *allowed):
            known = f"known: {', '.join(allowed)}"
            raise ValueError(
                f"{name}: {key!r} is not a key of type {kind!r} ({known}){suggestion(key, allowed)}"
            )
    for key in REQUIRED[kind]:
        if key not in data:
            raise ValueError(f"{name}: {key!r} is missing, which type {kind!r} needs")
    arguments = {key: data[key] for key in allowed if key in data}
    try:
        for key in ("values", "choices"):
            if isinstance(arguments.get(key), (list, tuple)):
                arguments[key] = [_value_from_plain(value) for value in arguments[key]]
        if "default" in arguments:
            arguments["default"] = _value_from_plain(arguments["default"])
        if isinstance(arguments.get("when"), Mapping):
            arguments["when"] = {key: _when_from_plain(entry) for key, entry in arguments["when"].items()}
        return KINDS[kind](**arguments)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _when_to_plain(name: str, allowed: Any) -> Any:
    """Return what a condition says of one variable as plain data: a range as it is, values one by one."""
    return dict(allowed) if isinstance(allowed, dict) else _value_to_plain(name, allowed)


def _when_from_plain(data: Any) -> Any:
    is_range = isinstance(data, Mapping) and set(data) <= {"low", "high"}
    return data if is_range else _value_from_plain(data)


def _value_to_plain(name: str, value: Any) -> Any:
    """Return a choice as plain data: itself where JSON keeps its type, otherwise a dict with its type."""
    if type(value) is float and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) is list:
        return [_value_to_plain(name, entry) for entry in value]
    if type(value) is tuple:
        return {"tuple": [_value_to_plain(name, entry) for entry in value]}
    if isinstance(value, (np.bool_, np.integer, np.floating)) and value.dtype.itemsize <= 8:
        return {value.dtype.name: _value_to_plain(name, value.item())}
    raise TypeError(
        f"{name!r} cannot be written as plain data because of {value!r}: only None, strings, numbers, and "
        "lists or tuples of those can; use names as choices, and look the objects up in the objective"
    )


def _value_from_plain(data: Any, depth: int = 0) -> Any:
    if depth > MAX_NESTING:
        raise ValueError(f"a value must not be nested more than {MAX_NESTING} deep")
    if isinstance(data, list):
        return [_value_from_plain(entry, depth + 1) for entry in data]
    if not isinstance(data, Mapping):
        return data
    if len(data) == 1:
        ((kind, content),) = data.items()
        if kind == "float" and content in ("inf", "-inf", "nan"):
            return float(content)
        if kind == "tuple" and isinstance(content, list):
            return tuple(_value_from_plain(entry, depth + 1) for entry in content)
        if kind in _NUMPY_TYPES:
            return _numpy_scalar(kind, _value_from_plain(content, depth + 1))
    raise ValueError(
        f"a value must be None, a string, a number, a list or {{'tuple': [...]}}, got {shown(dict(data))}"
    )


def _numpy_scalar(kind: str, number: Any) -> Any:
    """Return a number in a type of numpy, or raise if that type does not hold it."""
    if isinstance(number, (bool, int, float)):
        try:
            with np.errstate(over="ignore"):
                made = _NUMPY_TYPES[kind](number)
        except (OverflowError, ValueError):
            made = None
        if made is not None and (made.item() == number or number != number):
            return made
    raise ValueError(f"{{{kind!r}: {shown(number)}}} is no number of type {kind}")


_NUMPY_TYPES: dict[Any, Any] = {
    np.dtype(kind).name: kind
    for kind in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64),
    )
}
