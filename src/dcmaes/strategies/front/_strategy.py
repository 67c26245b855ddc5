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
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._credit import Credit
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.front._constants import EXPECTED, N_STEPS, OPENING, PROCESS_REFIT_SHARE
from dcmaes.strategies.front._known import Known
from dcmaes.strategies.front._model import local_model, refitted
from dcmaes.strategies.front._process import promising, refitted_scales
from dcmaes.strategies.front._proposals import children, propose
from dcmaes.strategies.gaussian_process import GaussianProcess
from dcmaes.strategies.ising._constants import BATCH, FIRST_BARRIER_VARIANCES, FIRST_VARIANCES, REFIT_SHARE

_PROCESS = GaussianProcess()
# Who proposes the points of a batch: regressions on the objectives, Gaussian processes of them, a population.
MODEL, PROCESS, POPULATION = 0, 1, 2


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

    Examples
    --------
    >>> import dcmaes as dc
    >>> def both(x):
    ...     return x[:10].sum() + 10 - x[5:].sum(), x[5:].sum()
    >>> result = dc.minimize(both, dc.Space.binary(15), budget=150, seed=0, objectives=2, strategy="front")
    >>> len(result.front)
    6
    """

    state_type = FrontState

    def __repr__(self) -> str:
        return "FrontSearch()"

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""
        return "front"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data: there are none."""
        return {}

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> FrontState:
        """Return the first state."""
        state = FrontState(
            sites=sites,
            variances=np.array([FIRST_VARIANCES] * memory.n_objectives + [FIRST_BARRIER_VARIANCES]),
            n_unfitted=0,
            n_fits=0,
            n_seen=0,
            scales=np.tile(Scales.expected(sites).vector(), (memory.n_objectives, 1)),
            n_fitted=0,
            turn=MODEL,
            credit=Credit.none(len(EXPECTED)),
        )
        start = memory.starts
        return self.update(state, start.take(np.flatnonzero(start.row >= 0)), memory)

    def batch_size(self, state: FrontState) -> int:
        """Return how many points are proposed at a time."""
        return BATCH

    def sample(self, state: FrontState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        sites, found = state.sites, list[FloatArray]()
        if len(memory) >= OPENING and sites.is_free.any():
            known = Known.of(memory)
            if len(known.front):
                if state.turn == PROCESS:
                    found = promising(state.scales, known, n, sites, rng, memory)
                elif state.turn == MODEL:
                    found = propose(state.variances, known, n, sites, rng, memory)
                found += children(known, n - len(found), sites, rng, memory)
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
        known = Known.of(memory)
        n = len(fresh)
        state = replace(state, n_unfitted=state.n_unfitted + n, n_seen=state.n_seen + n)
        if len(known.front) == 0 or len(memory) < OPENING:
            return state
        state = _with_turn(_credited(state, known, fresh.x), known, memory)
        if state.n_unfitted < max(BATCH, REFIT_SHARE * min(state.n_seen, 1000)):
            return state
        # Another point of the front each time.
        centre = int(known.front[(7 * state.n_fits) % len(known.front)])
        variances = refitted(known, centre, state.sites, state.variances, N_STEPS)
        return replace(state, variances=variances, n_unfitted=0, n_fits=state.n_fits + 1)

    def convergence(self, state: FrontState, memory: Memory) -> str | None:
        """Return None: there is always another point of a front."""
        return None

    def restart(self, state: FrontState, rng: np.random.Generator, memory: Memory) -> FrontState | None:
        """Return the same state: nothing converges."""
        return state

    def summary(self, state: FrontState, memory: Memory) -> Summary:
        """Return how the points of the front are distributed."""
        sites, known = state.sites, Known.of(memory)
        x = known.x[known.front] if len(known.front) else np.empty((0, sites.dimension))
        if len(x) == 0:
            middle = (np.arange(32) + 0.5) / 32
            x = sites.uniform(np.repeat(middle[:, None], sites.dimension, axis=1))
        u = np.where(sites.is_numeric, sites.coordinate(x), np.nan)
        n_kept = np.where(sites.is_numeric & (sites.n_states != 2), 0, sites.n_states)
        shares = tuple(
            np.bincount(x[:, i].astype(np.int64), minlength=n) / len(x) if n else np.empty(0)
            for i, n in enumerate(n_kept)
        )
        deviation = u.std(axis=0)
        step_size = float(deviation[sites.is_numeric].mean()) if sites.is_numeric.any() else 0.0
        return Summary(u.mean(axis=0), deviation, shares, None, step_size)

    def interactions(self, state: FrontState, memory: Memory) -> FloatArray:
        """Return the size of the largest mean coupling of each pair of sites in any objective, (d, d)."""
        each = [self.interactions_of(state, memory, k) for k in range(memory.n_objectives)]
        return np.asarray(np.max(each, axis=0))

    def interactions_of(self, state: FrontState, memory: Memory, objective: int) -> FloatArray:
        """Return the same in one of the objectives."""
        sites, known = state.sites, Known.of(memory)
        strength = np.zeros((sites.dimension, sites.dimension))
        if len(known.front) == 0 or known.values.shape[1] <= objective or not sites.is_free.any():
            return strength
        middle = int(known.front[len(known.front) // 2])
        model = local_model(known, middle, sites, state.variances)
        coupling = model.regressions[objective].mean(has_pairs=True).coupling
        if coupling is not None:
            site = model.feature_map.site
            np.maximum.at(strength, np.ix_(site, site), np.abs(coupling[0]))
        return np.maximum(strength, strength.T)


def _credited(state: FrontState, known: Known, x: FloatArray) -> FrontState:
    """Return the state with what these points have gained counted for their proposer."""
    new = {row.tobytes() for row in x}
    is_new = np.array([row.tobytes() in new for row in known.x[known.front]], dtype=bool)
    front = known.front_values
    gains = hypervolume_gains(front[is_new], front[~is_new], known.limit).tolist()
    credit = state.credit
    for gain in [*gains, *[0.0] * (len(x) - len(gains))]:
        credit = credit.after(state.turn, gain)
    return replace(state, credit=credit)


def _with_turn(state: FrontState, known: Known, memory: Memory) -> FrontState:
    """Return the state with the next turn, and with scales that are fit for it."""
    expected = np.array(EXPECTED).T
    expected[0, PROCESS] *= _PROCESS.is_useful(memory)
    turn = state.credit.next(expected, np.full(len(EXPECTED), BATCH))
    if turn == PROCESS and state.n_seen >= (1 + PROCESS_REFIT_SHARE) * state.n_fitted:
        scales = refitted_scales(known, state.sites, state.scales)
        state = replace(state, scales=scales, n_fitted=state.n_seen)
    return replace(state, turn=turn)
