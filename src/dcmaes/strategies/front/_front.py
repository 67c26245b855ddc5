"""The strategy `front`: several objectives, each learned by surrogates of all evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Scales
from dcmaes.pareto import hypervolume_gains
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded, changed, changes
from dcmaes.strategies._credit import Credit
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.front._observations import DEFAULT, FrontSettings, Observations
from dcmaes.strategies.front._processes import promising, refitted_scales
from dcmaes.strategies.front._regressions import children, local_model, propose, refitted
from dcmaes.strategies.gaussian_process import GaussianProcess

_PROCESS = GaussianProcess()
# Who proposes the points of a batch: regressions on the objectives, Gaussian processes of them, a population.
MODEL, PROCESS, POPULATION = 0, 1, 2
# Steps of each refit of the variances.
_N_STEPS = 3


@dataclass(frozen=True, eq=False)
class FrontState:
    """State of the `front` strategy.

    Attributes
    ----------
    sites : Sites
        The space.
    variances : array of shape (m + 1, 7)
        Hyper-parameters of the regression on each objective, and on violations, by component.
    n_unfitted, n_fits, n_seen : int
        Evaluations since the variances were last refitted, refits in all, evaluations told in all.
    scales : array of shape (m, f + 2)
        Hyper-parameters of the Gaussian process of each objective.
    n_fitted : int
        Evaluations when they were last refitted.
    turn : int
        Who proposes points now: MODEL, PROCESS or POPULATION.
    credit : Credit
        What the points of each have added to the hypervolume lately, in units of the front.
    """

    sites: Sites
    variances: FloatArray
    n_unfitted: int
    n_fits: int
    n_seen: int
    scales: FloatArray
    n_fitted: int
    turn: int
    credit: Credit


class FrontSearch(Coded[FrontState]):
    """Search for the front of several objectives with surrogates of each of them.

    Three proposers share the evaluations by what their points add to the hypervolume. Gaussian processes, one
    of each objective, propose during the first few hundred evaluations what is expected to enlarge it most.
    Regressions draw weights of the objectives anew for each proposal, and functions from what they leave
    open; a tabu search of their weighted sum starts from the point of the front that is best by these
    weights, and of what it passes through the largest gain is proposed. A population crosses and changes the
    points of the front (docs/maths.md, section O).

    With one objective it is a search around the best point.

    Parameters
    ----------
    settings : FrontSettings, or mapping
        The numbers that it works with, or those of them that are not the default ones, for studies.

    Examples
    --------
    >>> import dcmaes as dc
    >>> def both(x):
    ...     return x[:10].sum() + 10 - x[5:].sum(), x[5:].sum()
    >>> result = dc.minimize(both, dc.Space.binary(15), budget=150, seed=0, objectives=2, strategy="front")
    >>> len(result.front)
    6
    """

    name = "front"
    state_type = FrontState

    def __init__(self, *, settings: FrontSettings | Mapping[str, Any] = DEFAULT) -> None:
        self.settings = settings if isinstance(settings, FrontSettings) else changed(DEFAULT, settings)

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        return {} if self.settings == DEFAULT else {"settings": changes(DEFAULT, self.settings)}

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> FrontState:
        """Return the first state."""
        regression = self.settings.regression
        state = FrontState(
            sites=sites,
            variances=np.array(
                [regression.first_variances] * memory.n_objectives + [regression.first_barrier_variances]
            ),
            n_unfitted=0,
            n_fits=0,
            n_seen=0,
            scales=np.tile(Scales.expected(sites).vector(), (memory.n_objectives, 1)),
            n_fitted=0,
            turn=MODEL,
            credit=Credit.none(len(self.settings.expected)),
        )
        start = memory.starts
        return self.update(state, start.take(np.flatnonzero(start.row >= 0)), memory)

    @property
    def _opening(self) -> int:
        """Evaluations before the first regression: two batches."""
        return 2 * self.settings.regression.batch

    def batch_size(self, state: FrontState) -> int:
        """Return how many points are proposed at a time."""
        return self.settings.regression.batch

    def sample(self, state: FrontState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        sites, found = state.sites, list[FloatArray]()
        if len(memory) >= self._opening and sites.is_free.any():
            observed = Observations.of(memory, self.settings)
            if len(observed.front):
                if state.turn == PROCESS:
                    found = promising(state.scales, observed, n, sites, rng, memory)
                elif state.turn == MODEL:
                    found = propose(state.variances, observed, n, sites, rng, memory)
                found += children(observed, n - len(found), sites, rng, memory)
        anywhere = sites.uniform(rng.random((n - len(found), sites.dimension)))
        return np.concatenate([np.reshape(found, (-1, sites.dimension)), anywhere])

    def update(self, state: FrontState, told: Evaluations, memory: Memory) -> FrontState:
        """Return the state after learning from `told`."""
        fresh = told.fresh()
        fresh = fresh.take(np.flatnonzero(fresh.row >= 0))
        if len(fresh) == 0:
            # Nothing new comes from whose turn it is.
            return (
                replace(state, turn=MODEL if state.turn == POPULATION else POPULATION) if len(told) else state
            )
        observed, settings = Observations.of(memory, self.settings), self.settings.regression
        n = len(fresh)
        state = replace(state, n_unfitted=state.n_unfitted + n, n_seen=state.n_seen + n)
        if len(observed.front) == 0 or len(memory) < self._opening:
            return state
        state = _with_turn(_credited(state, observed, fresh.x), observed, memory)
        if state.n_unfitted < max(settings.batch, settings.refit_share * min(state.n_seen, 1000)):
            return state
        # Another point of the front each time.
        centre = int(observed.front[(7 * state.n_fits) % len(observed.front)])
        variances = refitted(observed, centre, state.sites, state.variances, _N_STEPS)
        return replace(state, variances=variances, n_unfitted=0, n_fits=state.n_fits + 1)

    def convergence(self, state: FrontState, memory: Memory) -> str | None:
        """Return None: there is always another point of a front."""
        return None

    def restart(self, state: FrontState, rng: np.random.Generator, memory: Memory) -> FrontState | None:
        """Return the same state: nothing converges."""
        return state

    def summary(self, state: FrontState, memory: Memory) -> Summary:
        """Return how the points of the front are distributed."""
        sites, observed = state.sites, Observations.of(memory, self.settings)
        x = observed.x[observed.front] if len(observed.front) else np.empty((0, sites.dimension))
        if len(x) == 0:
            middle = (np.arange(32) + 0.5) / 32
            x = sites.uniform(np.repeat(middle[:, None], sites.dimension, axis=1))
        return Summary.at(sites, x)

    def interactions(self, state: FrontState, memory: Memory) -> FloatArray:
        """Return the size of the largest mean coupling of each pair of sites in any objective, (d, d)."""
        each = [self.interactions_of(state, memory, k) for k in range(memory.n_objectives)]
        return np.asarray(np.max(each, axis=0))

    def interactions_of(self, state: FrontState, memory: Memory, objective: int) -> FloatArray:
        """Return the same in one of the objectives."""
        sites, observed = state.sites, Observations.of(memory, self.settings)
        strength = np.zeros((sites.dimension, sites.dimension))
        if len(observed.front) == 0 or observed.values.shape[1] <= objective or not sites.is_free.any():
            return strength
        middle = int(observed.front[len(observed.front) // 2])
        model = local_model(observed, middle, sites, state.variances)
        coupling = model.regressions[objective].mean(has_pairs=True).coupling
        if coupling is not None:
            site = model.feature_map.site
            np.maximum.at(strength, np.ix_(site, site), np.abs(coupling[0]))
        return np.maximum(strength, strength.T)


def _credited(state: FrontState, observed: Observations, x: FloatArray) -> FrontState:
    """Return the state with what these points have gained counted for their proposer."""
    new = {row.tobytes() for row in x}
    is_new = np.array([row.tobytes() in new for row in observed.x[observed.front]], dtype=bool)
    front = observed.front_values
    gains = hypervolume_gains(front[is_new], front[~is_new], observed.limit).tolist()
    credit = state.credit
    for gain in [*gains, *[0.0] * (len(x) - len(gains))]:
        credit = credit.after(state.turn, gain)
    return replace(state, credit=credit)


def _with_turn(state: FrontState, observed: Observations, memory: Memory) -> FrontState:
    """Return the state with the next turn, and with scales that are fit for it."""
    settings = observed.settings
    expected = np.array(settings.expected).T
    expected[0, PROCESS] *= _PROCESS.is_useful(memory)
    turn = state.credit.next(expected, np.full(len(settings.expected), settings.regression.batch))
    if turn == PROCESS and state.n_seen >= (1 + settings.process_refit_share) * state.n_fitted:
        scales = refitted_scales(observed, state.sites, state.scales)
        state = replace(state, scales=scales, n_fitted=state.n_seen)
    return replace(state, turn=turn)
