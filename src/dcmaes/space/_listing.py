"""All points of a finite space in a row: how many there are, and which one has a number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space._conditions import Conditions

# The sites still to be decided on, each with the numbers of the tests that it waits for.
_Waiting = Mapping[int, frozenset[int]]


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
