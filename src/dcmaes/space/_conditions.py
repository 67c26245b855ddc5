"""Conditions: what `when=` says, and as arrays, which sites are active depending on the states of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, check_number, shown, suggestion
from dcmaes.space._choices import identity_key, plain_key

if TYPE_CHECKING:
    from dcmaes.space._variables import Variable

_ENDS = ("low", "high")
# A condition on more variables than this is a mistake.
_MOST_NAMES = 100
_FORMS = "a value, a list of values, or a range such as {'low': 1, 'high': 5}"
# Variables that depend on each other in a longer chain than this are a mistake.
_LONGEST_CHAIN = 100
Intervals = tuple[tuple[float, float], ...]


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


class Test(NamedTuple):
    """One question about a parent site, and the sites that are active only if the answer is yes."""

    parent: int
    intervals: Intervals
    children: tuple[int, ...]


class Conditions:
    """The conditions of a space: a site is active if all tests that it appears in hold, on active parents.

    Parameters
    ----------
    tests : sequence of Test
        In an order in which the tests that decide on a parent come before those that ask for its state.

    Examples
    --------
    >>> conditions = Conditions([Test(0, ((1.0, 2.0),), (1,)), Test(1, ((0.0, 0.0),), (2,))])
    >>> conditions.active(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[ True,  True,  True],
           [ True,  True, False],
           [ True, False, False]])
    """

    def __init__(self, tests: Sequence[Test]) -> None:
        self.tests = tuple(tests)
        self._levels = [_Level.of(level) for level in _by_level(self.tests)]

    def active(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell which sites of coded points are active, shape (..., d)."""
        active = np.ones(np.shape(x), dtype=bool)
        for level in self._levels:
            value = x[..., level.parent, np.newaxis]
            holds = ((value >= level.low) & (value <= level.high)).any(axis=-1) & active[..., level.parent]
            for test, child in level.rounds:
                active[..., child] &= holds[..., test]
        return active

    def __eq__(self, other: object) -> bool:
        return self.tests == other.tests if isinstance(other, Conditions) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.tests)


class _Level(NamedTuple):
    """Tests that can be made at once: parents (m,), intervals (m, k), and rounds in which children differ.

    A round is a pair of arrays: the numbers of tests, and the children that wait for them.
    """

    parent: IntArray
    low: FloatArray
    high: FloatArray
    rounds: list[tuple[IntArray, IntArray]]

    @staticmethod
    def of(tests: Sequence[Test]) -> _Level:
        most = max(len(test.intervals) for test in tests)
        # Intervals that hold nothing fill up the shorter lists.
        ends = [[*test.intervals, *[(np.inf, -np.inf)] * (most - len(test.intervals))] for test in tests]
        n_waiting: dict[int, int] = {}
        rounds: dict[int, list[tuple[int, int]]] = {}
        for number, test in enumerate(tests):
            for child in test.children:
                n_waiting[child] = n_waiting.get(child, 0) + 1
                rounds.setdefault(n_waiting[child], []).append((number, child))
        low, high = np.moveaxis(np.array(ends), -1, 0)
        columns = [np.array(pairs).T for pairs in rounds.values()]
        return _Level(
            np.array([test.parent for test in tests]), low, high, [(test, child) for test, child in columns]
        )


def _by_level(tests: Sequence[Test]) -> list[list[Test]]:
    """Return the tests by how many others, one after the other, decide on their parents."""
    depth: dict[int, int] = {}
    levels: dict[int, list[Test]] = {}
    for test in tests:
        own = depth.get(test.parent, 0)
        levels.setdefault(own, []).append(test)
        for child in test.children:
            depth[child] = max(depth.get(child, 0), own + 1)
    return [levels[number] for number in sorted(levels)]


