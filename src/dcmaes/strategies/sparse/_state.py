"""The function that was found, and the points at which it promises better values, frozen."""

from __future__ import annotations

from dataclasses import dataclass

from dcmaes._validation import FloatArray
from dcmaes.models import SparseQuadratic
from dcmaes.space import Sites
from dcmaes.strategies._protocol import Evaluations


@dataclass(frozen=True, eq=False)
class SparseState:
    """State of the search for functions with few interactions.

    Attributes
    ----------
    sites : Sites
        The space: every site is a choice.
    memory : Evaluations
        The feasible evaluations that the function has to explain.
    function : SparseQuadratic or None
        The function, as far as the values tell.
    promised : array of shape (k, d)
        Points that it predicts to be better than all in memory, the best one first.
    idle : int
        Evaluations since the last better point.
    has_improved : bool
        Whether there was one.
    why_over : str
        Why there is nothing more to do; empty while there is.
    """

    sites: Sites
    memory: Evaluations
    function: SparseQuadratic | None
    promised: FloatArray
    idle: int
    has_improved: bool
    why_over: str

    @property
    def best(self) -> FloatArray:
        """The best point in memory, shape (d,)."""
        best: FloatArray = self.memory.x[self.memory.order()[0]]
        return best
