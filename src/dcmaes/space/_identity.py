"""When two choices are the same: equal and of one type, so that 1, True, 1.0 and "1" are four choices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from dcmaes._validation import check_list, shown

MAX_CHOICES = 2**20
# Deeper ones are a mistake, such as a list that contains itself.
MAX_NESTING = 100


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
