"""Cheap constraints: functions of the point or text, looked at before a point is ever handed out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from dcmaes._validation import check_list, shown
from dcmaes.run._trial import describe, read, thaw
from dcmaes.space import Space
from dcmaes.space._expressions import Expression

# A function of the point, or text such as "a + 2*b <= 10".
Constraint = Callable[[Any], Any] | str


class ConstraintError(ValueError):
    """A constraint raised, or returned no number."""


class Constraints:
    """All constraints of a run.

    Parameters
    ----------
    constraints : callable, str, sequence of these, or None
        Functions that take a point, of which a positive value (or True) is a violation, or conditions as
        text such as "a + 2*b <= 10".
    space : Space
        The variables.
    is_strict : bool
        Whether a constraint that fails raises; otherwise the point counts as excluded, with one warning.

    Attributes
    ----------
    functions : tuple of callables
        One for each constraint.
    smallest_violation : float
        The smallest one that was seen; infinite if there was none.
    """

    def __init__(
        self, constraints: Constraint | Iterable[Constraint] | None, space: Space, is_strict: bool
    ) -> None:
        self.functions = _as_tuple(constraints, space)
        self._is_strict = is_strict
        self._has_warned = False
        self.smallest_violation = math.inf

    def violation(self, point: Any) -> float:
        """Return the total violation of a point: the sum of the positive values, infinite if one failed."""
        total = 0.0
        for constraint in self.functions:
            total += max(self._evaluate(constraint, point), 0.0)
        if total > 0.0:
            self.smallest_violation = min(self.smallest_violation, total)
        return total

    def _evaluate(self, constraint: Callable[[Any], Any], point: Any) -> float:
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


def _as_tuple(
    constraints: Constraint | Iterable[Constraint] | None, space: Space
) -> tuple[Callable[[Any], Any], ...]:
    if constraints is None:
        return ()
    wanted = 'functions of a point or text such as "a + 2*b <= 10"'
    is_one = isinstance(constraints, str) or callable(constraints)
    given = [constraints] if is_one else check_list("constraints", constraints, wanted)
    return tuple(_read(f"constraints[{i}]", one, wanted, space) for i, one in enumerate(given))


def _read(name: str, constraint: Any, wanted: str, space: Space) -> Callable[[Any], Any]:
    if isinstance(constraint, str):
        try:
            return Expression(constraint, space)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not callable(constraint):
        raise TypeError(f"{name}: constraints must be {wanted}, got {shown(constraint)}")
    function: Callable[[Any], Any] = constraint
    return function
