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
    MEMORY,
    REACH_KEEP,
    REFIT_SHARE,
    SMALLEST_REACH,
    SMALLEST_WIDTH,
    WIDTH_FACTOR,
    WIDTH_KEEP,
)
from dcmaes.strategies.ising._model import IsingState, around, best_of, foresight, model, refined
from dcmaes.strategies.ising._neighbourhood import Neighbourhood
from dcmaes.strategies.ising._plateau import Blame


def learn(state: IsingState, told: Evaluations, memory: Memory) -> IsingState:
    """Return the state after some results, which are in the memory."""
    fresh = told.fresh()
    if len(fresh) == 0:
        return replace(state, idle=state.idle + 1) if len(told) else state
    by_model = memory.is_noisy and _has_model(state)
    return _refitted(_moved_by_model(state, fresh, memory) if by_model else _moved(state, fresh), memory)


def follow(state: IsingState, memory: Memory) -> IsingState:
    """Return the state after others have evaluated points: at the best of them, if that is better."""
    best = best_of(memory.recall(MEMORY), memory.deviation)
    if best is not None and best[1] < state.level and not memory.is_noisy:
        changed = (best[0] != state.centre).astype(np.float64)
        state = replace(state, centre=best[0], level=best[1], blame=state.blame.better(changed), idle=0)
    return _refitted(state, memory)


def _has_model(state: IsingState) -> bool:
    return bool(np.isfinite(state.level[0]) and state.feature_map.n_features)


def _moved(state: IsingState, told: Evaluations) -> IsingState:
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


def _moved_by_model(state: IsingState, told: Evaluations, memory: Memory) -> IsingState:
    """Return the state with its centre at the remembered point, of those near it, with the lowest prediction.

    So one lucky value among many that are higher does not hold the centre, and nothing is learned from ties.
    """
    known, found = memory.recall(MEMORY), model(state, memory)
    near, values = found.used, found.values
    violation = known.violation[near.row]
    candidates = np.flatnonzero(violation == violation.min())
    best = candidates[int(values.predict(near.features[candidates]).argmin())]
    predicted = values.predict(state.feature_map.features(told.x))
    better = told.take(np.lexsort((predicted, told.violation))[: (len(told) + 1) // 2])
    return replace(
        _followed(state, better, len(told)),
        centre=known.x[near.row[best]],
        level=known.rank(int(near.row[best])),
        blame=Blame.none(state.sites.dimension),
        idle=0 if _is_gain(values, near.features[best]) else state.idle + len(told),
    )


def _is_gain(model: Regression, features: FloatArray) -> bool:
    """Tell whether a point is better than the centre by more than chance explains (Q16)."""
    both = np.stack([np.zeros_like(features), features])
    step = np.array([1.0, -1.0])
    variance = float(step @ model.covariance(both) @ step)
    gain = float(step @ model.predict(both))
    return gain > GAIN_IN_DEVIATIONS * float(np.sqrt(max(variance, 0.0)))


def _followed(state: IsingState, better: Evaluations, n_told: int) -> IsingState:
    """Return the state looking as far as the better half of what was told has gone."""
    keep = REACH_KEEP**n_told
    n_choices = state.feature_map.n_choices
    changed = float(state.feature_map.features(better.x)[:, :n_choices].sum(axis=1).mean())
    return replace(
        state,
        width=_followed_width(state, better, n_told),
        reach=max(SMALLEST_REACH, keep * state.reach + (1 - keep) * changed),
    )


def _blamed(state: IsingState, told: Evaluations) -> Blame:
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


def _followed_width(state: IsingState, better: Evaluations, n_told: int) -> FloatArray:
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


def _refitted(state: IsingState, memory: Memory) -> IsingState:
    """Return the state with variances of higher likelihood, if there are enough new evaluations."""
    n = memory.n_seen
    is_due = n - state.n_fitted >= max(BATCH, REFIT_SHARE * min(n, 1000))
    if not (is_due and _has_model(state)):
        return state
    near = around(state, memory)
    # More steps while each result says much.
    for _ in range(4 if n < 100 else 2):
        state = refined(state, near)
    state = _judged_share(state, near)
    state = replace(state, cliff="") if memory.is_noisy else _judged_cliff(state, near)
    return replace(state, n_fitted=n, n_fits=state.n_fits + 1)


def _judged_share(state: IsingState, near: Neighbourhood) -> IsingState:
    """Return the state with a larger or smaller share of low values, in turns, if that predicts better."""
    share = state.low_share + (1 if state.n_fits % 2 else -1)
    largest = LARGEST_CHOICE_SHARE if state.feature_map.n_choices else len(LOW_SHARES) - 1
    if not 0 <= share <= largest:
        return state
    changed = refined(replace(state, low_share=share), near)
    return changed if foresight(changed, near) > foresight(state, near) else state


def _judged_cliff(state: IsingState, near: Neighbourhood) -> IsingState:
    """Return the state with a cliff where a regression tells which points are beyond it."""
    flat = replace(state, cliff="")
    # Violations of different size tell more than a cliff; values of numbers have gaps of all sizes.
    has_numbers = len(state.feature_map.numeric) > 0
    if near.excess.any() or (has_numbers and not near.is_infeasible.any()):
        return flat
    found = judge_cliff(near, LOW_SHARES[state.low_share], state.variances)
    if found is None:
        return flat
    return replace(
        state, cliff=found.how, variances=found.variances, barrier_variances=found.barrier_variances
    )
