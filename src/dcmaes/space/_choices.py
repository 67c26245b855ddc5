"""Choices: when two are the same (equal, and of one type: 1, True and "1" are three), and their weights."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from dcmaes._validation import check_list, check_number, shown

MAX_CHOICES = 2**20
# Deeper ones are a mistake, such as a list that contains itself.
MAX_NESTING = 100
# A choice that is less likely than the likeliest by more than this factor would never be drawn: a mistake.
MOST_UNEQUAL = 1e9
# By how much the sum of weights may miss 1 and still be that of probabilities, which are kept as they are.
_ROUNDING = 1e-9


def identity_key(value: Any, depth: int = 0) -> Hashable:
    """Return a hashable key that two values share exactly if they are the same choice.

    Lists, tuples, dicts and arrays compare by their contents, other objects without a hash by identity.
    `depth` counts the lists around the value, which must not be too many.

    >>> identity_key([1, "a"]) == identity_key([1, "a"])
    True
    >>> identity_key([1, "a"]) == identity_key([True, "a"])
    False
    """
    kind = type(value)
    if kind in (list, tuple, dict, np.ndarray):
        return (kind, *_contents_key(value, depth + 1))
    if isinstance(value, (float, np.floating)) and value != value:
        return (kind, "nan")
    try:
        hash(value)
    except Exception:  # no hash, or one that fails
        return (kind, id(value))
    return (kind, value)


def _contents_key(value: Any, depth: int) -> tuple[Hashable, ...]:
    if depth > MAX_NESTING:
        raise ValueError(f"a choice must not be nested more than {MAX_NESTING} deep, or contain itself")
    if isinstance(value, dict):
        return (frozenset((identity_key(k, depth), identity_key(v, depth)) for k, v in value.items()),)
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, *_contents_key(value.ravel().tolist(), depth))
    return (tuple(identity_key(entry, depth) for entry in value),)


def plain_key(value: Any) -> Hashable:
    """Return a key that is blind to what a file or an array may change: numpy scalars, and 2.0 in place of 2.

    >>> plain_key(np.int64(2)) == plain_key(2) == plain_key(2.0)
    True
    >>> plain_key(1) == plain_key(True)
    False
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in (int, float) and value == value:
        return ("number", value)
    return identity_key(value)


def list_choices(argument: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the choices in order, or raise if they are none, unordered, or not all different.

    >>> list_choices("choices", ["relu", "gelu"])
    ('relu', 'gelu')
    """
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"{argument} must be one-dimensional, got an array of shape {values.shape}")
        values = values.tolist()
    wanted = "a list or another sequence in a fixed order"
    result = tuple(check_list(argument, values, wanted, most=MAX_CHOICES))
    if not result:
        raise ValueError(f"{argument} must have at least one entry, got {shown(values)}")
    seen: set[Hashable] = set()
    for value in result:
        key = identity_key(value)
        if key in seen:
            raise ValueError(
                f"{argument} must be different from each other, got {shown(value)} more than once"
            )
        seen.add(key)
    return result


class ChoiceIndex:
    """Finds the position of a choice: the same one first, else the only one that is plainly equal.

    >>> index = ChoiceIndex([1, "1", 2.5])
    >>> index.find("1"), index.find(np.int64(1)), index.find("2.5")
    (1, 0, None)
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._same = {identity_key(value): i for i, value in enumerate(values)}
        self._plain: dict[Hashable, int | None] = {}
        for i, value in enumerate(values):
            key = plain_key(value)
            self._plain[key] = None if key in self._plain else i

    def find(self, value: Any) -> int | None:
        """Return the position of `value`, or None if it is not among the choices."""
        found = self._same.get(identity_key(value))
        return self._plain.get(plain_key(value)) if found is None else found


def read_prior(owner: str, prior: Any, n_states: int) -> tuple[float, ...] | None:
    """Return weights as probabilities, shape (n_states,), or raise saying what would be right; None for none.

    >>> read_prior("Categorical", [6, 1, 1], 3)
    (0.75, 0.125, 0.125)
    """
    if prior is None:
        return None
    name = f"{owner}: prior"
    given = check_list(name, prior, "a list of positive numbers, one for each value")
    if len(given) != n_states:
        raise ValueError(f"{name} must have {n_states} weights, one for each value; got {shown(given)}")
    weights = [check_number(f"{name}[{i}]", weight) for i, weight in enumerate(given)]
    largest = max(weights)
    if min(weights) <= 0.0:
        hint = "leave a value out of the list to rule it out"
        raise ValueError(f"{name} must have positive weights only ({hint}), got {shown(given)}")
    if min(weights) < largest / MOST_UNEQUAL:
        wanted = f"weights that differ by a factor of at most {MOST_UNEQUAL:.0e}"
        raise ValueError(f"{name} must have {wanted}, got {shown(given)}")
    # Dividing by the largest first keeps the sum in the range of floating point.
    total = math.fsum(weight / largest for weight in weights)
    if abs(total * largest - 1.0) <= _ROUNDING:
        return tuple(weights)
    return tuple(weight / largest / total for weight in weights)
