"""Why a run ended, in one word and in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

# So many evaluations that fail alike, before any gave a value, are a mistake in the objective.
N_ALIKE = 10
_NUMBER = re.compile(r"[-+]?\d[\w.]*(?:[-+]\d+)?")


class StopReason(Enum):
    """Why a run stopped. Each member carries the template of its message.

    >>> StopReason.BUDGET.stop(budget=300)
    Stop(reason=<StopReason.BUDGET: 'budget'>, message='budget of 300 evaluations used')
    """

    BUDGET = "budget", "budget of {budget} evaluations used"
    TIME_LIMIT = "time_limit", "time limit of {limit:g} s reached after {elapsed:.3g} s"
    TARGET = "target", "target {target:g} reached with {value:g} {where}"
    PATIENCE = "patience", "patience of {patience} evaluations used up: {best}"
    SPACE_EXHAUSTED = "space_exhausted", "all {size} points of the space are known{remark}"
    CONVERGED = "converged", "search converged: {why}"
    CALLBACK = "callback", "stopped by {callback} after {n_evaluations} evaluations"
    INTERRUPTED = "interrupted", "interrupted after {n_evaluations} evaluations"
    FAILURES = (
        "failures",
        "none of {n_told} evaluations gave a value, and the last {n} failed for the same reason: {reason} "
        '(on_error = "continue" ignores this)',
    )
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


# Reasons that end a session but not the search: a run that is loaded continues after these.
PASSING = frozenset(
    {
        *(StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED),
        *(StopReason.FAILURES, StopReason.ERROR),
    }
)


def are_alike(reasons: Iterable[str | None]) -> bool:
    """Tell whether failures have one reason, apart from the numbers in it.

    >>> are_alike(["no value at -0.25", "no value at 1e-07"]), are_alike(["too small", "too large"])
    (True, False)
    """
    return len({None if reason is None else _NUMBER.sub("0", reason) for reason in reasons}) == 1
