"""What is tried next on a solution: itself, single changes of it, or parts of other solutions."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import CATEGORY, CONTINUOUS, LATTICE, Sites
from dcmaes.strategies.mixing._linkage import membership

# Largest steps of a continuous site, in unit coordinates; what is drawn is uniform below each of them.
_DRIFTS = (0.5, 0.1, 0.02, 0.004)

Mask = NDArray[np.bool_]


class Plan(Protocol):
    """Numbered steps that may be tried on a solution.

    Attributes
    ----------
    n_steps : int
        How many there are.
    """

    n_steps: int

    def apply(self, x: FloatArray, step: int) -> FloatArray | None:
        """Return the solution with the step made, or None if that changes nothing."""

    def find(self, x: FloatArray, y: FloatArray, done: Mask) -> int | None:
        """Return a step not done yet that leads from `x` to `y`, or None."""

    def left_done(self, done: Mask, step: int) -> Mask:
        """Return which steps need not be tried after `step` was made, given what was done before it."""

    def repeats(self, step: int) -> bool:
        """Tell whether a step that was made should be tried once more."""


class Begin:
    """The one step that leaves a solution as it is: its own evaluation."""

    n_steps = 1

    def apply(self, x: FloatArray, step: int) -> FloatArray | None:
        """Return the solution itself."""
        return x

    def find(self, x: FloatArray, y: FloatArray, done: Mask) -> int | None:
        """Return the step if `y` is the solution."""
        return 0 if (x == y).all() else None

    def left_done(self, done: Mask, step: int) -> Mask:
        """Return that nothing is left."""
        return np.ones(1, dtype=np.bool_)

    def repeats(self, step: int) -> bool:
        """Return False."""
        return False


class Climb:
    """All single changes in random order: every other state of two-state and one-of-c sites, and steps of 1,
    2, 4, ... up and down on longer lattices; a few random steps for continuous sites.
    """

    def __init__(self, sites: Sites, rng: np.random.Generator) -> None:
        self._sites = sites
        site, amount = _single_changes(sites, rng)
        order = rng.permutation(len(site))
        self.n_steps = len(order)
        self._site_of = site[order]
        self._site: list[int] = site[order].tolist()
        self._amount: list[float] = amount[order].tolist()
        # Sites whose states are all tried: what was tried of them stays known while only they change.
        self._is_choice = sites.is_choice[self._site_of]
        self._kind: list[int] = sites.kind.tolist()
        self._n_states: list[int] = sites.n_states.tolist()
        is_circle = sites.periodic | (sites.n_states == 2)
        self._is_circle: list[bool] = is_circle.tolist()
        self._uniforms = _uniforms(sites, rng)

    def apply(self, x: FloatArray, step: int) -> FloatArray | None:
        """Return the solution with one site changed."""
        site, old = self._site[step], x[self._site[step]]
        new = self._changed(x, site, self._amount[step])
        if new is None or new == old:
            return None
        y = x.copy()
        y[site] = new
        if self._sites.has_conditions:
            # A change of a site that is inactive is none; a site that wakes up has to have some state.
            y = self._sites.canonical(self._sites.awake(y, x, self._uniforms))
            return None if (y == x).all() else y
        return y

    def find(self, x: FloatArray, y: FloatArray, done: Mask) -> int | None:
        """Return the step that makes the one change between `x` and `y`, and what follows from it."""
        changed = np.flatnonzero(x != y)
        if self._sites.has_conditions:
            for step in np.flatnonzero(np.isin(self._site_of, changed) & ~done).tolist():
                z = self.apply(x, step)
                if z is not None and (z == y).all():
                    return int(step)
            return None
        if len(changed) != 1:
            return None
        site = int(changed[0])
        for step in np.flatnonzero((self._site_of == site) & ~done).tolist():
            if self._changed(x, site, self._amount[step]) == y[site]:
                return int(step)
        return None

    def left_done(self, done: Mask, step: int) -> Mask:
        """Return the states of the same site that were tried since the last improvement elsewhere."""
        left: Mask = done & self._is_choice & (self._site_of == self._site[step])
        return left

    def repeats(self, step: int) -> bool:
        """Return True for steps along a line: they may go on in their direction."""
        return not self._is_choice[step]

    def _changed(self, x: FloatArray, site: int, amount: float) -> float | None:
        kind, n_states = self._kind[site], self._n_states[site]
        if kind == CATEGORY:
            return amount
        if kind == LATTICE:
            state = float(x[site]) + amount
            if self._is_circle[site]:
                return state % n_states
            return state if 0.0 <= state < n_states else None
        u = self._sites.coordinate(x)
        u[site] += amount
        return float(self._sites.from_coordinate(u, np.zeros(len(u)))[site])


class Mix:
    """For each cluster of the linkage tree, its values in another solution, drawn among those that differ.

    Inactive sites of a donor say nothing and are not copied. Sites that wake up in the solution have the
    donor's states.
    """

    def __init__(
        self, sites: Sites, members: FloatArray, sets: list[IntArray], rng: np.random.Generator
    ) -> None:
        self._sites = sites
        self._members = members
        self._sets = sets
        self._is_in = membership(sets, members.shape[1])
        self._uniforms: list[float] = rng.random(len(sets)).tolist()
        self._spare = _uniforms(sites, rng)
        self.n_steps = len(sets)

    def apply(self, x: FloatArray, step: int) -> FloatArray | None:
        """Return the solution with a cluster copied from a member of the population."""
        if self._sites.has_conditions:
            mixed = self._mixed(x, self._is_in[step])
            mixed = mixed[(mixed != x).any(axis=1)]
            return mixed[int(self._uniforms[step] * len(mixed))] if len(mixed) else None
        sites = self._sets[step]
        parts = self._members[:, sites]
        donors = np.flatnonzero((parts != x[sites]).any(axis=1))
        if len(donors) == 0:
            return None
        y = x.copy()
        y[sites] = parts[donors[int(self._uniforms[step] * len(donors))]]
        return y

    def find(self, x: FloatArray, y: FloatArray, done: Mask) -> int | None:
        """Return the step that copies what differs between `x` and `y`."""
        is_outside = ~self._is_in[:, x != y]
        if self._sites.has_conditions:  # sites outside of a cluster fall asleep or wake up with it
            is_outside = is_outside[:, :0]
        for step in np.flatnonzero(~(is_outside.any(axis=1) | done)).tolist():
            copied = self.apply(x, step)
            if copied is not None and (copied == y).all():
                return int(step)
        return None

    def left_done(self, done: Mask, step: int) -> Mask:
        """Return the clusters tried: each gets one donor."""
        return done

    def repeats(self, step: int) -> bool:
        """Return False."""
        return False

    def _mixed(self, x: FloatArray, is_in: Mask) -> FloatArray:
        """Return the solution with a cluster copied from each member, shape (n, d)."""
        is_asleep = ~self._sites.active(x)
        own = np.where(is_asleep, self._sites.uniform(self._spare), x)
        is_copied = (is_in | is_asleep) & self._sites.active(self._members)
        return self._sites.canonical(np.where(is_copied, self._members, own))


def _uniforms(sites: Sites, rng: np.random.Generator) -> FloatArray:
    """Return random numbers for the states of sites that wake up, shape (d,); none where none can."""
    return rng.random(sites.dimension) if sites.has_conditions else np.empty(0)


def _single_changes(sites: Sites, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return site and amount of each change: the new state of categories, else the difference."""
    amounts: list[FloatArray] = []
    for kind, n_states, is_circle, low, high in zip(
        sites.kind, sites.n_states, sites.periodic, sites.low, sites.high, strict=True
    ):
        if kind == CONTINUOUS:
            drift = rng.random(2 * len(_DRIFTS)) * np.tile(_DRIFTS, 2) * np.repeat([1.0, -1.0], len(_DRIFTS))
            amounts.append(drift if low < high else np.empty(0))
        elif n_states == 1:
            amounts.append(np.empty(0))
        elif kind == CATEGORY:
            amounts.append(np.arange(float(n_states)))
        elif n_states == 2:
            amounts.append(np.ones(1))
        else:
            reach = n_states // 2 if is_circle else n_states - 1
            steps = 2.0 ** np.arange(int(reach).bit_length())
            amounts.append(np.concatenate([steps, -steps]))
    site = np.repeat(np.arange(sites.dimension), [len(amount) for amount in amounts])
    return site, np.concatenate(amounts)
