"""Fading sums of the steps that the mean has taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray


@dataclass(frozen=True, eq=False)
class Path:
    """An exponentially fading sum of mean steps, and the variance it has when nothing is selected."""

    vector: FloatArray
    variance: float

    def advance(self, step: FloatArray, rate: float, effective_size: float, *, is_open: bool = True) -> Path:
        """Return the path after one more normalized step (K11)."""
        gain = rate * (2 - rate) if is_open else 0.0
        vector = (1 - rate) * self.vector + np.sqrt(gain * effective_size) * step
        return Path(vector, (1 - rate) ** 2 * self.variance + gain)

    def in_units_of(self, deviation: FloatArray) -> Path:
        """Return the path measured in new units."""
        return Path(self.vector / deviation, self.variance)

    @staticmethod
    def zero(n: int) -> Path:
        """Return a path that has not moved yet."""
        return Path(np.zeros(n), 0.0)


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of a run: of the step size (n), the correlation (l, or 0 if diagonal), the scales (n)."""

    step: Path
    correlation: Path
    scale: Path

    @staticmethod
    def zero(n: int, n_latents: int) -> Paths:
        """Return paths that have not moved yet."""
        return Paths(Path.zero(n), Path.zero(n_latents), Path.zero(n))
