"""Evaluated points as the search sees them: values in units of the front."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.pareto import is_nondominated
from dcmaes.strategies._labels import beyond_constraints
from dcmaes.strategies._memory import MOST_RECALLED, Memory
from dcmaes.strategies.ising._settings import DEFAULT as REGRESSION
from dcmaes.strategies.ising._settings import IsingSettings

# Values beyond this, in units of the front, are not told apart.
_LARGEST = 1e100


@dataclass(frozen=True)
class FrontSettings:
    """What can be set in the search for a front, beside the settings of its regressions.

    `benchmarks/objectives.py` measures the search against others; formulas are those of docs/maths.md.

    Attributes
    ----------
    regression : IsingSettings
        The settings that it shares with `ising`.
    expected : three pairs of floats
        Improvements and evaluations that count beside those that there were, for the regressions, the
        processes and the population.
    process_refit_share : float
        Scales of the processes are refitted whenever the number of evaluations has grown by this share.
    limits : pair of floats
        Where the hypervolume counts from, in units of the front: at the second if the user does not say what
        is of interest, else between these, since a reference may be far off.
    n_neighbours : int
        How many neighbours on the front say how far to look.
    largest_width : float
        Largest width at which a numeric site is looked at, as a fraction of its range.
    change_limits, radii : tuples of floats
        How many choices the searches of a batch may change in turn, in units of the reach, and how many
        widths numbers may go.
    n_draws : int
        Functions drawn for each proposal.
    behind : float
        How much worse, in units of the front, a point counts that is expected to violate constraints.
    crossed : float
        The probability that a child of the population has two parents.
    """

    regression: IsingSettings = REGRESSION
    expected: tuple[tuple[float, float], ...] = ((2.0, 32.0), (2.0, 4.0), (2.0, 64.0))
    process_refit_share: float = 0.1
    limits: tuple[float, float] = (0.05, 2.0)
    n_neighbours: int = 6
    largest_width: float = 0.3
    change_limits: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    radii: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    n_draws: int = 2
    behind: float = 10.0
    crossed: float = 0.7


DEFAULT = FrontSettings()


@dataclass(frozen=True, eq=False)
class Observations:
    """Evaluated points with the values of all objectives, to be minimized, in units of the front.

    Attributes
    ----------
    x : array of shape (n, d)
        Coded points.
    values : array of shape (n, m)
        From 0, the best of the front, to 1, its worst; above that on a logarithmic scale. Where no point is
        feasible, the violation takes the place of all objectives, and m is 1.
    front : int array of shape (k,)
        Rows of what no other row dominates, in the order of the first objective.
    limit : array of shape (m,)
        Where the hypervolume counts from.
    excess : array of shape (n,)
        How far points are beyond the constraints, as far as violations tell; 0 for those that are not.
    settings : FrontSettings
        Those of the strategy.
    """

    x: FloatArray
    values: FloatArray
    front: IntArray
    limit: FloatArray
    excess: FloatArray
    settings: FrontSettings

    @staticmethod
    def of(memory: Memory, settings: FrontSettings = DEFAULT) -> Observations:
        """Return what the memory knows; without an evaluation that gave anything, the front is empty."""
        n = len(memory)
        places = np.arange(max(0, n - MOST_RECALLED), n)
        if memory.n_objectives > 1:
            places = np.union1d(memory.front, places)
        told = memory.evaluations(places)
        values, is_feasible = memory.values_at(places), told.violation == 0
        limit, excess = memory.reference, beyond_constraints(told.violation)
        if not is_feasible.any():
            values, is_feasible, limit = told.violation[:, None], np.isfinite(told.violation), None
        if not is_feasible.any():
            nothing = np.zeros(0, dtype=np.int64)
            return Observations(
                told.x, np.zeros((len(told), 1)), nothing, np.ones(1), np.zeros(len(told)), settings
            )
        feasible = np.flatnonzero(is_feasible)
        # The memory knows the front of several objectives; that of one value is looked for here.
        is_several = values.shape[1] > 1
        front = (
            np.searchsorted(places, memory.front)
            if is_several
            else feasible[is_nondominated(values[feasible])]
        )
        front = front[np.lexsort(values[front].T[::-1])]
        scale = _Scale.of(values[front], values[feasible])
        bent = np.full(values.shape, np.nan)
        bent[feasible] = scale.bent(values[feasible])
        # Others are behind nearly all, by how much they violate.
        violation = np.minimum(told.violation, 1e300)
        high = np.quantile(bent[feasible], 0.9, axis=0)
        share = (0.5 + violation / (1 + violation))[:, None]
        bent = np.where(is_feasible[:, None], bent, high + share * np.maximum(high, 1.0))
        wanted = np.full(values.shape[1], settings.limits[1])
        if limit is not None:
            wanted = np.clip(scale.bent(limit[None])[0], *settings.limits)
        return Observations(told.x, bent, front, wanted, excess, settings)

    @cached_property
    def front_values(self) -> FloatArray:
        """Values of the front, shape (k, m)."""
        values: FloatArray = self.values[self.front]
        return values


@dataclass(frozen=True, eq=False)
class _Scale:
    """The best value of each objective on the front, and the range of the front, shape (m,) each."""

    low: FloatArray
    unit: FloatArray

    @staticmethod
    def of(front: FloatArray, feasible: FloatArray) -> _Scale:
        """Return the scale of a front; where all its points are alike, that of all feasible ones."""
        low = front.min(axis=0) / 2
        unit = front.max(axis=0) / 2 - low
        spread = np.quantile(feasible / 2, 0.5, axis=0) - low
        unit = np.where(unit > 0, unit, np.maximum(spread, 0.0))
        return _Scale(low, np.where(unit > 0, unit, 1.0))

    def bent(self, values: FloatArray) -> FloatArray:
        """Return values in units of the front, those beyond it on a logarithmic scale (O5)."""
        with np.errstate(over="ignore"):
            scaled = np.clip((values / 2 - self.low) / self.unit, -_LARGEST, _LARGEST)
        bent: FloatArray = np.where(scaled > 1, 1 + np.log(np.maximum(scaled, 1.0)), scaled)
        return bent
