"""Which sites are active, depending on the states of others; and all points of a finite space in a row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, suggestion
from dcmaes.space._choices import Between, When

if TYPE_CHECKING:
    from dcmaes.space._variables import Variable

# Variables that depend on each other in a longer chain than this are a mistake.
_LONGEST_CHAIN = 100
Intervals = tuple[tuple[float, float], ...]
# The sites still to be decided on, each with the numbers of the tests that it waits for.
_Waiting = Mapping[int, frozenset[int]]


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


class _Branch(NamedTuple):
    """States that answer all tests alike, as (first, number) runs, and the sites decided on next."""

    runs: tuple[tuple[int, int], ...]
    nodes: tuple[_Node, ...]

    @property
    def n_states(self) -> int:
        return sum(number for _, number in self.runs)

    @property
    def size(self) -> int:
        return self.n_states * _product(self.nodes)


class _Node(NamedTuple):
    """An active site with what depends on it: as many points as its branches have together."""

    site: int
    branches: tuple[_Branch, ...]
    size: int


def _product(nodes: Iterable[_Node]) -> int:
    return math.prod(node.size for node in nodes)


class Listing:
    """The points of a finite space, each of them once, as a tree of decisions.

    Sites without conditions are digits of the number of a point, the first site the lowest. A site that
    others wait for splits the points by the answers that its states give; sites that have nothing to do with
    each other, then or from the start, are digits again. So nothing but the tree is kept, whatever the size.

    Parameters
    ----------
    n_states : int array of shape (d,)
        Number of states; 0 for continuous sites, which have one value in a finite space.
    base : array of shape (d,)
        The coded value of the first state.
    rest : array of shape (d,)
        The coded value of inactive sites.
    conditions : Conditions or None
        Which sites are active.

    Examples
    --------
    >>> from dcmaes import Binary, Integer, Space
    >>> listing = Space({"on": Binary(), "how": Integer(0, 2, when={"on": True})}).sites.listing
    >>> listing.size
    4
    >>> listing.points(np.arange(4))
    array([[0., 1.],
           [1., 0.],
           [1., 1.],
           [1., 2.]])
    """

    def __init__(
        self, n_states: IntArray, base: FloatArray, rest: FloatArray, conditions: Conditions | None
    ) -> None:
        self._n_states = np.maximum(n_states, 1)
        self._base = base
        self._rest = rest
        self._tests = () if conditions is None else conditions.tests
        self._known: dict[frozenset[tuple[int, frozenset[int]]], _Node] = {}

    @cached_property
    def size(self) -> int:
        """How many points there are."""
        return _product(self._roots)

    def points(self, numbers: IntArray) -> FloatArray:
        """Return the coded points with these numbers, from 0 to size - 1, shape (n, d)."""
        x = np.tile(self._rest, (len(numbers), 1))
        self._write(x, np.arange(len(numbers)), self._roots, numbers)
        return x

    @cached_property
    def _roots(self) -> tuple[_Node, ...]:
        waiting: dict[int, frozenset[int]] = {site: frozenset() for site in range(len(self._n_states))}
        for number, test in enumerate(self._tests):
            for child in test.children:
                waiting[child] |= {number}
        return self._nodes(waiting)

    def _nodes(self, waiting: _Waiting) -> tuple[_Node, ...]:
        """Return a node for each group of sites that depend on each other, by their first sites."""
        return tuple(self._node(group) for group in self._groups(waiting))

    def _groups(self, waiting: _Waiting) -> list[dict[int, frozenset[int]]]:
        leader = {site: site for site in waiting}

        def find(site: int) -> int:
            while leader[site] != site:
                leader[site] = leader[leader[site]]
                site = leader[site]
            return site

        for site, tests in waiting.items():
            for number in tests:
                first, second = sorted((find(site), find(self._tests[number].parent)))
                leader[second] = first
        groups: dict[int, dict[int, frozenset[int]]] = {}
        for site in sorted(waiting):
            groups.setdefault(find(site), {})[site] = waiting[site]
        return list(groups.values())

    def _node(self, group: _Waiting) -> _Node:
        key = frozenset(group.items())
        if key not in self._known:
            site = self._pivot(group)
            asked = sorted({n for tests in group.values() for n in tests if self._tests[n].parent == site})
            branches = tuple(
                _Branch(runs, self._nodes(self._decided(group, site, asked, answers)))
                for answers, runs in self._answers(site, asked).items()
            )
            self._known[key] = _Node(site, branches, sum(branch.size for branch in branches))
        return self._known[key]

    def _pivot(self, group: _Waiting) -> int:
        """Return the active site on which most others wait; of several the middle one, which splits them."""
        n_asking = Counter(self._tests[number].parent for tests in group.values() for number in tests)
        active = [site for site, tests in group.items() if not tests]
        most = max(n_asking[site] for site in active)
        central = [site for site in active if n_asking[site] == most]
        return central[len(central) // 2]

    def _answers(self, site: int, asked: list[int]) -> dict[tuple[bool, ...], tuple[tuple[int, int], ...]]:
        """Return the runs of states of a site by the answers that they give to tests."""
        n_states, base = int(self._n_states[site]), float(self._base[site])
        ends = {0, n_states}
        if n_states > 1:
            for number in asked:
                for low, high in self._tests[number].intervals:
                    ends |= {int(low), int(high) + 1}
        runs: dict[tuple[bool, ...], tuple[tuple[int, int], ...]] = {}
        cuts = sorted(ends)
        for first, end in pairwise(cuts):
            value = base + first
            answers = tuple(any(a <= value <= b for a, b in self._tests[n].intervals) for n in asked)
            runs[answers] = (*runs.get(answers, ()), (first, end - first))
        return runs

    def _decided(self, group: _Waiting, site: int, asked: list[int], answers: tuple[bool, ...]) -> _Waiting:
        """Return what is left to decide on when a site has answered: without sites that became inactive."""
        held = {number for number, answer in zip(asked, answers, strict=True) if answer}
        failed = set(asked) - held
        gone: set[int] = set()
        while more := {s for s, tests in group.items() if s not in gone and tests & failed}:
            gone |= more
            failed = {n for tests in group.values() for n in tests if self._tests[n].parent in gone} | failed
        return {s: tests - held for s, tests in group.items() if s != site and s not in gone}

    def _write(self, x: FloatArray, rows: IntArray, nodes: tuple[_Node, ...], numbers: IntArray) -> None:
        for node in nodes:
            numbers, digit = np.divmod(numbers, node.size)
            self._write_node(x, rows, node, digit)

    def _write_node(self, x: FloatArray, rows: IntArray, node: _Node, numbers: IntArray) -> None:
        first = np.array([0, *accumulate(branch.size for branch in node.branches)])
        which = np.searchsorted(first, numbers, side="right") - 1
        for i, branch in enumerate(node.branches):
            here = np.flatnonzero(which == i)
            if len(here) == 0:
                continue
            rest, place = np.divmod(numbers[here] - first[i], branch.n_states)
            x[rows[here], node.site] = self._base[node.site] + _state(branch.runs, place)
            self._write(x, rows[here], branch.nodes, rest)


def _state(runs: tuple[tuple[int, int], ...], place: IntArray) -> IntArray:
    """Return the states at places in runs that follow each other."""
    if len(runs) == 1:
        return runs[0][0] + place
    first = np.array([0, *accumulate(number for _, number in runs)])
    which = np.searchsorted(first, place, side="right") - 1
    states: IntArray = np.array([run[0] for run in runs])[which] + place - first[which]
    return states
