"""Cheap constraints: callables on the point, looked at before a point is ever handed out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from dcmaes._validation import check_callables
from dcmaes.run._trial import describe, read, thaw

Constraint = Callable[[Any], Any]


class ConstraintError(ValueError):
    """A constraint raised, or returned no number."""


class Constraints:
    """All constraints of a run.

    Parameters
    ----------
    constraints : callable, sequence of callables, or None
        Each takes a point; a positive value (or True) is a violation.
    is_strict : bool
        Whether a constraint that fails raises; otherwise the point counts as excluded, with one warning.
    """

    def __init__(self, constraints: Constraint | Iterable[Constraint] | None, is_strict: bool) -> None:
        self._constraints = _as_tuple(constraints)
        self._is_strict = is_strict
        self._has_warned = False
        self.smallest_violation = math.inf

    def __len__(self) -> int:
        return len(self._constraints)

    def violation(self, point: Any) -> float:
        """Return the total violation of a point: the sum of the positive values, infinite if one failed."""
        total = 0.0
        for constraint in self._constraints:
            total += max(self._evaluate(constraint, point), 0.0)
        if total > 0.0:
            self.smallest_violation = min(self.smallest_violation, total)
        return total

    def _evaluate(self, constraint: Constraint, point: Any) -> float:
        error: Exception | None = None
        try:
            reading = read(constraint(thaw(point)))
            reason = reading.reason
        except Exception as raised:
            error, reason = raised, describe(raised)
        if reason is None:
            return reading.value
        name = getattr(constraint, "__name__", repr(constraint))
        message = f"constraint {name} failed at {point!r}: {reason}"
        if self._is_strict:
            raise ConstraintError(message) from error
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"{message}; such points count as excluded", RuntimeWarning, stacklevel=2)
        return math.inf


def _as_tuple(constraints: Constraint | Iterable[Constraint] | None) -> tuple[Constraint, ...]:
    if constraints is None:
        return ()
    return check_callables("constraints", constraints, "take a point")
