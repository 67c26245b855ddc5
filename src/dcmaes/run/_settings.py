"""What a run is told to do, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcmaes._validation import check_choice, check_integer, check_number
from dcmaes.run._objectives import DIRECTIONS, Objectives
from dcmaes.run._trial import Reading, read

# What may differ from sitting to sitting; everything else makes the run this run.
LIMITS = ("budget", "time_limit", "target", "patience", "on_error")
# What becomes of points that come again.
DUPLICATES = ("cache", "reevaluate", "allow")
# What a failed evaluation does.
ON_ERROR = ("penalize", "continue", "raise")


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
        if self.objectives is not None:
            self._check_several(self.objectives)

    @property
    def sign(self) -> float:
        """What values are multiplied by to be minimized, and by which they are turned back."""
        return 1.0 if self.direction == "minimize" else -1.0

    def read(self, told: Any) -> Reading:
        """Return what was told of a trial as a reading, for one objective or several."""
        return read(told) if self.objectives is None else self.objectives.read(told)

    def _check_several(self, objectives: Objectives) -> None:
        if self.target is not None and objectives.reference is None:
            raise ValueError(
                f"target is a hypervolume if there are several objectives, which counts from a reference: "
                f"pass reference=, the worst value of each of {', '.join(objectives.names)} that is of "
                f"interest; got target={self.target:g} alone"
            )

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
