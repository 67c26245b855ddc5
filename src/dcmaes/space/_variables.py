"""Variables: what values they have, how they are checked, and how they become sites."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from dcmaes._validation import as_scalar, shown
from dcmaes.space._identity import ChoiceIndex, identity_key, list_choices
from dcmaes.space._sites import CATEGORY, LATTICE, SiteKind
from dcmaes.space._when import Between, read_when

MAX_VARIABLES = 2**20


class Site(NamedTuple):
    """One row of `Sites`."""

    kind: SiteKind
    n_states: int
    periodic: bool
    log: bool
    low: float
    high: float


class Scale(NamedTuple):
    """Numbers along an axis, from `low` to `high`, evenly or by their logarithms.

    `step` is the distance between neighbours, 0 if there are none.

    >>> Scale(1, 100, log=False, step=3).value(0.5)
    50.5
    """

    low: float
    high: float
    log: bool
    step: float

    def value(self, share: float) -> float:
        """Return the number at a share of the way, which may lie beyond the ends."""
        if self.log:
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)


def read_number(text: str) -> int | float | None:
    """Return the number that text stands for, exact if it is an integer; None if it is no number.

    >>> read_number("9007199254740993"), read_number("1e-3"), read_number("relu")
    (9007199254740993, 0.001, None)
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


class Variable(ABC):
    """What `Binary`, `Integer`, `Ordinal`, `Categorical` and `Float` have in common.

    >>> from dcmaes.space import Binary
    >>> isinstance(Binary(), Variable)
    True

    Attributes
    ----------
    when : mapping or None
        The values of other variables with which this one is active; None if it always is.
    """

    when: Mapping[str, Any] | None = None

    @property
    @abstractmethod
    def site(self) -> Site:
        """The variable as a site."""

    @property
    def n_values(self) -> int | float:
        """Number of values, infinite for an interval."""
        return self.site.n_states

    @property
    def scale(self) -> Scale | None:
        """The numbers along the variable; None if its values are no numbers from a range."""
        return None

    @property
    def listed(self) -> tuple[Any, ...]:
        """The values that were listed one by one: choices, or values with an order; otherwise none."""
        return ()

    @property
    def is_flag(self) -> bool:
        """Whether the variable is on or off."""
        return False

    @property
    def options(self) -> dict[str, Any]:
        """The arguments by keyword that are not as by default."""
        return {} if self.when is None else {"when": self.when}

    def with_when(self, when: Mapping[str, Any] | None) -> Self:
        """Return the same variable with another condition; None for none.

        >>> from dcmaes.space import Binary
        >>> Binary().with_when({"kernel": "rbf"})
        Binary(when={'kernel': 'rbf'})
        """
        changed = copy(self)
        object.__setattr__(changed, "when", read_when(type(self).__name__, when))
        return changed

    @abstractmethod
    def encode(self, name: str, value: Any) -> float:
        """Return the coded value, or raise saying what `name` must be."""

    @abstractmethod
    def decode(self, coded: Sequence[float]) -> list[Any]:
        """Return the values of a column of coded values."""

    @abstractmethod
    def describe(self) -> str:
        """Return what the values are, in a few words."""

    @abstractmethod
    def parse(self, name: str, text: str) -> float:
        """Return the coded value of text, as values are written in a CSV file, or raise as `encode` does."""

    def states_between(self, low: float | None, high: float | None) -> list[tuple[float, float]]:
        """Return the coded values of the numbers in a range, as intervals; raise if values are no numbers."""
        between, numbers = Between(low, high), self.listed
        if not numbers or not all(map(_is_number, numbers)) or self.site.kind is CATEGORY:
            raise ValueError(f"a range needs a variable with numbers in order, got {self!r}")
        states = [float(state) for state, number in enumerate(numbers) if between.holds(number)]
        return [(state, state) for state in states]

    def _options_text(self) -> str:
        return "".join(f", {name}={value!r}" for name, value in self.options.items())


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, (int, float, np.integer, np.floating))
    return is_real and not isinstance(value, bool) and bool(value == value)


