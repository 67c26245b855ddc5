"""Everything the strategy has learned, frozen."""

from __future__ import annotations

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
    at: int
    proposal: FloatArray
    has_improved: bool
    pyramid: tuple[Population, ...]
    told: Spans
    plan: Plan = field(default_factory=Begin, metadata=DERIVED)

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
