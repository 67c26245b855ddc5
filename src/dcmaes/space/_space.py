"""Spaces: what a point looks like, and how it becomes a vector of numbers and comes back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._html import html_table
from dcmaes._validation import FloatArray, as_floats, check_generator, check_integer, check_list, shown
from dcmaes.space._conditions import compile_conditions
from dcmaes.space._layouts import NamedLayout, PositionalLayout
from dcmaes.space._ranges import Integer
from dcmaes.space._serialization import space_from_dict, space_to_dict
from dcmaes.space._sites import Site, Sites, compile_prior
from dcmaes.space._variables import MAX_VARIABLES, Binary, Variable

# More points than this at once are a mistake.
MAX_SAMPLE = 10**9
# How many variables a notebook shows.
_MOST_ROWS = 60


class Space:
    """The points among which to search.

    A named space has dicts as points: `Space({"lr": Float(0.0, 1.0), ...})`. A positional space has 1-D numpy
    arrays as points: `Space.binary`, `Space.integers`, `Space.array`. A space never changes.

    Parameters
    ----------
    variables : mapping of str to variable, or iterable of (name, variable) pairs
        The variables with their names, in the order in which points and reports will have them. A variable
        with `when=` is active, and in a point, only with certain values of others.

    Examples
    --------
    >>> from dcmaes import Categorical, Float, Integer, Space
    >>> space = Space({"layers": Integer(1, 8), "act": Categorical(["relu", "gelu"])})
    >>> space.dimension, space.size
    (2, 16)
    >>> space.contains({"layers": 3, "act": "gelu"})
    True
    >>> Space.array([Integer(0, 9), Float(-5.0, 5.0)]).sample(np.random.default_rng(0), 1)
    [array([ 6.        , -2.30213286])]
    """

    _variables: tuple[Variable, ...]
    _names: tuple[str, ...] | None
    _layout: NamedLayout | PositionalLayout
    _sites: Sites

    def __init__(self, variables: Mapping[str, Variable] | Iterable[tuple[str, Variable]]) -> None:
        pairs = _pairs(variables)
        seen = set()
        for name, _ in pairs:
            if not isinstance(name, str) or not name:
                raise TypeError(f"names must be strings of at least one character, got {shown(name)}")
            if name in seen:
                raise ValueError(f"names must be different from each other, got {shown(name)} more than once")
            seen.add(name)
        self._build([name for name, _ in pairs], [variable for _, variable in pairs])

    @classmethod
    def array(cls, variables: Iterable[Variable]) -> Space:
        """Return a space whose points are 1-D arrays: int64 if all is Binary or Integer, otherwise float64.

        Parameters
        ----------
        variables : iterable of variables
            Binary, Integer, Float, or Ordinal with numbers as values.

        Examples
        --------
        >>> from dcmaes import Binary, Integer, Space
        >>> Space.array([Binary(), Integer(0, 9)]).sample(np.random.default_rng(0), 1)
        [array([1, 2])]
        """
        space = cls.__new__(cls)
        space._build(None, check_list("variables", variables, "a list of variables", most=MAX_VARIABLES))
        return space

    @classmethod
    def binary(cls, n: int) -> Space:
        """Return the space of int64 arrays with `n` entries 0 or 1.

        >>> from dcmaes import Space
        >>> Space.binary(64).size == 2**64
        True
        """
        return cls.array([Binary()] * check_integer("n", n, low=1, high=MAX_VARIABLES))

    @classmethod
    def integers(
        cls, n: int, low: int, high: int, *, log: bool = False, periodic: bool = False, step: int = 1
    ) -> Space:
        """Return the space of int64 arrays with `n` entries from `low` to `high`, as of `Integer`.

        >>> from dcmaes import Space
        >>> Space.integers(10, -50, 50).dimension
        10
        """
        n = check_integer("n", n, low=1, high=MAX_VARIABLES)
        return cls.array([Integer(low, high, log=log, periodic=periodic, step=step)] * n)

    def _build(self, names: Sequence[str] | None, variables: Sequence[Any]) -> None:
        if not variables:
            raise ValueError("a space must have at least one variable")
        for name, variable in zip(names or range(len(variables)), variables, strict=True):
            if not isinstance(variable, Variable):
                kinds = "Binary(), Integer(...), Ordinal(...), Categorical(...) or Float(...)"
                raise TypeError(f"variable {name!r} must be one of {kinds}; got {shown(variable)}")
        self._names = None if names is None else tuple(names)
        self._variables = tuple(variables)
        columns = (np.array(column) for column in zip(*(v.site for v in variables), strict=True))
        arrays = dict(zip(Site._fields, columns, strict=True))
        conditions = None if names is None else compile_conditions(names, variables)
        prior = compile_prior([variable.prior for variable in variables])
        self._sites = Sites(**arrays, conditions=conditions, prior=prior)
        self._layout = (
            PositionalLayout(variables) if names is None else NamedLayout(names, variables, self._sites)
        )
        is_continuous = self._sites.is_continuous
        self._coded_low = np.where(is_continuous, self._sites.low, 0.0)
        self._coded_high = np.where(is_continuous, self._sites.high, self._sites.n_states - 1.0)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables in their order."""
        return self._variables

    @property
    def names(self) -> tuple[str, ...] | tuple[int, ...]:
        """The names of the variables in their order; their positions if points are arrays."""
        return tuple(range(self.dimension)) if self._names is None else self._names

    @property
    def is_named(self) -> bool:
        """Whether points are dicts (otherwise arrays)."""
        return self._names is not None

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self._variables)

    @property
    def size(self) -> int | float:
        """Number of points, a Python int, or `math.inf` if a Float has more than one value.

        Points that would differ only in inactive variables are one point.

        >>> from dcmaes import Binary, Integer, Space
        >>> Space({"on": Binary(), "how": Integer(0, 2, when={"on": True})}).size
        4
        """
        n_values = [v.n_values for v in self._variables]
        # Every variable is active in some points: conditions that never hold are refused.
        is_flat = math.inf in n_values or not self._sites.has_conditions
        return math.prod(n_values) if is_flat else self._sites.listing.size

    @property
    def default(self) -> Any:
        """The point that is made of the defaults of variables; None if no variable has one.

        Variables without a default are in the middle of their range (of the logarithms, with `log`); choices
        are those with the largest weight, or the first ones. Inactive variables are left out, whatever their
        default. Runs evaluate this point first.

        >>> from dcmaes import Categorical, Integer, Space
        >>> space = Space({"layers": Integer(1, 9), "act": Categorical(["relu", "gelu"], default="gelu")})
        >>> space.default
        {'layers': 5, 'act': 'gelu'}
        """
        states = [variable.default_state for variable in self._variables]
        if all(state is None for state in states):
            return None
        x = self._sites.rest.copy()
        for site, shares in ({} if self._sites.prior is None else self._sites.prior.shares).items():
            x[site] = shares.argmax()
        x = np.array([old if new is None else new for old, new in zip(x, states, strict=True)])
        return self._layout.decode_many(x[np.newaxis])[0]

    @property
    def sites(self) -> Sites:
        """The variables as strategies see them."""
        return self._sites

    def contains(self, point: Any) -> bool:
        """Tell whether `point` is a point of this space.

        >>> from dcmaes import Integer, Space
        >>> Space({"layers": Integer(1, 8)}).contains({"layers": 9})
        False
        """
        try:
            self.encode(point)
        except (TypeError, ValueError):
            return False
        return True

    def sample(self, rng: np.random.Generator, n: int) -> list[Any]:
        """Return `n` points at random: uniform over values, or over logarithms where `log` is set.

        Choices with weights (`prior=`) are drawn accordingly.

        >>> from dcmaes import Space
        >>> Space.binary(3).sample(np.random.default_rng(0), 2)
        [array([1, 0, 0]), array([0, 1, 1])]
        """
        check_generator("rng", rng)
        n = check_integer("n", n, low=0, high=MAX_SAMPLE)
        return self._layout.decode_many(self._sites.uniform(rng.random((n, self.dimension))))

    def encode(self, point: Any) -> FloatArray:
        """Return the coded point, shape (d,), or raise naming the variable and what would be right.

        A point must have all active variables, and none that is inactive.

        >>> from dcmaes import Float, Integer, Space
        >>> Space({"layers": Integer(1, 8), "lr": Float(0.0, 1.0)}).encode({"lr": 0.5, "layers": 3})
        array([2. , 0.5])
        """
        x: FloatArray = self.encode_many([point])[0]
        return x

    def encode_many(self, points: Iterable[Any]) -> FloatArray:
        """Return the coded points, shape (n, d), or raise like `encode`.

        >>> from dcmaes import Space
        >>> Space.integers(2, 1, 8).encode_many([[1, 8], [3, 4]])
        array([[0., 7.],
               [2., 3.]])
        """
        return self._layout.encode_many(points)

    def decode(self, x: ArrayLike) -> Any:
        """Return the point of a coded point of shape (d,).

        >>> from dcmaes import Categorical, Space
        >>> Space({"act": Categorical(["relu", "gelu"])}).decode([1.0])
        {'act': 'gelu'}
        """
        return self.decode_many(as_floats("x", x)[np.newaxis])[0]

    def decode_many(self, x: ArrayLike) -> list[Any]:
        """Return the points of coded points of shape (n, d): new dicts, or read-only arrays.

        What a coded point says of inactive variables is left out.

        >>> from dcmaes import Space
        >>> Space.integers(2, 1, 8).decode_many([[0.0, 7.0], [2.0, 3.0]])
        [array([1, 8]), array([3, 4])]
        """
        coded = as_floats("x", x)
        self._check_coded(coded)
        return self._layout.decode_many(coded)

    def decode_column(self, index: int, coded: Sequence[float]) -> list[Any]:
        """Return the values of one variable, as points have them, for coded values.

        >>> from dcmaes import Binary, Space
        >>> Space.binary(2).decode_column(0, [0.0, 1.0]), Space({"norm": Binary()}).decode_column(0, [1.0])
        ([0, 1], [True])
        """
        values = self._variables[index].decode(coded)
        is_number = not self.is_named and self._variables[index].is_flag
        return [int(value) for value in values] if is_number else values

    def differences(self, other: Space, here: str = "here", there: str = "there") -> list[str]:
        """Return what makes `other` a different space, a sentence for each difference; none if it is equal.

        `here` and `there` are the words for where this space and the other one are.

        >>> from dcmaes import Binary, Integer, Space
        >>> Space({"a": Integer(0, 3), "b": Binary()}).differences(Space({"a": Integer(0, 4), "b": Binary()}))
        ["'a' is Integer(0, 3) here and Integer(0, 4) there"]
        """
        if not isinstance(other, Space):
            raise TypeError(f"other must be a Space, got {shown(other)}")
        if self.is_named != other.is_named:
            form = {True: "dicts", False: "arrays"}
            return [f"points are {form[self.is_named]} {here} and {form[other.is_named]} {there}"]
        own = dict(zip(self.names, self._variables, strict=True))
        others = dict(zip(other.names, other._variables, strict=True))
        found = [f"{name!r} is missing {there}" for name in own if name not in others]
        found += [f"{name!r} is missing {here}" for name in others if name not in own]
        found += [
            f"{name!r} is {own[name]!r} {here} and {others[name]!r} {there}"
            for name in own
            if name in others and own[name] != others[name]
        ]
        if not found and self.names != other.names:
            found.append(f"the order of names is {list(self.names)} {here} and {list(other.names)} {there}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the space as plain data that `json` can write and read without loss.

        A named space becomes `{name: {"type": ..., ...}}`, the form of a specification file; a positional one
        `{"array": [{"type": ..., ..., "repeat": n}]}`. Raises TypeError for choices that are not plain data.

        >>> from dcmaes import Float, Space
        >>> Space({"lr": Float(1e-5, 1e-1, log=True)}).to_dict()
        {'lr': {'type': 'float', 'low': 1e-05, 'high': 0.1, 'log': True}}
        """
        return space_to_dict(self._names, self._variables)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Space:
        """Return the space that `to_dict` described, or raise naming the variable and the key that are wrong.

        >>> from dcmaes import Space
        >>> Space.from_dict({"array": [{"type": "integer", "low": 0, "high": 9, "repeat": 3}]})
        Space.integers(3, 0, 9)
        """
        names, variables = space_from_dict(data)
        return cls.array(variables) if names is None else cls(zip(names, variables, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return self._names == other._names and self._variables == other._variables

    def __hash__(self) -> int:
        return hash((self._names, self._variables))

    def __repr__(self) -> str:
        if self._names is not None:
            inside = ", ".join(f"{n!r}: {v!r}" for n, v in zip(self._names, self._variables, strict=True))
            return f"Space({{{inside}}})"
        first = self._variables[0]
        is_plain = isinstance(first, (Binary, Integer)) and first.default is None and first.prior is None
        if is_plain and all(v == first for v in self._variables):
            kind = "binary" if isinstance(first, Binary) else "integers"
            arguments = repr(first).partition("(")[2].removesuffix(")")
            return f"Space.{kind}({self.dimension}{', ' if arguments else ''}{arguments})"
        return f"Space.array({list(self._variables)!r})"

    def _repr_html_(self) -> str:
        shown = list(zip(self.names, self._variables, strict=True))[:_MOST_ROWS]
        header = ["name", "type", "values"]
        rows = [[name, type(v).__name__, v.describe()] for name, v in shown]
        for option in ("default", "prior", "when"):
            if any(option in v.options for v in self._variables):
                header.append(option)
                for row, (_, v) in zip(rows, shown, strict=True):
                    row.append(_option_text(v, option))
        if len(shown) < self.dimension:
            rows.append(["…", "", f"{self.dimension - len(shown)} more", *[""] * (len(header) - 3)])
        size = "infinitely many points" if self.size == math.inf else f"{self.size:.6g} points"
        return html_table(f"Space of {self.dimension} variables, {size}", header, rows)

    def _check_coded(self, x: FloatArray) -> None:
        if x.ndim != 2 or x.shape[1] != self.dimension:
            raise ValueError(f"x must have shape (n, {self.dimension}), got {x.shape}")
        is_inside = (x >= self._coded_low) & (x <= self._coded_high)
        good = is_inside & (self._sites.is_continuous | (np.floor(x) == x))
        if not good.all():
            row, i = np.argwhere(~good)[0]
            kind = "a number" if self._sites.is_continuous[i] else "a whole number"
            wanted = f"{kind} from {self._coded_low[i]} to {self._coded_high[i]}"
            raise ValueError(
                f"x must be {wanted} for variable {self.names[i]!r}, got {x[row, i]} in row {row}"
            )


def _option_text(variable: Variable, option: str) -> str:
    """Return one of the arguments by keyword as a table shows it, empty if it was not given."""
    given = variable.options.get(option)
    if option == "prior" and given is not None:
        return ", ".join(f"{share:.3g}" for share in given[:10]) + (", ..." if len(given) > 10 else "")
    return "" if option not in variable.options else str(given)


def _pairs(variables: Any) -> list[tuple[Any, Any]]:
    if isinstance(variables, Mapping):
        return list(variables.items())
    hint = "use Space.array([...]) for points that are arrays"
    wanted = f"a dict of names and variables ({hint})"
    pairs = check_list("variables", variables, wanted, most=MAX_VARIABLES)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"variables must be a dict, or pairs of a name and a variable ({hint}), got {shown(pair)}"
            )
    return pairs
