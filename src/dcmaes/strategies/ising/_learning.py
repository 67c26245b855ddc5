"""What the strategy has learned, and how: the centre, the widths, the variances of the model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Component, FeatureMap, Regression
from dcmaes.space import Sites
from dcmaes.strategies._codec import DERIVED
from dcmaes.strategies._evaluations import Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._cliff import find_cliff, judge_cliff
from dcmaes.strategies.ising._neighbourhood import Neighbourhood, improved
from dcmaes.strategies.ising._plateau import Blame
from dcmaes.strategies.ising._settings import DEFAULT, IsingSettings

# A width is never so small that steps are lost in rounding.
_SMALLEST_WIDTH = 1e-12


@dataclass(frozen=True, eq=False)
class IsingState:
    """State of the `ising` strategy.

    Attributes
    ----------
    sites : Sites
        The space.
    centre : array of shape (d,)
        The best point of this run (under noise: by prediction), the origin of the features.
    level : Rank
        That of the centre; infinite before the first results of a run.
    width : array of shape (d,)
        How far each numeric site looks, as a fraction of its range.
    reach : float
        How many choices proposals have lately changed.
    blame : Blame
        Which sites must not change, learned from ties.
    variances : array of shape (7,)
        Hyper-parameters of the regression, by component.
    barrier_variances : array of shape (7,)
        Those of the regression on how far points are beyond the constraints, or a cliff.
    cliff : str
        What tells how far points are beyond a cliff: VALUES, SURPRISES or SIDES; empty if there is none.
    low_share : int
        Which of `low_shares` of the settings says what values count as low.
    window : int
        Largest number of evaluations in a regression.
    n_fitted, n_fits, idle, run : int
        Evaluations in the memory when the variances were last refitted, refits in all, evaluations since this
        run last improved, restarts before this run.
    settings : IsingSettings
        Those of the strategy.
    """

    sites: Sites
    centre: FloatArray
    level: Rank
    width: FloatArray
    reach: float
    blame: Blame
    variances: FloatArray
    barrier_variances: FloatArray
    cliff: str
    low_share: int
    window: int
    n_fitted: int
    n_fits: int
    idle: int
    run: int
    settings: IsingSettings = field(default=DEFAULT, metadata=DERIVED)

    @cached_property
    def feature_map(self) -> FeatureMap:
        """Features relative to the centre."""
        gap = np.where(self.sites.is_numeric, self.sites.spacing(self.sites.coordinate(self.centre)), 0.0)
        return FeatureMap(self.sites, self.centre, np.maximum(self.width, self.settings.width_in_gaps * gap))

    @property
    def low_rises(self) -> float:
        """The share of the rises that counts as low."""
        return self.settings.low_shares[self.low_share]

    @property
    def patience(self) -> int:
        """After how many evaluations without improvement a run is over."""
        return self.settings.patience + self.settings.patience_by_feature * self.feature_map.n_features


@dataclass(frozen=True, eq=False)
class Fit:
    """What the evaluations nearest to the centre say, given the variances of a state.

    Attributes
    ----------
    used : Neighbourhood
        These evaluations, with labels: those beyond constraints or a cliff, if the barrier tells which.
    values : Regression
        On the values of the others.
    limit : Regression or None
        On how far points are beyond the constraints or a cliff; None if few or none are.
    barrier : Regression or None
        The same if it tells which points are beyond.
    """

    used: Neighbourhood
    values: Regression
    limit: Regression | None
    barrier: Regression | None


def model(state: IsingState, memory: Memory) -> Fit:
    """Return what the memory says, the same object while both are the same."""
    told, kept = memory.recall(), state.__dict__.get("_model")
    if kept is None or kept[0] is not told:
        kept = told, fit(state, around(state, memory))
        state.__dict__["_model"] = kept  # as a cached property does
    found: Fit = kept[1]
    return found


def around(state: IsingState, memory: Memory) -> Neighbourhood:
    """Return the evaluations nearest to the centre, with the constraints as labels."""
    told = memory.recall()
    return Neighbourhood.around(
        state.feature_map, told, state.reach, state.window, memory.deviation, state.settings
    )


def fit(state: IsingState, near: Neighbourhood) -> Fit:
    """Return the regressions on evaluations near the centre."""
    used, limit = labelled(state, near)
    values = used.regression(state.low_rises, state.variances)
    return Fit(used, values, limit, limit if _is_barrier(state) else None)


def labelled(state: IsingState, near: Neighbourhood) -> tuple[Neighbourhood, Regression | None]:
    """Return evaluations with what is beyond a cliff labelled as well, and the regression on how far.

    From here on only excess counts. If no regression tells who is beyond, nobody is: rises have penalties.
    """
    found = find_cliff(near, state.low_rises, state.variances) if state.cliff else None
    used = near if found is None else found[0].labelled(near, state.cliff)
    limit = used.limit(state.barrier_variances)
    return (used if limit is not None and _is_barrier(state) else used.penalized), limit


def _is_barrier(state: IsingState) -> bool:
    """Tell whether the regression on violations explains them; with a cliff, that was judged before."""
    return bool(state.cliff) or bool(
        state.barrier_variances[Component.NOISE] <= state.settings.largest_barrier_noise
    )


def refined(state: IsingState, near: Neighbourhood) -> IsingState:
    """Return the state with variances of higher likelihood, one step further."""
    found = fit(state, near)
    variances = improved(found.values).variances
    least = state.settings.smallest_choices * variances[Component.RADIAL]
    variances[Component.CHOICES] = max(variances[Component.CHOICES], least)
    if found.limit is None:
        return replace(state, variances=variances)
    return replace(state, variances=variances, barrier_variances=improved(found.limit).variances)


def foresight(state: IsingState, near: Neighbourhood) -> float:
    """Return how well the regression predicts values that were left out (Q9)."""
    used, _ = labelled(state, near)
    return used.foresight(state.low_rises, state.variances)


def best_of(told: Evaluations, deviation: float, settings: IsingSettings) -> tuple[FloatArray, Rank] | None:
    """Return the best point of all runs, with its violation and value; None without evaluations."""
    if len(told) == 0:
        return None
    # Under noise the best one is that with the lowest mean beyond doubt: (Q17)
    doubt = settings.doubt_in_errors * deviation / np.sqrt(told.count)
    best = int(np.lexsort((told.value + doubt, told.violation))[0])
    return told.x[best], told.rank(best)


def learn(state: IsingState, told: Evaluations, memory: Memory) -> IsingState:
    """Return the state after some results, which are in the memory."""
    fresh = told.fresh()
    if len(fresh) == 0:
        return replace(state, idle=state.idle + 1) if len(told) else state
    by_model = memory.is_noisy and _has_model(state)
    return _refitted(_moved_by_model(state, fresh, memory) if by_model else _moved(state, fresh), memory)


def follow(state: IsingState, memory: Memory) -> IsingState:
    """Return the state after others have evaluated points: at the best of them, if that is better."""
    best = best_of(memory.recall(), memory.deviation, state.settings)
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
    recalled, found = memory.recall(), model(state, memory)
    near, values = found.used, found.values
    violation = recalled.violation[near.row]
    candidates = np.flatnonzero(violation == violation.min())
    best = candidates[int(values.predict(near.features[candidates]).argmin())]
    predicted = values.predict(state.feature_map.features(told.x))
    better = told.take(np.lexsort((predicted, told.violation))[: (len(told) + 1) // 2])
    return replace(
        _followed(state, better, len(told)),
        centre=recalled.x[near.row[best]],
        level=recalled.rank(int(near.row[best])),
        blame=Blame.none(state.sites.dimension, state.settings),
        idle=0 if _is_gain(values, near.features[best]) else state.idle + len(told),
    )


def _is_gain(model: Regression, features: FloatArray) -> bool:
    """Tell whether a point is better than the centre by more than one standard deviation (Q16)."""
    both = np.stack([np.zeros_like(features), features])
    step = np.array([1.0, -1.0])
    variance = float(step @ model.covariance(both) @ step)
    gain = float(step @ model.predict(both))
    return gain > float(np.sqrt(max(variance, 0.0)))


def _followed(state: IsingState, better: Evaluations, n_told: int) -> IsingState:
    """Return the state looking as far as the better half of what was told has gone."""
    keep = state.settings.keep**n_told
    n_choices = state.feature_map.n_choices
    changed = float(state.feature_map.features(better.x)[:, :n_choices].sum(axis=1).mean())
    return replace(
        state,
        width=_followed_width(state, better, n_told),
        reach=max(state.settings.smallest_reach, keep * state.reach + (1 - keep) * changed),
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
    sites, settings = state.sites, state.settings
    step = sites.coordinate(better.x) - sites.coordinate(state.centre)
    step = np.where(sites.periodic, step - np.rint(step), step)
    keep = settings.width_keep**n_told
    if sites.has_conditions:  # a site that is inactive here or there says nothing: it keeps its width
        is_step = sites.active(better.x) & sites.active(state.centre)
        step = np.where(is_step, step, state.width / settings.width_factor)
    typical = np.sqrt((step**2).mean(axis=0))
    followed: FloatArray = keep * state.width + (1 - keep) * settings.width_factor * typical
    return np.clip(followed, _SMALLEST_WIDTH, 0.5)


def _refitted(state: IsingState, memory: Memory) -> IsingState:
    """Return the state with variances of higher likelihood, if there are enough new evaluations."""
    n = memory.n_seen
    is_due = n - state.n_fitted >= max(state.settings.batch, state.settings.refit_share * min(n, 1000))
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
    settings, has_choices = state.settings, state.feature_map.n_choices > 0
    largest = settings.largest_choice_share if has_choices else len(settings.low_shares) - 1
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
    found = judge_cliff(near, state.low_rises, state.variances)
    if found is None:
        return flat
    return replace(
        state, cliff=found.how, variances=found.variances, barrier_variances=found.barrier_variances
    )
