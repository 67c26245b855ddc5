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
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Strategy, Summary
from dcmaes.strategies._spans import Spans, with_place
from dcmaes.strategies.blocks import Blocks, BlocksState
from dcmaes.strategies.cma import Cma, CmaState
from dcmaes.strategies.ising import IsingSearch, IsingState
from dcmaes.strategies.ising._constants import MEMORY
from dcmaes.strategies.mixing import Mixing, MixingState
from dcmaes.strategies.sparse import Sparse, SparseState, begin, is_collecting, next_look

# Whose turn it is.
MODEL, BLOCKS, SPARSE, PARTNER = "model", "blocks", "sparse", "partner"
# How many evaluations the partner may spend at least for each of the model (T1).
SMALLEST_SHARE = 0.25
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
        After how many evaluations the next look is: in all, or those of the partner where their single
        changes are looked at.
    turns : Spans
        Places in the memory of what others than the model evaluated.
    interrupted : str
        Whose turn it was when such a function got one.
    turn : str
        Who proposes points now: MODEL, BLOCKS, SPARSE or PARTNER.
    spent : tuple of two ints
        Evaluations of the model and of the partner.
    share : float
        How many evaluations the partner may spend for each of the model.
    best : Rank
        That of the best point.
    has_improved : bool
        Whether this turn has found a better point.
    """

    model: IsingState
    partner: CmaState | MixingState | None
    blocks: BlocksState | None
    sparse: SparseState | None
    due: float
    turns: Spans
    interrupted: str
    turn: str
    spent: tuple[int, int]
    share: float
    best: Rank
    has_improved: bool

    @property
    def n_looked_at(self) -> int:
        """Evaluations by which the time of the next look is measured."""
        return self.spent[1] if self.is_collecting else sum(self.spent)

    @property
    def is_collecting(self) -> bool:
        """Whether the single changes that others make are looked at."""
        return is_collecting(self.model.sites)

    def has_spent_share(self, memory: Memory) -> bool:
        """Tell whether the partner has spent its share: a small one under noise, which hides improvements."""
        return self.spent[1] >= (SMALLEST_SHARE if memory.is_noisy else self.share) * self.spent[0]


def counted(state: AutoState, fresh: Evaluations) -> AutoState:
    """Return the state with these new results counted for the one whose turn it is."""
    if len(fresh) == 0:
        return state
    level = fresh.rank(int(fresh.order()[0]))
    by_model, by_partner = state.spent
    by_model += len(fresh) if state.turn == MODEL else 0
    by_partner += len(fresh) if state.turn == PARTNER else 0
    turns = state.turns
    if state.is_collecting and state.turn != MODEL:
        for place in fresh.row.tolist():
            turns = with_place(turns, place)
    return replace(
        state,
        spent=(by_model, by_partner),
        best=min(state.best, level),
        has_improved=state.has_improved or level < state.best,
        turns=turns,
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

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> AutoState:
        """Return the first state, in which it is the model's turn."""
        state = AutoState(
            model=self._model.init(sites, memory, budget, rng),
            partner=None,
            blocks=None,
            sparse=None,
            due=next_look(sites, 0),
            turns=(),
            interrupted=MODEL,
            turn=MODEL,
            spent=(0, 0),
            share=1.0,
            best=WORST,
            has_improved=False,
        )
        start = memory.starts
        known = start.take(np.flatnonzero(~np.isnan(start.value) | (start.violation > 0.0)))
        return self._after_update(counted(state, known), memory)

    def batch_size(self, state: AutoState) -> int:
        """Return how many results the one whose turn it is waits for."""
        strategy, active = self._active(state)
        return strategy.batch_size(active)

    def sample(self, state: AutoState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points of the one whose turn it is, shape (n, d)."""
        strategy, active = self._active(state)
        return strategy.sample(active, n, rng, memory)

    def update(self, state: AutoState, told: Evaluations, memory: Memory) -> AutoState:
        """Return the state after learning from `told`."""
        state = counted(state, told.fresh())
        strategy, active = self._active(state)
        updated = replace(state, **{state.turn: strategy.update(active, told, memory)})
        return self._after_update(updated, memory)

    def convergence(self, state: AutoState, memory: Memory) -> str | None:
        """Return why a turn is over, or None."""
        strategy, active = self._active(state)
        if (why := strategy.convergence(active, memory)) is not None:
            return why
        is_waiting = isinstance(active, CmaState) and len(active.waiting) > 0  # never within a generation
        if state.turn == PARTNER and state.has_spent_share(memory) and not is_waiting:
            return f"the turn of {strategy.name} is over after {state.spent[1]} evaluations in all"
        return None

    def restart(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> AutoState | None:
        """Return the state with the turn passed on, or with a new run of the same search."""
        if state.turn == SPARSE:
            return self._after_sparse(state, rng, memory)
        if state.turn == PARTNER:
            return self._after_partner(state, rng, memory)
        if state.turn == MODEL and state.blocks is None and self._may_have_blocks(memory):
            blocks = self._blocks.init(state.model.sites, memory, 0, rng)
            state = replace(state, blocks=blocks, turn=BLOCKS)
            if self._blocks.convergence(blocks, memory) is None:
                return state
        return self._after_model(state, rng, memory)

    def summary(self, state: AutoState, memory: Memory) -> Summary:
        """Return the search distribution of the one whose turn it is."""
        strategy, active = self._active(state)
        return strategy.summary(active, memory)

    def interactions(self, state: AutoState, memory: Memory) -> FloatArray:
        """Return how strongly each pair of sites interacts, shape (d, d).

        That is the size of their interaction in the function that explains all values, if one was found;
        else that of their largest mean coupling in the model.
        """
        if state.sparse is not None and state.sparse.function is not None:
            return self._sparse.interactions(state.sparse, memory)
        return self._model.interactions(state.model, memory)

    def law(self, state: AutoState, memory: Memory) -> LatticeGaussian | None:
        """Return the law that the regression on all evaluations implies; None if it is not quadratic."""
        return self._model.law(state.model, memory)

    def explained_pairs(self, state: AutoState, memory: Memory) -> NDArray[np.bool_]:
        """Tell which pairs of sites interact in the function that explains all values, shape (d, d)."""
        if state.sparse is None or state.sparse.function is None:
            return np.zeros((state.model.sites.dimension,) * 2, dtype=bool)
        return state.sparse.function.told_pairs(memory.evaluations(state.sparse.rows).x)

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
        if state.turn == BLOCKS:
            return self._blocks, state.blocks
        return self._cma if isinstance(state.partner, CmaState) else self._mixing, state.partner

    def _other(self, state: AutoState, memory: Memory) -> Strategy[Any]:
        """Return the partner: the one that has begun, else the one that would."""
        if state.partner is not None:
            return self._cma if isinstance(state.partner, CmaState) else self._mixing
        # A pyramid compares single values; under noise a distribution, which averages them, gets further.
        is_averaging = memory.is_noisy and self.partner is None
        return self._cma if is_averaging else self._other_for(state.model.sites)

    def _other_for(self, sites: Sites) -> Strategy[Any]:
        """Return the partner that suits the space."""
        is_mixing = self.partner == "mixing" or (self.partner is None and bool(sites.is_short.all()))
        return self._mixing if is_mixing else self._cma

    def _may_have_blocks(self, memory: Memory) -> bool:
        """Tell whether differences of values may show blocks: never under noise or constraints."""
        sites, is_searched = memory.sites, len(memory) > 0 and _is_plain(memory)
        return self._other_for(sites) is self._mixing and sites.is_finite and is_searched

    def _after_update(self, state: AutoState, memory: Memory) -> AutoState:
        """Return the state after a look for a function with few interactions, if one is due."""
        is_due = state.n_looked_at >= state.due and state.turn in (MODEL, PARTNER)
        return self._looked_for_pairs(state, memory) if is_due and _is_plain(memory) else state

    def _looked_for_pairs(self, state: AutoState, memory: Memory) -> AutoState:
        """Return the state after a look for a function with few interactions: its turn, if there is one."""
        sites, due = state.model.sites, next_look(state.model.sites, state.n_looked_at)
        known = memory.recall(MEMORY)
        if state.is_collecting:
            rows = [np.arange(first, last) for first, last in state.turns]
            told = memory.evaluations(np.concatenate([*rows, memory.leaders(1)]))
            known = told.take(np.flatnonzero(told.violation == 0))
        sparse = begin(sites, known)
        # A look that finds nothing leaves everything else as it was.
        if self._sparse.convergence(sparse, memory) is None:
            state = replace(state, turn=SPARSE, interrupted=state.turn)
        return replace(state, sparse=sparse, due=due)

    def _after_model(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> AutoState | None:
        """Return the partner's turn; or a new run of the model, if the partner has spent its share."""
        if not state.has_improved:
            # Who found nothing leaves more to the other: (T1)
            state = replace(state, share=min(SHARE_FACTOR * state.share, LARGEST_SHARE))
        state = replace(state, has_improved=False)
        if state.has_spent_share(memory):
            model = self._model.restart(state.model, rng, memory)
            return None if model is None else replace(state, model=model, turn=MODEL)
        return replace(state, partner=self._begun(state, rng, memory), turn=PARTNER)

    def _begun(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> Any:
        """Return the partner's state at the beginning of its turn."""
        other, sites = self._other(state, memory), state.model.sites
        partner: Any = state.partner
        if partner is None:
            # It begins anywhere, not where the model did.
            partner = other.init(sites, Memory(sites), 0, rng)
        return self._mixing.join(partner, 1, memory) if other is self._mixing else partner

    def _after_partner(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> AutoState | None:
        """Return a new run of the partner while its share lasts; else the model's turn, at the best point."""
        strategy, active = self._active(state)
        if strategy.convergence(active, memory) is not None:
            active = strategy.restart(active, rng, memory)
            if active is None:
                return None
            state = replace(state, partner=active)
            if not state.has_spent_share(memory):
                return state
        share = state.share if state.has_improved else max(state.share / SHARE_FACTOR, SMALLEST_SHARE)
        return self._after_others(replace(state, share=share), rng, memory)

    def _after_sparse(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> AutoState:
        """Return the model's turn if the function has led to a better point; else the one it interrupted."""
        if state.sparse is not None and state.sparse.has_improved:
            return self._after_others(state, rng, memory)
        return replace(state, turn=state.interrupted)

    def _after_others(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> AutoState:
        """Return the model's turn, at the best point or near."""
        model = self._model.restart(state.model, rng, memory)
        return state if model is None else replace(state, model=model, has_improved=False, turn=MODEL)


def _is_plain(memory: Memory) -> bool:
    """Tell whether values show the function itself: neither noise nor violated constraints were seen."""
    return not memory.is_noisy and not memory.has_violations