@dataclass(frozen=True, repr=False)
class Binary(Variable):
    """A flag: False or True in the points of named spaces, 0 or 1 in arrays.

    Parameters
    ----------
    when : mapping, optional
        The values of other variables with which this one is active, as of `Categorical`.

    Examples
    --------
    >>> from dcmaes import Space
    >>> Space({"norm": Binary()}).contains({"norm": True})
    True
    """

    when: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", read_when("Binary", self.when))

    @property
    def site(self) -> Site:
        """The variable as a site."""
        return Site(LATTICE, 2, False, False, 0.0, 1.0)

    @property
    def is_flag(self) -> bool:
        """Whether the variable is on or off: it is."""
        return True

    def encode(self, name: str, value: Any) -> float:
        """Return 0.0 or 1.0, or raise saying what `name` must be."""
        value = as_scalar(value)
        wanted = f"{name} must be False or True (0 or 1), got {shown(value)}"
        if not isinstance(value, (bool, np.bool_, int, float, np.integer, np.floating)):
            raise TypeError(wanted)
        if value not in (0, 1):
            raise ValueError(wanted)
        return float(value)

    def decode(self, coded: Sequence[float]) -> list[bool]:
        """Return a list of bool."""
        return [state == 1.0 for state in coded]

    def describe(self) -> str:
        """Return what the values are, in a few words."""
        return "False, True"

    def parse(self, name: str, text: str) -> float:
        """Return 0.0 or 1.0 for "False" or "True", "0" or "1"."""
        states = {"false": 0.0, "true": 1.0, "0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}
        found = states.get(text.strip().lower())
        return self.encode(name, text) if found is None else found

    def __repr__(self) -> str:
        return f"Binary({self._options_text().removeprefix(', ')})"


class _Listed(Variable):
    """A variable with a list of values, which are handed out as the very objects that were given."""

    @property
    @abstractmethod
    def listed(self) -> tuple[Any, ...]:
        """The values that were given."""

    @cached_property
    def _index(self) -> ChoiceIndex:
        return ChoiceIndex(self.listed)

    def encode(self, name: str, value: Any) -> float:
        """Return the position of the value, or raise saying what `name` must be."""
        found = self._index.find(value)
        if found is None:
            raise ValueError(f"{name} must be one of {self.describe()}; got {shown(value)}")
        return float(found)

    def decode(self, coded: Sequence[float]) -> list[Any]:
        """Return the values at the positions."""
        values = self.listed
        return [values[int(state)] for state in coded]

    def describe(self) -> str:
        """Return what the values are, in a few words."""
        return ", ".join(map(shown, self.listed[:10])) + (", ..." if len(self.listed) > 10 else "")

    def parse(self, name: str, text: str) -> float:
        """Return the position of the only value that is written like the text, or is the number in it."""
        found = [i for i, value in enumerate(self.listed) if text == ("" if value is None else str(value))]
        number = read_number(text)
        if not found and number is not None:
            return self.encode(name, number)
        return float(found[0]) if len(found) == 1 else self.encode(name, text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Listed):
            return NotImplemented
        is_same = type(self) is type(other) and self._keys == other._keys
        return is_same and self.when == other.when

    def __hash__(self) -> int:
        return hash((type(self), self._keys, self.when))

    @cached_property
    def _keys(self) -> tuple[Any, ...]:
        return tuple(map(identity_key, self.listed))

    def __reduce__(self) -> tuple[Any, ...]:
        # The lookup tables may hold object identities, which a copy must not inherit.
        return partial(type(self), **self.options), (list(self.listed),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.listed)!r}{self._options_text()})"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ordinal(_Listed):
    """One of several values that have an order, such as the powers of two of a batch size.

    Parameters
    ----------
    values : sequence
        The values in their order; neighbours count as equally far apart. Points contain these objects.
    when : mapping, optional
        The values of other variables with which this one is active, as of `Categorical`.

    Examples
    --------
    >>> Ordinal([16, 32, 64, 128])
    Ordinal([16, 32, 64, 128])
    """

    values: tuple[Any, ...]
    when: Mapping[str, Any] | None = None

    def __init__(self, values: Iterable[Any], *, when: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "values", list_choices("Ordinal: values", values))
        object.__setattr__(self, "when", read_when("Ordinal", when))

    @property
    def listed(self) -> tuple[Any, ...]:
        """The values that were given."""
        return self.values

    @property
    def site(self) -> Site:
        """The variable as a site."""
        n_states = len(self.listed)
        return Site(LATTICE, n_states, False, False, 0.0, n_states - 1.0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Categorical(_Listed):
    """One of several choices without an order.

    Parameters
    ----------
    choices : sequence
        Any objects; points contain the objects themselves. Choices are the same if they are equal and of the
        same type: 1, True, 1.0 and "1" are four choices; objects without a hash are compared by identity.
    when : mapping, optional
        The values of other variables with which this one is active: a dict from a name to a value, a list of
        values, or for numbers a range such as `{"low": 2, "high": 5}`, either end of which may be left out.
        All of it must hold. A point has no value for a variable that is not active, and what depends on such
        a variable is not active either.

    Examples
    --------
    >>> Categorical(["relu", "gelu", "tanh"])
    Categorical(['relu', 'gelu', 'tanh'])
    >>> Categorical(["max", "mean"], when={"layers": {"low": 2}})
    Categorical(['max', 'mean'], when={'layers': {'low': 2}})
    """

    choices: tuple[Any, ...]
    when: Mapping[str, Any] | None = None

    def __init__(self, choices: Iterable[Any], *, when: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "choices", list_choices("Categorical: choices", choices))
        object.__setattr__(self, "when", read_when("Categorical", when))

    @property
    def listed(self) -> tuple[Any, ...]:
        """The choices that were given."""
        return self.choices

    @property
    def site(self) -> Site:
        """The variable as a site."""
        n_states = len(self.listed)
        return Site(CATEGORY, n_states, False, False, 0.0, n_states - 1.0)
