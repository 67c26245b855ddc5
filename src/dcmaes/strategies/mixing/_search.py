"""One solution after another: climb, mix with every floor of the pyramid, rise."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank, holds, with_place
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.mixing._plans import Begin
from dcmaes.strategies.mixing._state import BEGIN, CLIMB, MixingState, Population, Tally, make_plan

# How many steps to points out for evaluation are passed over for one sample, and how many to known points are
# made in a row, before one is handed out after all: in a space that is nearly known there may be no other.
_MAX_PASSED = 200
# With more points out than this, new solutions are handed out instead of steps: what steps there are is known
# only once some of these points are told, and passing over all of them takes time for every sample.
_MOST_OUT = 64


def begin(sites: Sites, x: FloatArray, level: Rank, seed: int, memory: Memory) -> MixingState:
    """Return the state with nothing but a first solution."""
    x = sites.canonical(x)
    state = MixingState(
        sites=sites,
        seed=seed,
        counter=0,
        x=x,
        level=level,
        record=level,
        phase=BEGIN,
        plan=Begin(),
        done=np.zeros(1, dtype=np.bool_),
        tries=np.zeros(1, dtype=np.int64),
        at=0,
        proposal=x,
        has_improved=False,
        pyramid=(),
        told=(),
        tally=Tally.none(),
    )
    if level == WORST:
        return state
    walk = Walk(state, memory)
    walk.enter(CLIMB)
    walk.settle()
    return walk.state()


def propose(state: MixingState, n: int, memory: Memory) -> FloatArray:
    """Return the next `n` steps, each as if none before it was kept, shape (n, d)."""
    out = memory.pending
    if len(out) > _MOST_OUT:
        rng = np.random.default_rng([state.seed, state.counter, len(out)])
        return state.sites.uniform(rng.random((n, state.sites.dimension)))
    pending = {row.tobytes() for row in out}
    walk: Walk | None = None
    y, n_passed = state.proposal, 0
    rows: list[FloatArray] = []
    while True:
        if y.tobytes() in pending and n_passed < _MAX_PASSED:
            n_passed += 1
        else:
            rows.append(y)
            if len(rows) == n:
                return np.array(rows)
        walk = walk or Walk(state, memory)
        walk.done[walk.at] = True
        walk.settle()
        y = walk.proposal


def learn(state: MixingState, told: Evaluations, memory: Memory) -> MixingState:
    """Return the state after all of `told`, in order."""
    walk = Walk(state, memory)
    values = np.where(np.isnan(told.value), np.inf, told.value).tolist()
    ranks = map(Rank, told.violation.tolist(), values)
    for y, rank, place in zip(told.x, ranks, told.row.tolist(), strict=True):
        walk.take(y, rank, place)
    return walk.state()


class Walk:
    """A state being worked on: the same attributes, to be changed in place.

    Arrays are replaced and never written to, but for `done` and `tries`, which are the walk's own.
    """

    def __init__(self, state: MixingState, memory: Memory) -> None:
        self._first = state
        self._memory = memory
        self._is_finite = state.sites.is_finite
        self.counter, self.phase, self.plan = state.counter, state.phase, state.plan
        self.x, self.level, self.record = state.x, state.level, state.record
        self.done, self.at, self.proposal = state.done.copy(), state.at, state.proposal
        self.has_improved, self.pyramid, self.told = state.has_improved, state.pyramid, state.told
        self.tries, self.tally = state.tries.copy(), state.tally

    def state(self) -> MixingState:
        """Return the state as it is now."""
        return MixingState(
            sites=self._first.sites,
            seed=self._first.seed,
            counter=self.counter,
            x=self.x,
            level=self.level,
            record=self.record,
            phase=self.phase,
            plan=self.plan,
            done=self.done,
            tries=self.tries,
            at=self.at,
            proposal=self.proposal,
            has_improved=self.has_improved,
            pyramid=self.pyramid,
            told=self.told,
            tally=self.tally,
        )

    def take(self, y: FloatArray, level: Rank, place: int) -> None:
        """Learn from one evaluation, which is at this place in the memory."""
        self.told = with_place(self.told, place)
        self.record = min(self.record, level)
        step = self.at if (y == self.proposal).all() else self.plan.find(self.x, y, self.done)
        if step is None:
            self._visit(y, level)
        else:
            self._try(step, y, level)
            self.settle()

    def settle(self) -> None:
        """Go on to the next step that leads to a point which is not known yet, or to the next solution."""
        for _ in range(_MAX_PASSED):
            self._seek()
            level = self._known(self.proposal) if self._is_finite else None
            if level is None or self.phase == BEGIN:
                return
            self._try(self.at, self.proposal, level)
        self._seek()

    def _known(self, y: FloatArray) -> Rank | None:
        """Return the rank of a point that this search was told, or that constraints exclude."""
        place = self._memory.find(y)
        return self._memory.rank(y) if place is None or holds(self.told, place) else None

    def _seek(self) -> None:
        """Go to the next step that changes something, in the next phase if there is none."""
        while True:
            left = (~self.done).nonzero()[0]
            # Round in a circle: steps that come after the last one kept are the longest not tried.
            first = int(left.searchsorted(self.at))
            for k in range(len(left)):
                step = int(left[(first + k) % len(left)])
                y = self.plan.apply(self.x, step)
                if y is not None:
                    self.at, self.proposal = step, y
                    return
            self._next_phase()

    def _try(self, step: int, y: FloatArray, level: Rank) -> None:
        """Keep a step or not, now that the level is known to which it leads."""
        if self.phase == BEGIN:
            self.level = level
            self.enter(CLIMB)
            return
        self.tries[step] += 1
        self.tally = self.tally.after(int(self.tries[step]) if self.phase == CLIMB else 0, level < self.level)
        if level > self.level:
            self.done[step] = True
        elif level == self.level and self.phase == CLIMB:
            self._drift(y, step)
        else:
            self._keep(y, level, step)

    def enter(self, phase: int) -> None:
        """Go to the start of a phase."""
        seed, sites = self._first.seed, self._first.sites
        self.counter += 1
        if phase == BEGIN:
            rng = np.random.default_rng([seed, self.counter])
            self.x, self.level = sites.canonical(sites.uniform(rng.random(sites.dimension))), WORST
        self.phase, self.has_improved, self.at = phase, False, 0
        self.plan = make_plan(sites, seed, self.counter, phase, self.pyramid)
        self.done = np.zeros(self.plan.n_steps, dtype=np.bool_)
        self.tries = np.zeros(self.plan.n_steps, dtype=np.int64)

    def _visit(self, y: FloatArray, level: Rank) -> None:
        """Take a point that is no step of the plan, if it is better, and near the solution or a record."""
        n_changed = int((y != self.x).sum())
        is_near = n_changed <= max(2, len(y) // 4)
        if n_changed == 0 or level >= self.level or not (is_near or level == self.record):
            return
        self.x, self.level, self.has_improved = y.copy(), level, True
        if self.phase in (BEGIN, CLIMB):
            self.enter(CLIMB)
        self.settle()

    def _drift(self, y: FloatArray, step: int) -> None:
        """Keep a single change that makes no difference: once, and not back, until another one improves."""
        self.done[step] = True
        back = self.plan.find(y, self.x, self.done)
        if back is not None:
            self.done[back] = True
        self.x, self.at = y.copy(), step

    def _keep(self, y: FloatArray, level: Rank, step: int) -> None:
        self.done[step] = not self.plan.repeats(step)
        self.done = self.plan.left_done(self.done, step)
        if self.phase == CLIMB:
            # A step along a line that goes on in its direction is no second try of the same change.
            self.tries[step] *= not self.plan.repeats(step)
            self.done |= self.tries >= self.tally.n_tries
        self.has_improved = self.has_improved or level < self.level
        self.x, self.level, self.at = y.copy(), level, step

    def _next_phase(self) -> None:
        if self.phase == BEGIN:
            self.enter(CLIMB)
            return
        floor = self.phase + 1
        if self.phase == CLIMB or self.has_improved:
            self._rise(floor)
        self.enter(floor if floor < len(self.pyramid) else BEGIN)

    def _rise(self, floor: int) -> None:
        """Add the solution to a floor, unless it is in the pyramid already."""
        pyramid, solution = self.pyramid, self.x[None]
        if any(population.contains(self.x) for population in pyramid):
            return
        if floor == len(pyramid):
            self.pyramid = (*pyramid, Population(solution, self._first.seed))
        else:
            self.pyramid = (
                *pyramid[:floor],
                pyramid[floor].with_solutions(solution),
                *pyramid[floor + 1 :],
            )
