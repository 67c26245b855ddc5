"""Everything the strategy has learned, frozen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import Sites
from dcmaes.strategies._codec import DERIVED
from dcmaes.strategies._evaluations import Rank, Spans
from dcmaes.strategies.mixing._linkage import clusters
from dcmaes.strategies.mixing._plans import Begin, Climb, Mask, Mix, Plan

BEGIN, CLIMB = -2, -1
# Single changes that are tried more often than this on one solution are counted together.
MOST_TRIES = 4


@dataclass(frozen=True, eq=False)
class Population:
    """One floor of the pyramid.

    Attributes
    ----------
    x : array of shape (n, d)
        Its solutions, all different.
    seed : int
        What breaks ties in its linkage tree.
    """

    x: FloatArray
    seed: int

    @cached_property
    def clusters(self) -> list[IntArray]:
        """Sets of sites to be copied together, the smallest first."""
        return clusters(self.x, np.random.default_rng([self.seed, len(self.x)]))

    def contains(self, x: FloatArray) -> bool:
        """Tell whether a solution is in the population."""
        return bool((self.x == x).all(axis=1).any())

    def with_solutions(self, x: FloatArray) -> Population:
        """Return the population with more solutions, shape (m, d)."""
        return Population(np.concatenate([self.x, x]), self.seed)


@dataclass(frozen=True, eq=False)
class Tally:
    """How often steps have improved a solution, to tell how often a single change is worth trying on it.

    Attributes
    ----------
    tried, improved : arrays of shape (1 + MOST_TRIES,)
        First those of mixing, then of single changes tried the first time, the second time, and so on; the
        last one also counts all later times.

    Examples
    --------
    Mixing improves a tenth of the time, and changes tried a second time never did:

    >>> Tally(np.array([50.0, 64, 64, 0, 0]), np.array([5.0, 16, 0, 0, 0])).n_tries
    1
    >>> Tally.none().n_tries
    inf
    """

    tried: FloatArray
    improved: FloatArray

    @staticmethod
    def none() -> Tally:
        """Return the tally before anything was tried."""
        return Tally(np.zeros(1 + MOST_TRIES), np.zeros(1 + MOST_TRIES))

    def after(self, n_tries: int, is_better: bool) -> Tally:
        """Return the tally after a single change that was tried so many times; 0 for a step of mixing."""
        own = np.arange(1 + MOST_TRIES) == min(n_tries, MOST_TRIES)
        return Tally(self.tried + own, self.improved + own * is_better)

    @property
    def n_tries(self) -> float:
        """How often a single change is tried on one solution: while that improves as often as mixing."""
        rate = (self.improved + 1) / (self.tried + 1)  # (L5)
        rate[0] = self.improved[0] / max(self.tried[0], 1)
        useless = np.flatnonzero(rate[2:] < rate[0])
        return 1 + int(useless[0]) if len(useless) else math.inf


@dataclass(frozen=True, eq=False)
class MixingState:
    """State of the `mixing` strategy.

    Attributes
    ----------
    sites : Sites
        The space.
    seed, counter : int
        What random numbers are drawn from: one stream for each phase, which `counter` numbers.
    x : array of shape (d,)
        The solution at work.
    level : Rank
        That of the solution; infinite while it is not evaluated.
    record : Rank
        The best one told.
    phase : int
        BEGIN (evaluate the solution), CLIMB (try single changes), or the floor that it is mixed with.
    done : bool array
        Which of them need not be tried any more.
    tries : int array
        How often each of them was tried.
    at : int
        The step that comes next.
    proposal : array of shape (d,)
        The solution with that step made.
    has_improved : bool
        Whether mixing with this floor has made the solution better.
    pyramid : tuple of Population
        Its floors.
    told : Spans
        Places in the memory of the points it was told: only these are passed over as known.
    tally : Tally
        How often steps have improved a solution.
    plan : Plan
        The steps of the phase, as `make_plan` returns them.
    """

    sites: Sites
    seed: int
    counter: int
    x: FloatArray
    level: Rank
    record: Rank
    phase: int
    done: Mask
    tries: IntArray
    at: int
    proposal: FloatArray
    has_improved: bool
    pyramid: tuple[Population, ...]
    told: Spans
    tally: Tally
    plan: Plan = field(default_factory=Begin, metadata=DERIVED)

    def __post_init__(self) -> None:
        """Make the plan where it was left out, as in a state that is read, also as a part of another one."""
        if self.phase != BEGIN and isinstance(self.plan, Begin):
            plan = make_plan(self.sites, self.seed, self.counter, self.phase, self.pyramid)
            object.__setattr__(self, "plan", plan)

    @property
    def largest(self) -> FloatArray:
        """The solutions of the floor that has most of them, shape (n, d)."""
        floors = [floor.x for floor in self.pyramid]
        return max(floors, key=len) if floors else np.empty((0, self.sites.dimension))


def make_plan(sites: Sites, seed: int, counter: int, phase: int, pyramid: tuple[Population, ...]) -> Plan:
    """Return the steps of a phase, in the order that its random numbers give."""
    if phase == BEGIN:
        return Begin()
    rng = np.random.default_rng([seed, counter])
    if phase == CLIMB:
        return Climb(sites, rng)
    floor = pyramid[phase]
    return Mix(sites, floor.x, floor.clusters, rng)
