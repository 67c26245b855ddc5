"""What the strategy learns from results: the centre, the widths, the variances of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Regression
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._cliff import judge_cliff
from dcmaes.strategies.ising._constants import (
    BATCH,
    GAIN_IN_DEVIATIONS,
    LARGEST_CHOICE_SHARE,
    LARGEST_WIDTH,
    LOW_SHARES,
    REACH_KEEP,
    REFIT_SHARE,
    SMALLEST_CHOICES,
    SMALLEST_REACH,
    SMALLEST_WIDTH,
    WIDE_STEPS,
    WIDTH_FACTOR,
    WIDTH_KEEP,
)
from dcmaes.strategies.ising._plateau import Blame
from dcmaes.strategies.ising._relevance import with_constant
from dcmaes.strategies.ising._state import IsingState, Posterior, best_of


def learn(state: IsingState, told: Evaluations, memory: Memory) -> IsingState:
    """Return the state after some results, which are in the memory."""
    fresh = told.fresh()
    if len(fresh) == 0:
        return replace(state, idle=state.idle + 1) if len(told) else state
    now = state.given(memory)
    now = _move_by_model(now, fresh) if _has_model(now) and now.is_noisy else _move(now, fresh)
    return _refitted(now, memory.n_seen).learned


def follow(state: IsingState, memory: Memory) -> IsingState:
    """Return the state after others have evaluated points: at the best of them, if that is better."""
    now = state.given(memory)
    best, level = best_of(now)
    if level < state.level and not now.is_noisy:
        changed = (best != state.centre).astype(np.float64)
        now = replace(now, centre=best, level=level, blame=state.blame.better(changed), idle=0)
    return _refitted(now, memory.n_seen).learned


def _refitted(state: Posterior, n_seen: int) -> Posterior:
    """Return the state with its model refitted if that is due after so many evaluations."""
    enough = max(BATCH, REFIT_SHARE * min(n_seen, 1000))
    is_due = _has_model(state) and n_seen - state.n_fitted >= enough
    return _refit(state, n_seen) if is_due else state


def _has_model(state: Posterior) -> bool:
    return bool(np.isfinite(state.level[0]) and state.feature_map.n_features)


def _move(state: Posterior, told: Evaluations) -> Posterior:
    """Return the state with its centre at the best point, looking as far as the proposals went."""
    best = int(told.order()[0])
    level = told.rank(best)
    if not np.isfinite(state.level[0]):
        return replace(state, centre=told.x[best], level=level) if np.isfinite(level[0]) else state
    return replace(
        _followed(state, told.take(told.order()[: (len(told) + 1) // 2]), len(told)),
        # Ties move the centre too: that is how plateaus are crossed.
        centre=told.x[best] if level <= state.level else state.centre,
        level=min(level, state.level),
        blame=_blamed(state, told),
        idle=0 if level < state.level else state.idle + len(told),
    )


def _move_by_model(state: Posterior, told: Evaluations) -> Posterior:
    """Return the state with its centre at the remembered point, of those near it, with the lowest prediction.

    So one lucky value among many that are higher does not hold the centre, and nothing is learned from ties.
    """
    model, around, memory = state.model, state.neighbourhood, state.memory
    violation = memory.violation[around.row]
    candidates = np.flatnonzero(violation == violation.min())
    best = candidates[int(model.predict(around.features[candidates]).argmin())]
    predicted = model.predict(state.feature_map.features(told.x))
    better = told.take(np.lexsort((predicted, told.violation))[: (len(told) + 1) // 2])
    return replace(
        _followed(state, better, len(told)),
        centre=memory.x[around.row[best]],
        level=memory.rank(int(around.row[best])),
        blame=Blame.none(state.sites.dimension),
        idle=0 if _is_gain(model, around.features[best]) else state.idle + len(told),
    )


def _is_gain(model: Regression, features: FloatArray) -> bool:
    """Tell whether a point is better than the centre by more than chance explains (Q16)."""
    both = np.stack([np.zeros_like(features), features])
    step = np.array([1.0, -1.0])
    variance = float(step @ model.covariance(both) @ step)
    gain = float(step @ model.predict(both))
    return gain > GAIN_IN_DEVIATIONS * float(np.sqrt(max(variance, 0.0)))


def _followed(state: Posterior, better: Evaluations, n_told: int) -> Posterior:
    """Return the state looking as far as the better half of what was told has gone."""
    keep = REACH_KEEP**n_told
    n_choices = state.feature_map.n_choices
    changed = float(state.feature_map.features(better.x)[:, :n_choices].sum(axis=1).mean())
    return replace(
        state,
        width=_followed_width(state, better, n_told),
        reach=max(SMALLEST_REACH, keep * state.reach + (1 - keep) * changed),
    )


def _blamed(state: Posterior, told: Evaluations) -> Blame:
    """Return what the results say of sites that must not change, one after the other."""
    blame, base, best = state.blame, state.centre, state.level
    for i in range(len(told)):
        level, changed = told.rank(i), (told.x[i] != base).astype(np.float64)
        if level > best:
            blame = blame.worse(changed)
        elif level == best:
            blame = blame.tie(changed)
        else:
            blame, base, best = blame.better(changed), told.x[i], level
    return blame


def _followed_width(state: Posterior, better: Evaluations, n_told: int) -> FloatArray:
    """Return widths that follow the steps of the better half of what the model proposed (Q10)."""
    sites = state.sites
    step = sites.coordinate(better.x) - sites.coordinate(state.centre)
    step = np.where(sites.periodic, step - np.rint(step), step)
    keep = WIDTH_KEEP**n_told
    if sites.has_conditions:  # a site that is inactive here or there says nothing: it keeps its width
        is_step = sites.active(better.x) & sites.active(state.centre)
        step = np.where(is_step, step, state.width / WIDTH_FACTOR)
    typical = np.sqrt((step**2).mean(axis=0))
    followed: FloatArray = keep * state.width + (1 - keep) * WIDTH_FACTOR * typical
    return np.clip(followed, SMALLEST_WIDTH, LARGEST_WIDTH)


def _refit(state: Posterior, n_seen: int) -> Posterior:
    """Return the state with variances of higher likelihood: more steps while each result says much."""
    n_steps = 4 if n_seen < 100 else 2
    for _ in range(n_steps):
        state = _improved(state)
    state = _judged_cliff(_judged_share(state))
    return replace(state, n_fitted=n_seen, n_fits=state.n_fits + 1)


def _improved(state: Posterior) -> Posterior:
    variances = with_constant(state.model.improved_variances())
    variances[2] = max(variances[2], SMALLEST_CHOICES * variances[1])
    if state.limit is None:
        return replace(state, variances=variances)
    of_barrier = with_constant(state.limit.improved_variances())
    return replace(state, variances=variances, barrier_variances=of_barrier)


def _judged_share(state: Posterior) -> Posterior:
    """Return the state with a larger or smaller share of low values, in turns, if that predicts better."""
    other = state.low_share + (1 if state.n_fits % 2 else -1)
    largest = LARGEST_CHOICE_SHARE if state.feature_map.n_choices else len(LOW_SHARES) - 1
    if not 0 <= other <= largest:
        return state
    changed = _improved(replace(state, low_share=other))
    return changed if changed.foresight > state.foresight else state


def _judged_cliff(state: Posterior) -> Posterior:
    """Return the state with points beyond a cliff told apart, where a regression tells which they are."""
    level = _regardless_of_cliffs(state)
    around, has_numbers = level.around, len(state.feature_map.numeric) > 0
    # Violations of different size tell more than a cliff; values of numbers have gaps of all sizes.
    is_known = state.is_noisy or bool(around.excess.any())
    if is_known or (has_numbers and not around.is_infeasible.any()):
        return level
    found = judge_cliff(around, LOW_SHARES[state.low_share], state.variances)
    if found is None:
        return level
    return replace(
        state, cliff=found.how, variances=found.variances, barrier_variances=found.barrier_variances
    )


def _regardless_of_cliffs(state: Posterior) -> Posterior:
    """Return the state without a cliff: the same one, with all it has computed, if there is none."""
    return replace(state, cliff="") if state.cliff else state


def wide_model(state: Posterior) -> Regression:
    """Return a regression in which also values far above the best count: what is asked is who interacts."""
    # Also who interacts in a penalty.
    around = _regardless_of_cliffs(state).neighbourhood
    model = around.regression(LOW_SHARES[-1], state.variances)
    for _ in range(WIDE_STEPS):
        model = replace(model, variances=model.improved_variances())
    return model
