"""One solution after another: climb, mix with every floor of the pyramid, rise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._protocol import Evaluations, Known
from dcmaes.strategies.mixing._plans import Begin
from dcmaes.strategies.mixing._state import (
    BEGIN,
    CLIMB,
    WORST,
    Level,
    MixingState,
    Population,
    make_plan,
)

# After so many known points in a row, known ones are passed over: the optimizer gives up after five.
PATIENCE = 3
# How many points are passed over for one sample before a known one is handed out after all.
_MAX_PASSED = 200
# How many phases ahead a told point is looked for that was drawn by passing over known ones.
_PHASES_AHEAD = 8


def begin(sites: Sites, x: FloatArray, level: Level, seed: int) -> MixingState:
    """Return the state with nothing but a first solution."""
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
        at=0,
        proposal=x,
        has_improved=False,
        n_repeats=0,
        pyramid=(),
    )
    return state if level == WORST else settle(_enter(state, CLIMB))


def propose(state: MixingState, n: int, known: Known) -> FloatArray:
    """Return the next `n` steps, each as if none before it was kept, shape (n, d)."""
    pending = {row.tobytes() for row in known.pending}
    is_new_wanted = state.n_repeats >= PATIENCE
    rows: list[FloatArray] = []
    n_passed = 0
    while True:
        y = state.proposal
        is_passed = y.tobytes() in pending or (is_new_wanted and bool(known.contains(y[None])[0]))
        if is_passed and n_passed < _MAX_PASSED:
            n_passed += 1
        else:
            rows.append(y)
            if len(rows) == n:
                return np.array(rows)
        state = settle(_without(state, state.at))


def learn(state: MixingState, told: Evaluations) -> MixingState:
    """Return the state after all of `told`, in order."""
    values = np.where(np.isnan(told.value), np.inf, told.value).tolist()
    for y, value, violation, is_repeat in zip(
        told.x, values, told.violation.tolist(), told.is_repeat.tolist(), strict=True
    ):
        state = _learn_one(state, y, (violation, value), is_repeat)
    return state


def _learn_one(state: MixingState, y: FloatArray, level: Level, is_repeat: bool) -> MixingState:
    if (y == state.proposal).all():
        step: int | None = state.at
    else:
        state, step = _find(state, y)
    state = replace(
        state,
        n_repeats=state.n_repeats + 1 if is_repeat else 0,
        record=min(state.record, level),
    )
    if step is None:
        return _visit(state, y, level)
    if state.phase == BEGIN:
        return settle(_enter(replace(state, level=level), CLIMB))
    is_kept = level < state.level or (level == state.level and state.phase != CLIMB)
    state = _with(state, y, level, step) if is_kept else _without(state, step)
    return settle(state)


def _find(state: MixingState, y: FloatArray) -> tuple[MixingState, int | None]:
    """Return the step that `y` is the result of, in the state in which it comes."""
    step = state.plan.find(state.x, y, state.done)
    if state.n_repeats < PATIENCE:
        return state, step
    ahead = state
    for _ in range(_PHASES_AHEAD):
        if step is not None:
            order = np.arange(ahead.at, ahead.at + (step - ahead.at) % len(ahead.done))
            done = ahead.done.copy()
            done[order % len(done)] = True
            return replace(ahead, done=done), step
        ahead = settle(_next_phase(ahead))
        step = ahead.plan.find(ahead.x, y, ahead.done)
    return state, None


def _visit(state: MixingState, y: FloatArray, level: Level) -> MixingState:
    """Take a point that is no step of the plan, if it is better, and the best of all or near the solution."""
    n_changed = int((y != state.x).sum())
    is_near = n_changed <= max(2, len(y) // 4)
    if n_changed == 0 or level >= state.level or not (is_near or level == state.record):
        return state
    state = replace(state, x=y.copy(), level=level, has_improved=True)
    if state.phase in (BEGIN, CLIMB):
        state = _enter(state, CLIMB)
    return settle(state)


def _with(state: MixingState, y: FloatArray, level: Level, step: int) -> MixingState:
    """Return the state with a step kept."""
    done = state.done.copy()
    done[step] = not state.plan.repeats(step)
    return replace(
        state,
        x=y.copy(),
        level=level,
        done=state.plan.left_done(done, step),
        at=step,
        has_improved=state.has_improved or level < state.level,
    )


def _without(state: MixingState, step: int) -> MixingState:
    """Return the state with a step tried and not kept."""
    done = state.done.copy()
    done[step] = True
    return replace(state, done=done)


def settle(state: MixingState) -> MixingState:
    """Return the state at its next step that changes something, in the next phase if there is none."""
    while True:
        left = np.flatnonzero(~state.done)
        # Round in a circle: steps that come after the last one kept are the longest not tried.
        first = int(np.searchsorted(left, state.at))
        for k in range(len(left)):
            step = int(left[(first + k) % len(left)])
            y = state.plan.apply(state.x, step)
            if y is not None:
                return replace(state, at=step, proposal=y)
        state = _next_phase(state)


def _next_phase(state: MixingState) -> MixingState:
    if state.phase == BEGIN:
        return _enter(state, CLIMB)
    floor = state.phase + 1
    pyramid = state.pyramid
    if (state.phase == CLIMB or state.has_improved) and not any(p.contains(state.x) for p in pyramid):
        risen = state.x[None]
        if floor == len(pyramid):
            pyramid = (*pyramid, Population(risen, state.seed))
        else:
            grown = pyramid[floor].with_solutions(risen)
            pyramid = (*pyramid[:floor], grown, *pyramid[floor + 1 :])
    state = replace(state, pyramid=pyramid, has_improved=False)
    return _enter(state, floor if floor < len(pyramid) else BEGIN)


def _enter(state: MixingState, phase: int) -> MixingState:
    """Return the state at the start of a phase."""
    counter = state.counter + 1
    x, level = state.x, state.level
    if phase == BEGIN:
        rng = np.random.default_rng([state.seed, counter])
        x, level = state.sites.uniform(rng.random(state.sites.dimension)), WORST
    plan = make_plan(state.sites, state.seed, counter, phase, state.pyramid)
    done = np.zeros(plan.n_steps, dtype=np.bool_)
    return replace(
        state, counter=counter, x=x, level=level, phase=phase, plan=plan, done=done, at=0, has_improved=False
    )


def inject(state: MixingState, told: Evaluations) -> MixingState:
    """Return the state with evaluated points added to the lowest floor; failures and known ones are not."""
    order = told.order()
    usable = order[np.isfinite(told.violation[order])]
    _, first = np.unique(told.x[usable], axis=0, return_index=True)
    rows = [row for row in told.x[usable[np.sort(first)]] if not any(p.contains(row) for p in state.pyramid)]
    if not rows:
        return state
    new = np.array(rows)
    if state.pyramid:
        pyramid = (state.pyramid[0].with_solutions(new), *state.pyramid[1:])
    else:
        pyramid = (Population(new, state.seed),)
    state = replace(state, pyramid=pyramid)
    # A phase that mixes with the lowest floor begins again: its plan is made of what the floor was.
    return settle(_enter(state, 0)) if state.phase == 0 else state