def compile_conditions(names: Sequence[str], variables: Sequence[Variable]) -> Conditions | None:
    """Return what the conditions of variables mean for their sites, None if they have none; or raise.

    Parents that do not exist, values and ranges that they do not have, circles, and variables that can never
    be active raise ValueError naming the variables.
    """
    if all(variable.when is None for variable in variables):
        return None
    place = {name: i for i, name in enumerate(names)}
    whens = [None if v.when is None else When("when", v.when) for v in variables]
    for name, when in zip(names, whens, strict=True):
        _check_parents(name, when or {}, place)
    order = _sorted(names, [[place[parent] for parent in when or ()] for when in whens])
    asked: dict[tuple[int, Intervals], list[int]] = {}
    required: dict[int, dict[int, Intervals]] = {}
    for child in order:
        own: dict[int, Intervals] = {}
        for parent_name in whens[child] or ():
            parent = place[parent_name]
            own[parent] = _intervals(names[child], parent_name, whens[child], variables[parent])
            asked.setdefault((parent, own[parent]), []).append(child)
        required[child] = _required(child, own, required, names, variables)
    rank = {site: i for i, site in enumerate(order)}
    tests = (Test(parent, intervals, tuple(sorted(c))) for (parent, intervals), c in asked.items())
    return Conditions(sorted(tests, key=lambda test: rank[test.parent]))


def _check_parents(name: str, when: Iterable[str], place: Mapping[str, int]) -> None:
    for parent in when:
        if parent not in place:
            hint = suggestion(parent, place)
            raise ValueError(f"{name!r} depends on {parent!r}, which is not a variable of the space{hint}")


def _sorted(names: Sequence[str], parents: Sequence[Sequence[int]]) -> list[int]:
    """Return all sites, parents before children and otherwise in their order, or raise at a circle."""
    depth: dict[int, int] = {}
    for site in range(len(names)):
        path = [site] if site not in depth else []
        while path:
            waiting = [parent for parent in parents[path[-1]] if parent not in depth]
            if not waiting:
                last = path.pop()
                depth[last] = 1 + max((depth[parent] for parent in parents[last]), default=-1)
            elif waiting[0] in path:
                circle = [*path[path.index(waiting[0]) :], waiting[0]]
                links = ", which depends on ".join(repr(names[i]) for i in circle[1:])
                raise ValueError(
                    f"conditions must not go in a circle: {names[circle[0]]!r} depends on {links}"
                )
            else:
                path.append(waiting[0])
            if len(path) > _LONGEST_CHAIN:
                chain = f"from {names[path[0]]!r} to {names[path[-1]]!r}"
                raise ValueError(
                    f"at most {_LONGEST_CHAIN} variables may depend on each other in a chain, {chain}"
                )
    return sorted(depth, key=lambda site: (depth[site], site))


def _intervals(child: str, name: str, when: When | None, parent: Variable) -> Intervals:
    """Return the coded values of a parent for which a condition holds, as intervals in ascending order."""
    allowed = () if when is None else when.allowed(name)
    is_continuous = parent.n_values == np.inf
    try:
        if isinstance(allowed, Between):
            found = parent.states_between(*allowed)
            if not found:
                raise ValueError(f"no value of {parent!r} is in the range {when and when[name]!r}")
        else:
            found = [(state, state) for state in (parent.encode(name, value) for value in allowed)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{child!r} can never be active by its condition on {name!r}: {error}") from None
    if is_continuous and not any(low < high for low, high in found):
        hint = "its values never repeat; use a range such as {'low': 0.5}"
        raise ValueError(f"{child!r} depends on a single value of {name!r}, which is continuous: {hint}")
    return tuple(sorted(set(found)))


def _required(
    child: int,
    own: Mapping[int, Intervals],
    required: Mapping[int, Mapping[int, Intervals]],
    names: Sequence[str],
    variables: Sequence[Variable],
) -> dict[int, Intervals]:
    """Return the states of all ancestors with which a site is active, or raise if they exclude each other."""
    found = dict(own)
    for parent in own:
        for ancestor, intervals in required[parent].items():
            common = _common(found[ancestor], intervals) if ancestor in found else intervals
            is_continuous = variables[ancestor].n_values == np.inf
            if not any(low < high or not is_continuous for low, high in common):
                raise ValueError(
                    f"{names[child]!r} can never be active: what it needs of {names[ancestor]!r} and what "
                    f"{names[parent]!r}, on which it depends, needs of it exclude each other"
                )
            found[ancestor] = common
    return found


def _common(first: Intervals, second: Intervals) -> Intervals:
    """Return what two unions of intervals have in common."""
    pairs = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return tuple((low, high) for low, high in pairs if low <= high)
