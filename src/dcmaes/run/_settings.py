"""What a run is told to do, and when it is over: in one word, and in one line with the number that fired."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dcmaes._html import points_text
from dcmaes._validation import check_choice, check_integer, check_number
from dcmaes.pareto import hypervolume
from dcmaes.run._objectives import DIRECTIONS, Objectives
from dcmaes.run._search import EXCLUDED_DRAWS, OTHER_DRAWS
from dcmaes.run._trial import Reading
from dcmaes.strategies import Rank

if TYPE_CHECKING:
    from dcmaes.run._run import Run

# What may differ from sitting to sitting; everything else makes the run this run.
LIMITS = ("budget", "time_limit", "target", "patience", "on_error")
# What becomes of points that come again.
DUPLICATES = ("cache", "reevaluate", "allow")
# What a failed evaluation does.
ON_ERROR = ("penalize", "continue", "raise")
# So many evaluations that fail alike, before any gave a value, are a mistake in the objective.
N_ALIKE = 10
_NUMBER = re.compile(r"[-+]?\d[\w.]*(?:[-+]\d+)?")


@dataclass(frozen=True)
class Settings:
    """What a run was told to do, checked.

    >>> Settings(budget=0, seed=1)
    Traceback (most recent call last):
    ValueError: budget must be at least 1, got 0
    """

    budget: int
    seed: int
    direction: str = "minimize"
    time_limit: float | None = None
    target: float | None = None
    patience: int | None = None
    duplicates: str = "cache"
    on_error: str = "penalize"
    objectives: Objectives | None = None

    def __post_init__(self) -> None:
        self._set("budget", check_integer("budget", self.budget, low=1, high=2**63 - 1))
        self._set("seed", check_integer("seed", self.seed, low=0, high=2**128 - 1))
        check_choice("direction", self.direction, DIRECTIONS)
        check_choice("duplicates", self.duplicates, DUPLICATES)
        check_choice("on_error", self.on_error, ON_ERROR)
        if self.time_limit is not None:
            self._set("time_limit", check_number("time_limit", self.time_limit, low=0.0))
        if self.target is not None:
            self._set("target", check_number("target", self.target))
        if self.patience is not None:
            self._set("patience", check_integer("patience", self.patience, low=1))
        if self.objectives is not None and self.target is not None and self.objectives.reference is None:
            raise ValueError(
                f"target is a hypervolume if there are several objectives, which counts from a reference: "
                f"pass reference=, the worst value of each of {', '.join(self.objectives.names)} that is of "
                f"interest; got target={self.target:g} alone"
            )

    @property
    def sign(self) -> float:
        """What values are multiplied by to be minimized, and by which they are turned back."""
        return 1.0 if self.direction == "minimize" else -1.0

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def choose_seed(seed: int | None) -> int:
    """Return the seed, or a new one that results report, so that any run can be repeated.

    >>> choose_seed(3)
    3
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return seed


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


def find_stop(run: Run, place: int | None, rank: Rank) -> Stop | None:
    """Return why a run is over now that the evaluation at a place has this rank; None if it is not."""
    target = run.settings.target
    if target is not None and (stop := _success(run, target, place, rank)) is not None:
        return stop
    if not run.outstanding and run.new_points.is_exhausted:
        return _exhaustion(run)
    if run.n_told >= run.settings.budget:
        return StopReason.BUDGET.stop(budget=run.settings.budget)
    if is_out_of_patience(run):
        return _impatience(run)
    if run.search.converged is not None:
        return StopReason.CONVERGED.stop(why=run.search.converged)
    return None


def failure_stop(run: Run, trial_id: int, reading: Reading) -> Stop | None:
    """Return the stop at a failure if `on_error` says so, or if failures look like a mistake."""
    if run.settings.on_error == "raise":
        return StopReason.ERROR.stop(why=f"the evaluation of trial {trial_id} failed: {reading.reason}")
    if run.settings.on_error == "penalize" and run.memory.n_failures == run.n_told >= N_ALIKE:
        n = len(run.memory)
        if are_alike(map(run.memory.reason, range(n - N_ALIKE, n))):
            return StopReason.FAILURES.stop(n_told=run.n_told, n=N_ALIKE, reason=reading.reason)
    return None


def dead_end(run: Run) -> Stop:
    """Return the stop of a run that finds no new point, though the space has some."""
    why = f"no new point satisfied the constraints in {EXCLUDED_DRAWS + OTHER_DRAWS} draws"
    why += f"; the smallest violation was {run.constraints.smallest_violation:.6g}"
    return StopReason.ERROR.stop(why=why)


def is_out_of_patience(run: Run) -> bool:
    """Tell whether the best point was found `patience` evaluations ago, or before."""
    patience = run.settings.patience
    if patience is None or run.n_told < patience:
        return False
    best = run.best() if run.settings.objectives is None else run.memory.grown_at
    return run.n_told - (0 if best is None else run.number(best)) >= patience


def _success(run: Run, target: float, place: int | None, rank: Rank) -> Stop | None:
    """Return the stop at the target: a value that is as good beyond doubt, or a hypervolume as large."""
    sign = run.settings.sign
    if run.settings.objectives is None:
        if place is None or rank.violation > 0.0 or not rank.value + run.error_at(place) <= sign * target:
            return None
        return StopReason.TARGET.stop(target=target, value=sign * rank.value, where=_place(run.n_told))
    if not _has_volume(run, target):
        return None
    where = _place(run.number(int(run.memory.front.max())))
    message = f"target hypervolume {target:g} reached with {run.memory.several.volume:g} {where}"
    return Stop(StopReason.TARGET, message)


def _impatience(run: Run) -> Stop:
    best = run.best()
    found = "none of them gave a value"
    grown_at = run.memory.grown_at
    if run.settings.objectives is not None and grown_at is not None:
        n, place = len(run.memory.front), _place(run.number(grown_at))
        volume = "" if run.memory.reference is None else f" of {run.memory.several.volume:g}"
        were = f"{points_text(n)} {'was' if n == 1 else 'were'} on the front"
        found = f"the hypervolume{volume} has not grown since {were}, {place}"
        found = found if n else f"nothing closer to feasible than {place}"
    elif best is not None:
        violation, value = run.rank(best)
        kind = "better" if violation == 0.0 else "closer to feasible"
        found = f"nothing {kind} than {run.settings.sign * value:g} {_place(run.number(best))}"
    return StopReason.PATIENCE.stop(patience=run.settings.patience, best=found)


def _exhaustion(run: Run) -> Stop:
    n_excluded = len(run.memory.excluded)
    remark = f", {n_excluded} of them excluded by constraints" if n_excluded else ""
    if n_excluded and not len(run.memory):
        remark = ": none satisfies the constraints"
    return StopReason.SPACE_EXHAUSTED.stop(size=run.space.size, remark=remark)


def _has_volume(run: Run, target: float) -> bool:
    """Tell whether the front of several objectives has reached the hypervolume that is the target.

    If repeats are averaged, it must do so when each mean is worse by its standard error.
    """
    memory = run.memory
    if not run.memory.several.volume >= target:
        return False
    if run.repeats is None or memory.reference is None:
        return True
    errors = np.array([run.error_at(place) for place in memory.front.tolist()])
    doubtful = memory.values_at(memory.front) + errors
    return not np.isnan(doubtful).any() and hypervolume(doubtful, memory.reference) >= target


def _place(number: int) -> str:
    return f"at evaluation {number}" if number else "by a starting point"
