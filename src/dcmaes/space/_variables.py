"""The five kinds of variables: what values they have, how they are checked, and how they become sites."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import as_scalar, check_integer, check_number, shown
from dcmaes.space._identity import ChoiceIndex, identity_key, list_choices
from dcmaes.space._sites import CATEGORY, CONTINUOUS, LATTICE

# States are coded as float64 numbers, which hold every integer up to here.
MAX_STATES = 2**53
MAX_VARIABLES = 2**20


class Site(NamedTuple):
    """One row of `Sites`."""

    kind: int
    n_states: int
    periodic: bool
    log: bool
    low: float
    high: float


class Variable(ABC):
    """What `Binary`, `Integer`, `Ordinal`, `Categorical` and `Float` have in common.

    >>> from dcmaes.space import Binary
    >>> isinstance(Binary(), Variable)
    True
    """

    @property
    @abstractmethod
    def site(self) -> Site:
        """The variable as a site."""

    @property
    def n_values(self) -> int | float:
        """Number of values, infinite for an interval."""
        return self.site.n_states

    @abstractmethod
    def encode(self, name: str, value: Any) -> float:
        """Return the coded value, or raise saying what `name` must be."""

    @abstractmethod
    def decode(self, coded: Sequence[float]) -> list[Any]:
        """Return the values of a column of coded values."""


@dataclass(frozen=True)
class Binary(Variable):
    """A flag: False or True in the points of named spaces, 0 or 1 in arrays.

    >>> from dcmaes import Space
    >>> Space({"norm": Binary()}).contains({"norm": True})
    True
    """

    @property
    def site(self) -> Site:
        """The variable as a site."""
        return Site(LATTICE, 2, False, False, 0.0, 1.0)

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


@dataclass(frozen=True, repr=False)
class Integer(Variable):
    """An integer from `low` to `high`, both included.

    Parameters
    ----------
    low, high : int
        The bounds, 64-bit integers with at most 2^53 values between them; they may be equal.
    log : bool
        Measure distances between logarithms, as fits sizes and counts that span orders of magnitude; `low`
        must be at least 1.
    periodic : bool
        Make `high` and `low` neighbours, as 23 and 0 are among the hours of a day.

    Examples
    --------
    >>> Integer(16, 4096, log=True)
    Integer(16, 4096, log=True)
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    periodic: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        low = check_integer("Integer: low", self.low, low=-(2**63), high=2**63 - 1)
        high = check_integer("Integer: high", self.high, low=-(2**63), high=2**63 - 1)
        _check_range(self, low, high, smallest=1)
        if high - low >= MAX_STATES:
            raise ValueError(
                f"Integer: at most 2**53 values fit, got {high - low + 1} from low={low} to high={high}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __repr__(self) -> str:
        return _repr_range(self)

    @property
    def site(self) -> Site:
        """The variable as a site."""
        n_states = self.high - self.low + 1
        low, high = (self.low, self.high) if self.log else (0, n_states - 1)
        return Site(LATTICE, n_states, self.periodic, self.log, float(low), float(high))

    def encode(self, name: str, value: Any) -> float:
        """Return the number of steps from `low`, or raise saying what `name` must be."""
        value = as_scalar(value)
        wanted = f"{name} must be an integer from {self.low} to {self.high}"
        if isinstance(value, (float, np.floating)):
            if not value.is_integer():
                raise ValueError(f"{wanted}, got {shown(value)}")
            value = int(value)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{wanted}, got {shown(value)}")
        if not self.low <= value <= self.high:
            raise ValueError(f"{wanted}, got {shown(value)}")
        return float(int(value) - self.low)

    def decode(self, coded: Sequence[float]) -> list[int]:
        """Return a list of int."""
        low = self.low
        return [low + int(state) for state in coded]


@dataclass(frozen=True, repr=False)
class Float(Variable):
    """A real number from `low` to `high`, both included.

    Parameters
    ----------
    low, high : float
        The bounds; they may be equal.
    log : bool
        Measure distances between logarithms; `low` must be positive.
    periodic : bool
        Make `low` and `high` the same point, as 0 and 360 degrees are.

    Examples
    --------
    >>> Float(1e-5, 1e-1, log=True)
    Float(1e-05, 0.1, log=True)
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    periodic: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        # Adding zero turns -0.0 into 0.0: two codes of one number would be two points.
        low = check_number("Float: low", self.low) + 0.0
        high = check_number("Float: high", self.high) + 0.0
        _check_range(self, low, high, smallest=math.ulp(0.0))
        if not math.isfinite(high / low if self.log else high - low):
            raise ValueError(f"Float: the range is beyond floating point, got low={low}, high={high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __repr__(self) -> str:
        return _repr_range(self)

    @property
    def n_values(self) -> int | float:
        """Number of values: infinite, or 1 if the bounds are equal."""
        return 1 if self.low == self.high else math.inf

    @property
    def site(self) -> Site:
        """The variable as a site."""
        return Site(CONTINUOUS, 0, self.periodic, self.log, self.low, self.high)

    def encode(self, name: str, value: Any) -> float:
        """Return the value itself, or raise saying what `name` must be."""
        return check_number(name, value, low=self.low, high=self.high) + 0.0

    def decode(self, coded: Sequence[float]) -> list[float]:
        """Return a list of float."""
        return list(coded)


class _Listed(Variable):
    """A variable with a list of values, which are handed out as the very objects that were given."""

    @property
    @abstractmethod
    def _values(self) -> tuple[Any, ...]: ...

    @cached_property
    def _index(self) -> ChoiceIndex:
        return ChoiceIndex(self._values)

    def encode(self, name: str, value: Any) -> float:
        """Return the position of the value, or raise saying what `name` must be."""
        found = self._index.find(value)
        if found is None:
            some = ", ".join(map(shown, self._values[:10])) + (", ..." if len(self._values) > 10 else "")
            raise ValueError(f"{name} must be one of {some}; got {shown(value)}")
        return float(found)

    def decode(self, coded: Sequence[float]) -> list[Any]:
        """Return the values at the positions."""
        values = self._values
        return [values[int(state)] for state in coded]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Listed):
            return NotImplemented
        return type(self) is type(other) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash((type(self), self._keys))

    @cached_property
    def _keys(self) -> tuple[Any, ...]:
        return tuple(map(identity_key, self._values))

    def __reduce__(self) -> tuple[Any, ...]:
        # The lookup tables may hold object identities, which a copy must not inherit.
        return type(self), (list(self._values),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._values)!r})"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ordinal(_Listed):
    """One of several values that have an order, such as the powers of two of a batch size.

    Parameters
    ----------
    values : sequence
        The values in their order; neighbours count as equally far apart. Points have the very objects given.

    Examples
    --------
    >>> Ordinal([16, 32, 64, 128])
    Ordinal([16, 32, 64, 128])
    """

    values: tuple[Any, ...]

    def __init__(self, values: Iterable[Any]) -> None:
        object.__setattr__(self, "values", list_choices("Ordinal: values", values))

    @property
    def _values(self) -> tuple[Any, ...]:
        return self.values

    @property
    def site(self) -> Site:
        """The variable as a site."""
        n_states = len(self._values)
        return Site(LATTICE, n_states, False, False, 0.0, n_states - 1.0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Categorical(_Listed):
    """One of several choices without an order.

    Parameters
    ----------
    choices : sequence
        Any objects; points have the very objects given. Choices are the same if they are equal and of the
        same type: 1, True, 1.0 and "1" are four choices; objects without a hash are told apart by identity.

    Examples
    --------
    >>> Categorical(["relu", "gelu", "tanh"])
    Categorical(['relu', 'gelu', 'tanh'])
    """

    choices: tuple[Any, ...]

    def __init__(self, choices: Iterable[Any]) -> None:
        object.__setattr__(self, "choices", list_choices("Categorical: choices", choices))

    @property
    def _values(self) -> tuple[Any, ...]:
        return self.choices

    @property
    def site(self) -> Site:
        """The variable as a site."""
        n_states = len(self._values)
        return Site(CATEGORY, n_states, False, False, 0.0, n_states - 1.0)


def _check_range(variable: Integer | Float, low: float, high: float, *, smallest: float) -> None:
    kind = type(variable).__name__
    for flag in ("log", "periodic"):
        if not isinstance(getattr(variable, flag), bool):
            raise TypeError(f"{kind}: {flag} must be True or False, got {shown(getattr(variable, flag))}")
    if low > high:
        raise ValueError(f"{kind}: low must be at most high, got low={low}, high={high}")
    if variable.log and variable.periodic:
        raise ValueError(f"{kind}: log and periodic cannot be combined, choose one of them")
    if variable.log and low < smallest:
        wanted = "at least 1" if smallest == 1 else "positive"
        raise ValueError(f"{kind}: low must be {wanted} with log=True, got low={low}")


def _repr_range(variable: Integer | Float) -> str:
    flags = "".join(f", {flag}=True" for flag in ("log", "periodic") if getattr(variable, flag))
    return f"{type(variable).__name__}({variable.low!r}, {variable.high!r}{flags})"
