"""The default: a search with a model and one with a population take turns; see docs/maths.md, section T."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, check_choice
from dcmaes.distributions import LatticeGaussian
from dcmaes.space import Sites
from dcmaes.strategies._codec import decode, encode
from dcmaes.strategies._protocol import Evaluations, Known, Strategy, Summary
from dcmaes.strategies.blocks import Blocks, BlocksState
from dcmaes.strategies.cma import Cma, CmaState
from dcmaes.strategies.ising import IsingSearch, IsingState
from dcmaes.strategies.mixing import Mixing, MixingState
from dcmaes.strategies.sparse import Collected, Sparse, SparseState, is_collecting, next_look

# Whose turn it is.
MODEL, BLOCKS, SPARSE, PARTNER = "model", "blocks", "sparse", "partner"
# How many evaluations the partner may spend at least for each of the model (T1).
SMALLEST_SHARE = 0.25
# Results of the others are handed to the model so many at a time, because its memory is copied each time.
ASIDE = 256
# How much the share of the partner changes after a turn without improvement, and its upper limit (T1).
SHARE_FACTOR, LARGEST_SHARE = 2.0, 16.0


@dataclass(frozen=True, eq=False)
class AutoState:
    """State of the `auto` strategy.

    Attributes
    ----------
    model : IsingState
        The search with a model.
    partner : CmaState or MixingState or None
        The search with a population; None before its first turn.
    blocks : BlocksState or None
        The search for blocks; None before its one turn.
    sparse : SparseState or None
        The search for a function with few interactions; None before the first look.
    due : float
        After how many evaluations the next look is: in all, or those of the partner where they are
        collected.
    collected : Collected
        Evaluations of the others, in spaces in which their single changes are looked at.
    interrupted : str
        Whose turn it was when such a function got one.
    turn : str
        Who proposes points now: MODEL, BLOCKS, SPARSE or PARTNER.
    spent : tuple of two ints
        Evaluations of the model and of the partner.
    share : float
        How many evaluations the partner may spend for each of the model.
    best : tuple of two floats
        Violation and value of the best point.
    has_improved : bool
        Whether this turn has found a better point.
    aside : tuple of Evaluations
        Results of the others that the model has not been given yet.
    """

    model: IsingState
    partner: CmaState | MixingState | None
    blocks: BlocksState | None
    sparse: SparseState | None
    due: float
    collected: Collected
    interrupted: str
    turn: str
    spent: tuple[int, int]
    share: float
    best: tuple[float, float]
    has_improved: bool
    aside: tuple[Evaluations, ...]

    @property
    def n_looked_at(self) -> int:
        """Evaluations by which the time of the next look is measured."""
        return self.spent[1] if is_collecting(self.model.sites) else sum(self.spent)

    @property
    def allowance(self) -> float:
        """How many evaluations the partner may have spent; under noise, when turns cannot be judged, few."""
        return (SMALLEST_SHARE if self.model.is_noisy else self.share) * self.spent[0]

    @property
    def has_spent_share(self) -> bool:
        """Whether the partner's turn is over: never within a generation."""
        is_waiting = isinstance(self.partner, CmaState) and len(self.partner.waiting) > 0
        return self.spent[1] >= self.allowance and not is_waiting


def counted(state: AutoState, fresh: Evaluations) -> AutoState:
    """Return the state with these new results counted for the one whose turn it is."""
    if len(fresh) == 0:
        return state
    level = fresh.level(int(fresh.order()[0]))
    by_model, by_partner = state.spent
    by_model += len(fresh) if state.turn == MODEL else 0
    by_partner += len(fresh) if state.turn == PARTNER else 0
    return replace(
        state,
        spent=(by_model, by_partner),
        best=min(state.best, level),
        has_improved=state.has_improved or level < state.best,
        aside=state.aside if state.turn == MODEL else (*state.aside, fresh),
    )


