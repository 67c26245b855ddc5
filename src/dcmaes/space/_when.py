"""What `when=` says: the values that other variables must have for a variable to be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import check_number, shown
from dcmaes.space._identity import identity_key, plain_key

_ENDS = ("low", "high")
# A condition on more variables than this is a mistake.
_MOST_NAMES = 100
_FORMS = "a value, a list of values, or a range such as {'low': 1, 'high': 5}"


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
