"""The function that was found, and the points at which it promises better values, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

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


def state_to_dict(state: SparseState) -> dict[str, Any]:
    """Return the state as numbers, arrays, and dicts of those."""
    function = state.function
    return {
        "memory": vars(state.memory),
        "function": None if function is None else vars(function),
        "promised": state.promised,
        "idle": state.idle,
        "has_improved": state.has_improved,
        "why_over": state.why_over,
    }


def state_from_dict(data: Mapping[str, Any], sites: Sites) -> SparseState:
    """Return the state that `state_to_dict` described."""
    function = data["function"]
    return SparseState(
        sites=sites,
        memory=Evaluations(**data["memory"]),
        function=None if function is None else SparseQuadratic(**function),
        promised=np.asarray(data["promised"]),
        idle=data["idle"],
        has_improved=data["has_improved"],
        why_over=data["why_over"],
    )
