"""Variables: what values they have, how they are checked, and how they become sites."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dcmaes._validation import as_scalar, shown
from dcmaes.space._choices import Between, ChoiceIndex, identity_key, list_choices, read_prior, read_when
from dcmaes.space._coordinates import CATEGORY, LATTICE
from dcmaes.space._sites import Site

if TYPE_CHECKING:
    from dcmaes.space._ranges import Scale

MAX_VARIABLES = 2**20


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
    default : value or None
        The value to try first; None if there is none (or if that is the choice None: see `default_state`).
    prior : tuple of float or None
        How likely each value is, before anything is known; None if they are equally likely.
    """

    when: Mapping[str, Any] | None = None
    default: Any = None
    prior: Sequence[float] | None = None

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
    def default_state(self) -> float | None:
        """The coded value to try first; None if there is none."""
        return None if self.default is None else self.encode("default", self.default)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments by keyword that are not as by default."""
        found = {} if self.default_state is None else {"default": self.default}
        found |= {} if self.prior is None else {"prior": list(self.prior)}
        return found | ({} if self.when is None else {"when": self.when})

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
    default : bool, optional
        The value to try first, as of `Categorical`.
    prior : sequence of two floats, optional
        Weights of False and True, as of `Categorical`.
    when : mapping, optional
        The values of other variables with which this one is active, as of `Categorical`.

    Examples
    --------
    >>> from dcmaes import Space
    >>> Space({"norm": Binary()}).contains({"norm": True})
    True
    """

    default: bool | None = field(default=None, kw_only=True)
    prior: Sequence[float] | None = field(default=None, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "default", self.encode("Binary: default", self.default) == 1.0)
        object.__setattr__(self, "prior", read_prior("Binary", self.prior, 2))
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

    _default: int | None

    def _read_options(self, default: Any, prior: Any, when: Any) -> None:
        """Keep the arguments that are the same of all such variables, checked."""
        kind = type(self).__name__
        # None may be one of the values; if it is not, it means that there is no default.
        is_none = default is ... or (default is None and self._index.find(None) is None)
        state = None if is_none else int(self.encode(f"{kind}: default", default))
        object.__setattr__(self, "_default", state)
        object.__setattr__(self, "default", None if state is None else self.listed[state])
        object.__setattr__(self, "prior", read_prior(kind, prior, len(self.listed)))
        object.__setattr__(self, "when", read_when(kind, when))

    @property
    def default_state(self) -> float | None:
        """The position of the value to try first; None if there is none."""
        return None if self._default is None else float(self._default)

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
        return is_same and (self._default, self.prior, self.when) == (other._default, other.prior, other.when)

    def __hash__(self) -> int:
        return hash((type(self), self._keys, self._default, self.prior, self.when))

    @cached_property
    def _keys(self) -> tuple[Any, ...]:
        return tuple(map(identity_key, self.listed))

    def __reduce__(self) -> tuple[Any, ...]:
        # The lookup tables may hold object identities, which a copy must not inherit.
        options = {name: option for name, option in self.options.items() if name != "default"}
        return _rebuilt, (type(self), list(self.listed), self._default, options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.listed)!r}{self._options_text()})"


def _rebuilt(
    kind: type[Ordinal | Categorical], listed: list[Any], default: int | None, options: dict[str, Any]
) -> Ordinal | Categorical:
    """Return a copy, whose default is found by its place: it may be an object that is like no other."""
    chosen = {} if default is None else {"default": listed[default]}
    return kind(listed, **chosen, **options)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ordinal(_Listed):
    """One of several values that have an order, such as the powers of two of a batch size.

    Parameters
    ----------
    values : sequence
        The values in their order; neighbours count as equally far apart. Points contain these objects.
    default : object, optional
        The value to try first, as of `Categorical`.
    prior : sequence of float, optional
        A weight for each value, as of `Categorical`.
    when : mapping, optional
        The values of other variables with which this one is active, as of `Categorical`.

    Examples
    --------
    >>> Ordinal([16, 32, 64, 128])
    Ordinal([16, 32, 64, 128])
    """

    values: tuple[Any, ...]
    default: Any = None
    prior: Sequence[float] | None = None
    when: Mapping[str, Any] | None = None

    def __init__(
        self,
        values: Iterable[Any],
        *,
        default: Any = ...,
        prior: Sequence[float] | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        object.__setattr__(self, "values", list_choices("Ordinal: values", values))
        self._read_options(default, prior, when)

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
    default : object, optional
        The choice to try first. If any variable of a space has a default, the first point, after those given
        as `x0`, is made of them: see `Space.default`.
    prior : sequence of float, optional
        A weight for each choice: how likely it is to be good, as far as you know. Weights are positive; only
        their ratios matter. Where choices are drawn at random, as at the start, they are drawn accordingly.
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
    >>> Categorical(["relu", "gelu", "tanh"], default="gelu", prior=[1, 2, 1])
    Categorical(['relu', 'gelu', 'tanh'], default='gelu', prior=[0.25, 0.5, 0.25])
    """

    choices: tuple[Any, ...]
    default: Any = None
    prior: Sequence[float] | None = None
    when: Mapping[str, Any] | None = None

    def __init__(
        self,
        choices: Iterable[Any],
        *,
        default: Any = ...,
        prior: Sequence[float] | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        object.__setattr__(self, "choices", list_choices("Categorical: choices", choices))
        self._read_options(default, prior, when)

    @property
    def listed(self) -> tuple[Any, ...]:
        """The choices that were given."""
        return self.choices

    @property
    def site(self) -> Site:
        """The variable as a site."""
        n_states = len(self.listed)
        return Site(CATEGORY, n_states, False, False, 0.0, n_states - 1.0)