class Auto:
    """Alternate between a model of the values (`ising`) and a population (`mixing` or `cma`).

    The model begins, and needs the fewest evaluations where it explains the values; where it does not, a
    population makes more progress. A turn without improvement leaves more evaluations to the other side.
    Before the first turn of `mixing`, functions that are sums over small blocks of variables are detected and
    decomposed (docs/maths.md, sections D and T).

    Parameters
    ----------
    partner : {"cma", "mixing"}, optional
        The population: by default `mixing` if every variable has few states, `cma` otherwise.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(30), budget=100, seed=0, strategy=Auto(), target=0)
    >>> result.fun
    0.0
    """

    def __init__(self, *, partner: str | None = None) -> None:
        self.partner = None if partner is None else check_choice("partner", partner, ("cma", "mixing"))
        self._model = IsingSearch()
        self._blocks, self._sparse, self._cma, self._mixing = Blocks(), Sparse(), Cma(), Mixing()

    def __repr__(self) -> str:
        return f"Auto(partner={self.partner!r})"

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""
        return "auto"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        return {"partner": self.partner}

    def init(self, sites: Sites, start: Evaluations, budget: int, rng: np.random.Generator) -> AutoState:
        """Return the first state, in which it is the model's turn."""
        return AutoState(
            model=self._model.init(sites, start, budget, rng),
            partner=None,
            blocks=None,
            sparse=None,
            due=next_look(sites, 0),
            collected=Collected(),
            interrupted=MODEL,
            turn=MODEL,
            spent=(0, 0),
            share=1.0,
            best=(np.inf, np.inf),
            has_improved=False,
            aside=(),
        )

    def batch_size(self, state: AutoState) -> int:
        """Return how many results the one whose turn it is waits for."""
        strategy, active = self._active(state)
        return strategy.batch_size(active)

    def sample(self, state: AutoState, n: int, rng: np.random.Generator, known: Known) -> FloatArray:
        """Return `n` coded points of the one whose turn it is, shape (n, d)."""
        strategy, active = self._active(state)
        return strategy.sample(active, n, rng, known)

    def update(self, state: AutoState, told: Evaluations) -> AutoState:
        """Return the state after learning from `told`."""
        fresh = told.take(np.flatnonzero(~told.is_repeat))
        state = counted(state, fresh)
        strategy, active = self._active(state)
        state = replace(state, **{state.turn: strategy.update(active, told)})
        state = self._handed_over(state) if len(state.aside) >= ASIDE else state
        is_due = state.n_looked_at >= state.due and state.turn in (MODEL, PARTNER)
        return self._looked_for_pairs(state) if is_due and _is_plain(state.model) else state

    def remember(self, state: AutoState, told: Evaluations) -> AutoState:
        """Return the state with what was found out about known points in the memory of the model."""
        state = self._handed_over(state)
        return replace(state, model=self._model.remember(state.model, told))

    def convergence(self, state: AutoState) -> str | None:
        """Return why a turn is over, or None."""
        strategy, active = self._active(state)
        if (why := strategy.convergence(active)) is not None:
            return why
        if state.turn == PARTNER and state.has_spent_share:
            return f"the turn of {strategy.name} is over after {state.spent[1]} evaluations in all"
        return None

    def restart(self, state: AutoState, rng: np.random.Generator) -> AutoState | None:
        """Return the state with the turn passed on, or with a new run of the same search."""
        if state.turn == SPARSE:
            return self._after_sparse(state, rng)
        if state.turn == PARTNER:
            return self._after_partner(state, rng)
        if state.turn == MODEL and state.blocks is None and self._may_have_blocks(state.model):
            blocks = self._blocks.init(state.model.sites, state.model.memory, 0, rng)
            state = replace(state, blocks=blocks, turn=BLOCKS)
            if self._blocks.convergence(blocks) is None:
                return state
        return self._after_model(self._handed_over(state), rng)

    def summary(self, state: AutoState) -> Summary:
        """Return the search distribution of the one whose turn it is."""
        strategy, active = self._active(state)
        return strategy.summary(active)

    def interactions(self, state: AutoState) -> FloatArray:
        """Return how strongly each pair of sites interacts, shape (d, d).

        That is the size of their interaction in the function that explains all values, if one was found;
        else that of their largest mean coupling in the model.
        """
        if state.sparse is not None and state.sparse.function is not None:
            return self._sparse.interactions(state.sparse)
        return self._model.interactions(self._handed_over(state).model)

    def law(self, state: AutoState) -> LatticeGaussian | None:
        """Return the law that the regression on all evaluations implies; None if it is not quadratic."""
        return self._model.law(self._handed_over(state).model)

    def explained_pairs(self, state: AutoState) -> NDArray[np.bool_]:
        """Tell which pairs of sites interact in the function that explains all values, shape (d, d)."""
        if state.sparse is None or state.sparse.function is None:
            return np.zeros((state.model.sites.dimension,) * 2, dtype=bool)
        return state.sparse.function.told_pairs(state.sparse.memory.x)

    def state_to_dict(self, state: AutoState) -> dict[str, Any]:
        """Return the state as plain data."""
        data: dict[str, Any] = encode(state)
        return data

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> AutoState:
        """Return the state that `state_to_dict` described."""
        return decode(AutoState, data, sites)

    def _active(self, state: AutoState) -> tuple[Strategy[Any], Any]:
        """Return the strategy whose turn it is, with its state."""
        if state.turn == MODEL:
            return self._model, state.model
        if state.turn == SPARSE:
            return self._sparse, state.sparse
        return (self._blocks, state.blocks) if state.turn == BLOCKS else (self._other(state), state.partner)

    def _other(self, state: AutoState) -> Strategy[Any]:
        """Return the partner: the one that has begun, else the one that would."""
        if state.partner is not None:
            return self._cma if isinstance(state.partner, CmaState) else self._mixing
        # A pyramid compares single values; under noise a distribution, which averages them, gets further.
        is_averaging = state.model.is_noisy and self.partner is None
        return self._cma if is_averaging else self._other_for(state.model.sites)

    def _other_for(self, sites: Sites) -> Strategy[Any]:
        """Return the partner that suits the space."""
        is_mixing = self.partner == "mixing" or (self.partner is None and bool(sites.is_short.all()))
        return self._mixing if is_mixing else self._cma

    def _may_have_blocks(self, model: IsingState) -> bool:
        """Tell whether differences of values may show blocks: never under noise or constraints."""
        sites, is_searched = model.sites, len(model.memory) > 0 and _is_plain(model)
        return self._other_for(sites) is self._mixing and sites.is_finite and is_searched

    def _looked_for_pairs(self, state: AutoState) -> AutoState:
        """Return the state after a look for a function with few interactions: its turn, if there is one."""
        sites, handed_over = state.model.sites, self._handed_over(state)
        known, due = handed_over.model.memory, next_look(sites, state.n_looked_at)
        if is_collecting(sites):
            collected = handed_over.collected.evaluations(sites.dimension)
            known = Evaluations.join(collected, known.take(known.order()[:1]))
        sparse = self._sparse.init(sites, known, 0, np.random.default_rng(0))
        # A look that finds nothing leaves everything else as it was.
        is_over = self._sparse.convergence(sparse) is not None
        after = state if is_over else replace(handed_over, turn=SPARSE, interrupted=state.turn)
        kept = after.collected if np.isfinite(due) else Collected()
        return replace(after, sparse=sparse, due=due, collected=kept)

    def _handed_over(self, state: AutoState) -> AutoState:
        """Return the state with what the others evaluated given to the model."""
        if not state.aside:
            return state
        others = Evaluations.join(*state.aside)
        is_kept = is_collecting(state.model.sites) and np.isfinite(state.due) and _is_plain(state.model)
        return replace(
            state,
            model=self._model.remember(state.model, others),
            collected=state.collected.with_evaluations(others) if is_kept else state.collected,
            aside=(),
        )

    def _after_model(self, state: AutoState, rng: np.random.Generator) -> AutoState | None:
        """Return the partner's turn; or a new run of the model, if the partner has spent its share."""
        if not state.has_improved:
            # Who found nothing leaves more to the other: (T1)
            state = replace(state, share=min(SHARE_FACTOR * state.share, LARGEST_SHARE))
        state = replace(state, has_improved=False)
        if state.spent[1] >= state.allowance:
            model = self._model.restart(state.model, rng)
            return None if model is None else replace(state, model=model, turn=MODEL)
        return replace(state, partner=self._begun(state, rng), turn=PARTNER)

    def _begun(self, state: AutoState, rng: np.random.Generator) -> Any:
        """Return the partner's state at the beginning of its turn."""
        other, sites = self._other(state), state.model.sites
        partner: Any = state.partner
        if partner is None:
            partner = other.init(sites, Evaluations.empty(sites.dimension), 0, rng)
        if other is self._mixing and len(state.model.memory):
            partner = self._mixing.inject(partner, state.model.memory.take(state.model.memory.order()[:1]))
        return partner

    def _after_partner(self, state: AutoState, rng: np.random.Generator) -> AutoState | None:
        """Return a new run of the partner while its share lasts; else the model's turn, at the best point."""
        strategy, active = self._active(state)
        if strategy.convergence(active) is not None:
            active = strategy.restart(active, rng)
            if active is None:
                return None
            state = replace(state, partner=active)
            if state.spent[1] < state.allowance:
                return state
        share = state.share if state.has_improved else max(state.share / SHARE_FACTOR, SMALLEST_SHARE)
        return self._after_others(replace(state, share=share), rng)

    def _after_sparse(self, state: AutoState, rng: np.random.Generator) -> AutoState:
        """Return the model's turn if the function has led to a better point; else the one it interrupted."""
        if state.sparse is not None and state.sparse.has_improved:
            return self._after_others(state, rng)
        return replace(self._handed_over(state), turn=state.interrupted)

    def _after_others(self, state: AutoState, rng: np.random.Generator) -> AutoState:
        """Return the model's turn, at the best point or near, with what the others evaluated in memory."""
        state = self._handed_over(state)
        model = self._model.restart(state.model, rng)
        return state if model is None else replace(state, model=model, has_improved=False, turn=MODEL)


def _is_plain(model: IsingState) -> bool:
    """Tell whether values show the function itself: neither noise nor violated constraints were seen."""
    violation = model.memory.violation
    return not model.is_noisy and not ((violation > 0) & np.isfinite(violation)).any()
