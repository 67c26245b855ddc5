"""The default: proposers that share evaluations by what they gain; see docs/maths.md, section T."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, check_choice
from dcmaes.distributions import LatticeGaussian
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._credit import Credit
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank, Spans, with_place
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Identifying, Proposer, Strategy, Summary
from dcmaes.strategies.blocks import Blocks, BlocksState
from dcmaes.strategies.cma import Cma, CmaState
from dcmaes.strategies.gaussian_process import GaussianProcess, ProcessState
from dcmaes.strategies.hidden import Hidden, HiddenState
from dcmaes.strategies.ising import IsingSearch, IsingState
from dcmaes.strategies.mixing import Mixing, MixingState
from dcmaes.strategies.neighbours import Neighbours, NeighboursState
from dcmaes.strategies.sparse import Sparse, SparseState, begin, is_collecting, next_look

# The proposers, by their place in `AutoState.parts`: those that share evaluations by credit, then those that
# know the function, as far as it is identified, and have precedence.
MODEL: Final = 0
PROCESS: Final = 1
POPULATION: Final = 2
BLOCKS: Final = 3
SPARSE: Final = 4
NEIGHBOURS: Final = 5
HIDDEN: Final = 6
SHARING, KNOWING = (MODEL, PROCESS, POPULATION), (BLOCKS, SPARSE, NEIGHBOURS, HIDDEN)
# What is expected of a proposer before it has proposed anything: so many gains in so many evaluations. Models
# gain soon or not at all; of a population one gain is expected in as many evaluations as the model has
# patience for, and that so firmly as if it had been seen so many times.
OF_MODELS, FIRMLY = (1.0, 4.0), 4.0
NOTHING = (0.0, 1.0)
# What a population that has not begun will ask for: about a generation.
FIRST_BATCH = 10


@dataclass(frozen=True, eq=False)
class AutoState:
    """State of the `auto` strategy.

    Attributes
    ----------
    parts : tuple
        State of each proposer, in the order of `MODEL`, `PROCESS`, ...; None for one that has not begun.
    turn : int
        Which of them proposes now.
    turns : tuple of pairs of ints
        From which trial on each of the last proposers proposed: to know whose results come late.
    credit : Credit
        What the proposers have gained, and for how many evaluations.
    best : Rank
        That of the best point.
    seed : int
        What a population begins with.
    look_at : float
        After how many evaluations a function with few interactions is looked for next: in all, or those of
        others than the model where their single changes are looked at.
    collected : Spans
        Places in the memory of those.
    """

    parts: tuple[
        IsingState,
        ProcessState | None,
        CmaState | MixingState | None,
        BlocksState | None,
        SparseState | None,
        NeighboursState | None,
        HiddenState | None,
    ]
    turn: int
    turns: tuple[tuple[int, int], ...]
    credit: Credit
    best: Rank
    seed: int
    look_at: float
    collected: Spans

    @property
    def model(self) -> IsingState:
        """State of the search with a regression."""
        return self.parts[MODEL]

    def with_part(self, proposer: int, part: Any) -> AutoState:
        """Return the state with that of one proposer replaced."""
        parts: Any = (*self.parts[:proposer], part, *self.parts[proposer + 1 :])
        return replace(self, parts=parts)

    def proposer_of(self, trial_id: int) -> int:
        """Return who proposed a trial."""
        return next((who for first, who in reversed(self.turns) if first <= trial_id), self.turn)

    @property
    def n_looked_at(self) -> int:
        """Evaluations by which the time of the next look is measured."""
        return sum(last - first for first, last in self.collected)


class Auto(Coded[AutoState]):
    """Share evaluations among models of the values and a population, by what each of them gains.

    A regression (`ising`), a Gaussian process and a population (`mixing` or `cma`) read the same memory. Each
    has its share of the evaluations by the improvements that its points have brought. Functions that are sums
    over small blocks of variables, or over few pairs of them, are identified and minimized exactly
    (docs/maths.md, sections D, H, S, T and W).

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

    state_type = AutoState

    def __init__(self, *, partner: str | None = None) -> None:
        self.partner = None if partner is None else check_choice("partner", partner, ("cma", "mixing"))
        self._model, self._process, self._sparse = IsingSearch(), GaussianProcess(), Sparse()
        self._cma, self._mixing = Cma(), Mixing()
        self._sharing: dict[int, Proposer[Any]] = {MODEL: self._model, PROCESS: self._process}
        self._knowing: dict[int, Identifying[Any]] = {
            BLOCKS: Blocks(),
            SPARSE: self._sparse,
            NEIGHBOURS: Neighbours(),
            HIDDEN: Hidden(),
        }

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
        model = self._model.init(sites, memory, budget, rng)
        state = AutoState(
            parts=(model, self._process.init(sites, memory, budget, rng), None, None, None, None, None),
            turn=MODEL,
            turns=((0, MODEL),),
            credit=Credit.none(len(SHARING)),
            best=WORST,
            seed=int(rng.integers(2**62)),
            look_at=next_look(sites, 0),
            collected=(),
        )
        start = memory.starts
        known = start.take(np.flatnonzero(~np.isnan(start.value)))
        best = known.rank(int(known.order()[0])) if len(known) else WORST
        collected: Spans = () if is_collecting(sites) or len(known) == 0 else ((0, len(known)),)
        return self._next(replace(state, best=best, collected=collected), memory)

    def batch_size(self, state: AutoState) -> int:
        """Return how many results the one whose turn it is waits for."""
        return self._proposer(state, state.turn).batch_size(state.parts[state.turn])

    def sample(self, state: AutoState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points of the one whose turn it is, shape (n, d)."""
        return self._proposer(state, state.turn).sample(state.parts[state.turn], n, rng, memory)

    def update(self, state: AutoState, told: Evaluations, memory: Memory) -> AutoState:
        """Return the state after each proposer has learned from what it had proposed."""
        by = np.array([self._proposer_of(state, row, memory) for row in told.row.tolist()], dtype=np.int64)
        for who in np.unique(by).tolist():
            own = told.take(np.flatnonzero(by == who))
            state = self._counted(state, who, own.fresh())
            if state.parts[who] is not None:
                part = self._proposer(state, who).update(state.parts[who], own, memory)
                state = state.with_part(who, part)
        return self._next(state, memory)

    def convergence(self, state: AutoState, memory: Memory) -> str | None:
        """Return why the first proposer that has converged has done so, or None."""
        for who in self._converged(state, memory):
            return self._proposer(state, who).convergence(state.parts[who], memory)
        return None

    def restart(self, state: AutoState, rng: np.random.Generator, memory: Memory) -> AutoState | None:
        """Return the state in which those that have converged start afresh."""
        for who in self._converged(state, memory):
            if who == MODEL and state.parts[BLOCKS] is None and self._may_have_blocks(memory):
                blocks = self._knowing[BLOCKS].init(memory.sites, memory, 0, rng)
                state = state.with_part(BLOCKS, blocks)
            part = self._proposer(state, who).restart(state.parts[who], rng, memory)
            if part is None:
                return None
            state = replace(state.with_part(who, part), credit=state.credit.after_run(who))
        return self._next(state, memory)

    def summary(self, state: AutoState, memory: Memory) -> Summary:
        """Return the search distribution of the population in its turn, else that of the model."""
        who = POPULATION if state.turn == POPULATION else MODEL
        return self._proposer(state, who).summary(state.parts[who], memory)

    def interactions(self, state: AutoState, memory: Memory) -> FloatArray:
        """Return how strongly each pair of sites interacts, shape (d, d).

        That is the size of their interaction in the function that explains all values, if one was found;
        else that of their largest mean coupling in the model.
        """
        sparse = state.parts[SPARSE]
        if sparse is not None and sparse.function is not None:
            return self._sparse.interactions(sparse, memory)
        return self._model.interactions(state.model, memory)

    def law(self, state: AutoState, memory: Memory) -> LatticeGaussian | None:
        """Return the law that the regression on all evaluations implies; None if it is not quadratic."""
        return self._model.law(state.model, memory)

    def explained_pairs(self, state: AutoState, memory: Memory) -> NDArray[np.bool_]:
        """Tell which pairs of sites interact in the function that explains all values, shape (d, d)."""
        sparse = state.parts[SPARSE]
        if sparse is None or sparse.function is None:
            return np.zeros((state.model.sites.dimension,) * 2, dtype=bool)
        return sparse.function.told_pairs(memory.evaluations(sparse.rows).x)

    def _proposer(self, state: AutoState, who: int) -> Proposer[Any]:
        """Return a proposer; the population is the one that has begun."""
        if who == POPULATION:
            return self._cma if isinstance(state.parts[who], CmaState) else self._mixing
        return self._sharing.get(who) or self._knowing[who]

    def _proposer_of(self, state: AutoState, row: int, memory: Memory) -> int:
        """Return who proposed a point that is told; one that was not evaluated was drawn just now."""
        return state.turn if row < 0 else state.proposer_of(memory.evaluation(row).id)

    def _counted(self, state: AutoState, who: int, fresh: Evaluations) -> AutoState:
        """Return the state with the results of a proposer counted."""
        credit, best, collected = state.credit, state.best, state.collected
        for i in range(len(fresh)):
            rank = fresh.rank(i)
            if who in SHARING:
                credit = credit.after(who, _gain(rank, best, credit.usual))
            best = min(rank, best)
        if who != MODEL or not is_collecting(state.model.sites):
            for place in fresh.row.tolist():
                collected = with_place(collected, place)
        return replace(state, credit=credit, best=best, collected=collected)

    def _converged(self, state: AutoState, memory: Memory) -> list[int]:
        """Return which of those that share evaluations have converged."""
        begun = [who for who in SHARING if state.parts[who] is not None]
        return [w for w in begun if self._proposer(state, w).convergence(state.parts[w], memory) is not None]

    def _next(self, state: AutoState, memory: Memory) -> AutoState:
        """Return the state with the turn passed to the one that has most to expect, or left where it is."""
        state = self._looked_beyond_blocks(self._looked_for_pairs(state, memory), memory)
        who = next((k for k in KNOWING if self._knows_more(state, k, memory)), None)
        if who is None:
            who = state.credit.next(self._expected(state, memory), self._batches(state))
        if who == state.turn and state.parts[who] is not None:
            return state
        part = state.parts[who]
        if part is None:
            # A population begins anywhere, not where the model did.
            rng, nothing = np.random.default_rng(state.seed), Memory(memory.sites)
            part = self._population(memory).init(memory.sites, nothing, 0, rng)
            state = state.with_part(who, part)
        state = state.with_part(who, self._proposer(state, who).join(part, memory))
        turns = [*state.turns, (memory.n_trials, who)]
        # What was proposed before the oldest pending trial has been told.
        n_old = max(sum(first <= memory.oldest_pending for first, _ in turns) - 1, 0)
        return replace(state, turn=who, turns=tuple(turns[n_old:]))

    def _knows_more(self, state: AutoState, who: int, memory: Memory) -> bool:
        """Tell whether one that identifies the function has points to propose."""
        part, proposer = state.parts[who], self._knowing[who]
        if part is None or 2 * proposer.n_asked(part) > len(memory):
            return False
        return proposer.convergence(part, memory) is None

    def _expected(self, state: AutoState, memory: Memory) -> FloatArray:
        """Return gains and evaluations expected of each proposer that shares, shape (2, 3); 0 for none."""
        of_process = OF_MODELS if self._process.is_useful(memory) else NOTHING
        has_begun = bool(np.isfinite(state.model.level.violation))
        of_population = (FIRMLY, FIRMLY * state.model.patience) if has_begun else NOTHING
        if of_process != NOTHING and memory.n_trials > len(memory):
            # Only the process knows what points that are out leave to be expected.
            return np.array([NOTHING, of_process, NOTHING]).T
        return np.array([OF_MODELS, of_process, of_population]).T

    def _batches(self, state: AutoState) -> IntArray:
        """Return how many evaluations each proposer that shares asks for at a time, shape (3,)."""
        parts = [(who, state.parts[who]) for who in SHARING]
        sizes = [FIRST_BATCH if p is None else self._proposer(state, who).batch_size(p) for who, p in parts]
        return np.array(sizes)

    def _population(self, memory: Memory) -> Strategy[Any]:
        """Return the population that suits the space."""
        if self.partner is not None:
            return self._cma if self.partner == "cma" else self._mixing
        # A pyramid compares single values; under noise a distribution, which averages them, gets further.
        is_mixing = bool(memory.sites.is_short.all()) and not memory.is_noisy
        return self._mixing if is_mixing else self._cma

    def _may_have_blocks(self, memory: Memory) -> bool:
        """Tell whether differences of values may show blocks: never under noise or constraints."""
        has_few_states = bool(memory.sites.is_short.all()) and self.partner != "cma"
        return has_few_states and memory.best is not None and _is_plain(memory)

    def _looked_beyond_blocks(self, state: AutoState, memory: Memory) -> AutoState:
        """Return the state in which what blocks were not is looked for, if it is time for that."""
        blocks = state.parts[BLOCKS]
        if blocks is None or not blocks.why_over or not _is_plain(memory):
            return state
        n_pairs = int(memory.sites.is_free.sum()) ** 2 // 2
        is_due = {NEIGHBOURS: blocks.is_large and len(memory) >= 2 * n_pairs, HIDDEN: blocks.is_sum}
        for who in is_due:
            if is_due[who] and state.parts[who] is None:
                rng = np.random.default_rng([state.seed, who])
                part = self._knowing[who].init(memory.sites, memory, 0, rng)
                state = state.with_part(who, part)
        return state

    def _looked_for_pairs(self, state: AutoState, memory: Memory) -> AutoState:
        """Return the state after a look for a function with few interactions, if it is time for one."""
        if state.n_looked_at < state.look_at or state.turn in (BLOCKS, SPARSE) or not _is_plain(memory):
            return state
        sites, known = memory.sites, memory.recall()
        if is_collecting(sites):
            rows = [np.arange(first, last) for first, last in state.collected]
            told = memory.evaluations(np.concatenate([*rows, memory.leaders(1)]))
            known = told.take(np.flatnonzero(told.violation == 0))
        look_at = next_look(sites, state.n_looked_at)
        return replace(state.with_part(SPARSE, begin(sites, known)), look_at=look_at)


def _gain(rank: Rank, best: Rank, usual: float) -> float:
    """Return by how much a point improves on the best one: as usual if it is the first or more feasible."""
    if not rank < best:
        return 0.0
    is_comparable = rank.violation == best.violation and np.isfinite(best.value) and np.isfinite(rank.value)
    return min(best.value / 2 - rank.value / 2, 1e300) if is_comparable else usual


def _is_plain(memory: Memory) -> bool:
    """Tell whether values show the function itself: neither noise nor violated constraints were seen."""
    return not memory.is_noisy and not memory.has_violations
