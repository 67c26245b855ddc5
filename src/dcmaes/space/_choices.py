"""What is said of the values of a variable: choices, their weights, and when it is active (`when=`).

Two choices are the same if they are equal and of one type: 1, True and "1" are three.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import check_list, check_number, shown

MAX_CHOICES = 2**20
# Deeper ones are a mistake, such as a list that contains itself.
MAX_NESTING = 100
# A choice that is less likely than the likeliest by more than this factor would never be drawn: a mistake.
MOST_UNEQUAL = 1e9
# By how much the sum of weights may miss 1 and still be that of probabilities, which are kept as they are.
_ROUNDING = 1e-9
_ENDS = ("low", "high")
# A condition on more variables than this is a mistake.
_MOST_NAMES = 100
_FORMS = "a value, a list of values, or a range such as {'low': 1, 'high': 5}"


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


class Between(NamedTuple):
    """A range of numbers, both ends included; None where there is no end."""

    low: float | None
    high: float | None

    def holds(self, number: float) -> bool:
        """Tell whether a number lies in the range.

        >>> Between(2, None).holds(3), Between(2, 5).holds(6)
        (True, False)
        """
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)


class When(Mapping[str, Any]):
    """The condition under which a variable is active: all that it says of other variables holds.

    A mapping from names to what their variables must be, in the notation of `when=`: a list stands for any of
    several values, a dict with "low" or "high" or both for a range of numbers, everything else for one value.
    The order of the values in a list makes no difference.

    Parameters
    ----------
    owner : str
        What the condition belongs to, as error messages call it.
    conditions : mapping of str to value, list or range
        The condition as it was written; it is copied.

    Examples
    --------
    >>> when = When("Float", {"kernel": ["rbf", "poly"], "degree": {"low": 2}})
    >>> when, str(when)
    ({'kernel': ['rbf', 'poly'], 'degree': {'low': 2}}, "kernel is 'rbf' or 'poly', degree is at least 2")
    >>> when == {"degree": {"low": 2}, "kernel": ["poly", "rbf"]}
    True
    """

    def __init__(self, owner: str, conditions: Any) -> None:
        if not isinstance(conditions, Mapping):
            wanted = f"{owner}: when must be a dict from the name of a variable to {_FORMS}"
            raise TypeError(f"{wanted}; got {shown(conditions)}")
        if len(conditions) > _MOST_NAMES:
            raise ValueError(f"{owner}: when may name at most {_MOST_NAMES} variables, got {len(conditions)}")
        self._allowed: dict[str, tuple[Any, ...] | Between] = {}
        for name, allowed in conditions.items():
            if not isinstance(name, str):
                raise TypeError(f"{owner}: when must have names of variables as keys, got {shown(name)}")
            self._allowed[name] = _read(f"{owner}: when, {name!r}", allowed)

    def allowed(self, name: str) -> tuple[Any, ...] | Between:
        """Return the values, or the range, that a variable must have."""
        return self._allowed[name]

    def __getitem__(self, name: str) -> Any:
        allowed = self._allowed[name]
        if isinstance(allowed, Between):
            return {end: number for end, number in zip(_ENDS, allowed, strict=True) if number is not None}
        is_plain = len(allowed) == 1 and not isinstance(allowed[0], (list, dict))
        return allowed[0] if is_plain else list(allowed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._allowed)

    def __len__(self) -> int:
        return len(self._allowed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        if not isinstance(other, When):
            try:
                other = When("when", other)
            except (TypeError, ValueError):
                return False
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __str__(self) -> str:
        return ", ".join(f"{name} is {_words(allowed)}" for name, allowed in self._allowed.items())

    @property
    def _key(self) -> frozenset[Any]:
        return frozenset(
            (name, allowed if isinstance(allowed, Between) else frozenset(map(_value_key, allowed)))
            for name, allowed in self._allowed.items()
        )


def read_when(owner: str, when: Mapping[str, Any] | None) -> When | None:
    """Return a condition as variables keep it, None if it says nothing.

    >>> read_when("Binary", {"kernel": ["rbf"]}), read_when("Binary", {})
    ({'kernel': 'rbf'}, None)
    """
    if when is None or isinstance(when, When):
        return when
    return When(owner, when) or None


def _read(what: str, allowed: Any) -> tuple[Any, ...] | Between:
    if isinstance(allowed, Mapping):
        return _read_range(what, allowed)
    values = tuple(allowed) if isinstance(allowed, list) else (allowed,)
    if not values:
        raise ValueError(f"{what}: the list of values must have at least one entry")
    return values


def _read_range(what: str, ends: Mapping[Any, Any]) -> Between:
    if not ends or not set(ends) <= set(_ENDS):
        raise ValueError(f"{what}: a range must have 'low' or 'high' or both, got {shown(dict(ends))}")
    between = Between(*(_read_end(f"{what}: {end}", ends[end]) if end in ends else None for end in _ENDS))
    if between.low is not None and between.high is not None and between.low > between.high:
        raise ValueError(f"{what}: low must be at most high, got {shown(dict(ends))}")
    return between


def _read_end(what: str, number: Any) -> float:
    """Return an end of a range as it is, an integer of any size or a float."""
    is_integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    return int(number) if is_integer else check_number(what, number)


def _value_key(value: Any) -> Any:
    # True and 1 differ as choices, and are one value of a flag: conditions are compared as they are written.
    return identity_key(value) if isinstance(value, (bool, list, dict)) else plain_key(value)


def _words(allowed: tuple[Any, ...] | Between) -> str:
    if not isinstance(allowed, Between):
        return " or ".join(map(shown, allowed))
    if allowed.high is None:
        return f"at least {allowed.low}"
    return f"at most {allowed.high}" if allowed.low is None else f"from {allowed.low} to {allowed.high}"
