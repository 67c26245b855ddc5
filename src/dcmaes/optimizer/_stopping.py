"""Why a run ended, in one word and in one line."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class StopReason(Enum):
    """Why a run stopped. Each member carries the template of its message.

    >>> StopReason.BUDGET.stop(budget=300)
    Stop(reason=<StopReason.BUDGET: 'budget'>, message='budget of 300 evaluations used')
    """

    BUDGET = "budget", "budget of {budget} evaluations used"
    TIME_LIMIT = "time_limit", "time limit of {limit:g} s reached after {elapsed:.3g} s"
    TARGET = "target", "target {target:g} reached with {value:g} {where}"
    SPACE_EXHAUSTED = "space_exhausted", "all {size} points of the space are known{remark}"
    CONVERGED = "converged", "search converged: {why}"
    CALLBACK = "callback", "stopped by {callback} after {n_evaluations} evaluations"
    INTERRUPTED = "interrupted", "interrupted after {n_evaluations} evaluations"
    ERROR = "error", "{why}"

    template: str

    def __new__(cls, value: str, template: str) -> StopReason:
        """Make a member whose value is its word alone."""
        member = object.__new__(cls)
        member._value_ = value
        member.template = template
        return member

    def stop(self, **numbers: Any) -> Stop:
        """Return the reason together with its message, filled with the numbers that fired."""
        return Stop(self, self.template.format(**numbers))


class Stop(NamedTuple):
    """A stop that has happened: why, and the message that quotes its number."""

    reason: StopReason
    message: str


# What ends one sitting, not the search: a run that is loaded goes on after these (mended, after an error).
PASSING = frozenset({StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED, StopReason.ERROR})
