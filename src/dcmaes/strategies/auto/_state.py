"""Both searches and whose turn it is, frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.blocks import BlocksState
from dcmaes.strategies.cma import CmaState
from dcmaes.strategies.ising import IsingState
from dcmaes.strategies.mixing import MixingState
from dcmaes.strategies.sparse import Collected, SparseState, is_collecting

# Whose turn it is.
MODEL, BLOCKS, SPARSE, PARTNER = "model", "blocks", "sparse", "partner"
# How many evaluations the partner may spend at least for each of the model (T1).
SMALLEST_SHARE = 0.25
# Results of the others are handed to the model so many at a time, because its memory is copied each time.
ASIDE = 256


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
