"""The states of sites, and the unit coordinates in which they are near to each other or far."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, readonly


class SiteKind(IntEnum):
    """What the states of a site are: in a row, side by side, or a continuum.

    >>> SiteKind(1)
    <SiteKind.CATEGORY: 1>
    """

    LATTICE = 0
    CATEGORY = 1
    CONTINUOUS = 2


LATTICE, CATEGORY, CONTINUOUS = SiteKind

Columns = slice | IntArray | None

ARRAYS = ("kind", "n_states", "periodic", "log", "low", "high")

# A multiple of the rounding errors made between `coordinate` and `from_coordinate` (a division or a logarithm
# and their inverses, each good to about one unit in the last place).
_SLACK = 8 * float(np.finfo(np.float64).eps)


def _columns(mask: NDArray[np.bool_]) -> Columns:
    """Return what selects the masked sites: a slice (no copy) where possible, None where there is none."""
    index = np.flatnonzero(mask)
    if index.size == 0:
        return None
    if index[-1] - index[0] + 1 == index.size:
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Sites as arrays of shape (d,), and the maps between their states and unit coordinates.

    Every method works on the last axis of arrays of shape (..., d). What it is for is said by `Sites`, which
    has the same attributes.
    """

    kind: NDArray[np.int8]
    n_states: IntArray
    periodic: NDArray[np.bool_]
    log: NDArray[np.bool_]
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        types = {"kind": np.int8, "n_states": np.int64, "periodic": np.bool_, "log": np.bool_}
        n_sites = np.size(self.kind)
        for name in ARRAYS:
            array: NDArray[Any] = np.array(getattr(self, name), dtype=types.get(name, np.float64))
            if array.shape != (n_sites,):
                raise ValueError(f"{name} must have shape ({n_sites},), one entry a site; got {array.shape}")
            object.__setattr__(self, name, readonly(array))

    @property
    def dimension(self) -> int:
        """Number of sites d."""
        return len(self.kind)

    @cached_property
    def is_lattice(self) -> NDArray[np.bool_]:
        """Whether each site has states in a row (or on a circle), shape (d,)."""
        return readonly(self.kind == LATTICE)

    @cached_property
    def is_category(self) -> NDArray[np.bool_]:
        """Whether each site is one of several states without an order, shape (d,)."""
        return readonly(self.kind == CATEGORY)

    @cached_property
    def is_continuous(self) -> NDArray[np.bool_]:
        """Whether each site has an interval of values, shape (d,)."""
        return readonly(self.kind == CONTINUOUS)

    @cached_property
    def is_numeric(self) -> NDArray[np.bool_]:
        """Whether each site has a coordinate (all but the category sites), shape (d,)."""
        return readonly(~self.is_category)

    @cached_property
    def is_free(self) -> NDArray[np.bool_]:
        """Whether each site has more than one value, shape (d,)."""
        return readonly(np.where(self.is_continuous, self.low < self.high, self.n_states > 1))

    def coordinate(self, x: FloatArray) -> FloatArray:
        """Return the unit coordinate of coded points, shape (..., d).

        A lattice with n states has its states at state / (n - 1), or, if it is periodic, at state / n on a
        circle of circumference 1; a continuous site is at (x - low) / (high - low); logarithmic sites are at
        the same fraction of the logarithms. A site with one value is at 0, a category site keeps its index.

        >>> from dcmaes import Space
        >>> sites = Space.integers(2, 0, 4).sites
        >>> sites.coordinate(np.array([1.0, 4.0]))
        array([0.25, 1.  ])
        """
        u: FloatArray = (x - self._offset) / self._divisor
        if (cols := self._log_lattice) is not None:
            u[..., cols] = np.minimum(np.log1p(x[..., cols] / self.low[cols]) / self._log_range[cols], 1.0)
        if (cols := self._log_continuous) is not None:
            u[..., cols] = np.minimum(np.log(x[..., cols] / self.low[cols]) / self._log_range[cols], 1.0)
        if (cols := self._continuous_circle) is not None:
            u[..., cols] = np.where(u[..., cols] < 1.0, u[..., cols], 0.0)
        return u

    def spacing(self, u: FloatArray) -> FloatArray:
        """Return the gap from the state at or below coordinate `u` to the next one, shape (..., d).

        It is 0 for continuous sites and sites with one value, 1 for category sites. At the last state it is
        the gap to the state before.

        >>> from dcmaes import Space
        >>> sites = Space.integers(2, 0, 4).sites
        >>> sites.spacing(np.array([0.3, 0.9]))
        array([0.25, 0.25])
        """
        gap = np.array(np.broadcast_to(self._gap_low, u.shape))
        if (cols := self._log_lattice) is not None:
            position = self._log_position(np.clip(u[..., cols], 0.0, 1.0), cols)
            below = np.clip(np.floor(position + self._tolerance[cols]), 0.0, self.n_states[cols] - 2.0)
            gap[..., cols] = np.log1p(1.0 / (self.low[cols] + below)) / self._log_range[cols]
        return gap

    def fold(self, u: FloatArray) -> FloatArray:
        """Return coordinates brought back into the domain, shape (..., d); those inside are unchanged.

        Periodic sites wrap. The others reflect: continuous sites at their bounds, lattice sites half a
        spacing beyond their end states, so that state -1 mirrors to state 0, and are then clipped to [0, 1].

        >>> from dcmaes import Space
        >>> sites = Space.integers(3, 0, 4).sites
        >>> sites.fold(np.array([-0.25, 1.3, 1.75]))
        array([0.  , 0.95, 0.5 ])
        """
        u = np.array(u, dtype=np.float64)
        outside = (u < self._domain_low) | (u > self._domain_high)
        if outside.any():
            site = np.nonzero(outside)[-1]
            u[outside] = self._fold_outside(u[outside], site)
        return u

    def from_coordinate(self, u: FloatArray, uniforms: FloatArray) -> FloatArray:
        """Return coded points for coordinates, folded and rounded at random to states, shape (..., d).

        A lattice site takes the state below or above with probabilities that keep the mean coordinate; the
        coordinate of a state gives that state whatever the uniforms (log lattices: up to 2^40 states).
        Continuous sites take the value, category sites take `u` as the index.

        Parameters
        ----------
        u : array of shape (..., d)
            Unit coordinates, also outside of the domain.
        uniforms : array of shape (..., d)
            Random numbers in [0, 1).

        Examples
        --------
        >>> from dcmaes import Space
        >>> sites = Space.integers(2, 0, 4).sites
        >>> sites.from_coordinate(np.array([0.3, 0.3]), np.array([0.1, 0.9]))
        array([2., 1.])
        """
        x = self.fold(u)
        if (cols := self._linear_lattice) is not None:
            x[..., cols] = self._round_linear(x[..., cols], uniforms[..., cols], cols)
        if (cols := self._log_lattice) is not None:
            x[..., cols] = self._round_log(x[..., cols], uniforms[..., cols], cols)
        if (cols := self._continuous) is not None:
            x[..., cols] = self._value(x[..., cols], cols)
        if (cols := self._log_continuous) is not None:
            x[..., cols] = self._log_value(x[..., cols], cols)
        return x

    def uniform(self, uniforms: FloatArray) -> FloatArray:
        """Return coded points uniform over the states, shape (..., d), from random numbers in [0, 1).

        Continuous sites are uniform over their range. Logarithmic sites are uniform in the logarithm, each
        state of a lattice standing for the values that round to it.
        """
        x: FloatArray = np.minimum(np.floor(uniforms * self.n_states), self.n_states - 1.0)
        if (cols := self._log_lattice) is not None:
            start = self.low[cols] - 0.5
            last = self.n_states[cols] - 1.0
            width = np.log1p((last + 1.0) / start)
            x[..., cols] = np.clip(np.rint(start * np.expm1(uniforms[..., cols] * width) - 0.5), 0.0, last)
        if (cols := self._continuous) is not None:
            x[..., cols] = self._value(uniforms[..., cols], cols)
        if (cols := self._log_continuous) is not None:
            x[..., cols] = self._log_value(uniforms[..., cols], cols)
        return x

    def _log_position(self, u: FloatArray, cols: slice | IntArray) -> FloatArray:
        position = self.low[cols] * np.expm1(u * self._log_range[cols])
        inside: FloatArray = np.minimum(position, self.n_states[cols] - 1.0)
        return inside

    def _round_linear(self, u: FloatArray, uniforms: FloatArray, cols: slice | IntArray) -> FloatArray:
        # In place: for whole populations the time goes into fresh memory, not into arithmetic.
        tolerance = self._tolerance[cols]
        position = u * self._scale[cols]
        state: FloatArray = position + tolerance
        np.floor(state, out=state)
        position -= state
        position -= tolerance
        state += uniforms < position
        if self._has_circle:
            # Above the last state of a circle comes the first one; no other lattice gets there.
            state[state >= self.n_states[cols]] = 0.0
        return state

    def _round_log(self, u: FloatArray, uniforms: FloatArray, cols: slice | IntArray) -> FloatArray:
        tolerance = self._tolerance[cols]
        position = self._log_position(u, cols)
        below = np.floor(position + tolerance)
        value = self.low[cols] + below
        fraction = np.log1p((position - below) / value) / np.log1p(1.0 / value)
        state: FloatArray = below + (uniforms < fraction - tolerance)
        return state

    def _value(self, u: FloatArray, cols: slice | IntArray) -> FloatArray:
        low, high = self.low[cols], self.high[cols]
        return self._within(low + u * (high - low), u, cols)

    def _log_value(self, u: FloatArray, cols: slice | IntArray) -> FloatArray:
        return self._within(self.low[cols] * np.exp(u * self._log_range[cols]), u, cols)

    def _within(self, value: FloatArray, u: FloatArray, cols: slice | IntArray) -> FloatArray:
        # Coordinate 1 gives the upper bound exactly; on a circle the upper bound is the lower one.
        low, high = self.low[cols], self.high[cols]
        return np.where((u < 1.0) & (value < high), np.maximum(value, low), self._end[cols])

    def _fold_outside(self, u: FloatArray, site: IntArray) -> FloatArray:
        margin, period = self._margin[site], self._period[site]
        # A triangle wave that starts at -margin; fmod is exact, and slow enough to be left out if it can be.
        distance = np.abs(u + margin)
        if (distance > period).any():
            distance = np.fmod(distance, period)
        folded = np.minimum(distance, period - distance) - margin
        if self._has_circle:
            wrapped = u - np.floor(u)
            folded = np.where(self.periodic[site], np.where(wrapped < 1.0, wrapped, 0.0), folded)
        clipped: FloatArray = np.clip(folded, 0.0, self._domain_high[site])
        return clipped

    # What follows is computed once: arrays of shape (d,), and the columns of each group of sites.

    @cached_property
    def _is_log(self) -> NDArray[np.bool_]:
        return self.log & self.is_free

    @cached_property
    def _linear_lattice(self) -> Columns:
        return _columns(self.is_lattice & ~self._is_log)

    @cached_property
    def _log_lattice(self) -> Columns:
        return _columns(self.is_lattice & self._is_log)

    @cached_property
    def _continuous(self) -> Columns:
        return _columns(self.is_continuous & ~self._is_log)

    @cached_property
    def _log_continuous(self) -> Columns:
        return _columns(self.is_continuous & self._is_log)

    @cached_property
    def _continuous_circle(self) -> Columns:
        return _columns(self.is_continuous & self.periodic)

    @cached_property
    def _has_circle(self) -> bool:
        return bool(self.periodic.any())

    @cached_property
    def _offset(self) -> FloatArray:
        return np.where(self.is_continuous, self.low, 0.0)

    @cached_property
    def _scale(self) -> FloatArray:
        """How many spacings of a lattice make one unit of its coordinate."""
        return np.where(self.is_free, self.n_states - 1.0 + self.periodic, 0.0)

    @cached_property
    def _divisor(self) -> FloatArray:
        divisor = np.where(self.is_continuous, self.high - self.low, self._scale)
        return np.where(self.is_category | ~self.is_free, 1.0, divisor)

    @cached_property
    def _log_range(self) -> FloatArray:
        """Logarithm of high / low, accurate also where the two are close; 0 where not used."""
        low = np.where(self._is_log, self.low, 1.0)
        steps = np.where(self._is_log, self.n_states - 1.0, 0.0)
        ratio = np.where(self._is_log, self.high, 1.0) / low
        return np.where(self.is_continuous, np.log(ratio), np.log1p(np.maximum(steps, 0.0) / low))

    @cached_property
    def _tolerance(self) -> FloatArray:
        """How far from a state, in spacings, a position may be and still mean that state."""
        spread = np.where(self._is_log, (self.low + self.n_states) * self._log_range, 0.0)
        return np.minimum(_SLACK * (self._scale + spread), 0.25)

    @cached_property
    def _gap_low(self) -> FloatArray:
        gap = np.where(self.is_free & ~self.is_continuous, 1.0 / np.maximum(self._scale, 1.0), 0.0)
        if (cols := self._log_lattice) is not None:
            gap[cols] = np.log1p(1.0 / self.low[cols]) / self._log_range[cols]
        gap[self.is_category] = 1.0
        return gap

    @cached_property
    def _gap_high(self) -> FloatArray:
        gap = self._gap_low.copy()
        if (cols := self._log_lattice) is not None:
            gap[cols] = np.log1p(1.0 / (self.low[cols] + self.n_states[cols] - 2.0)) / self._log_range[cols]
        return gap

    @cached_property
    def _margin(self) -> FloatArray:
        return self._gap_low / 2.0

    @cached_property
    def _period(self) -> FloatArray:
        """Twice the distance between the two mirrors of `fold`."""
        return 2.0 + self._gap_low + self._gap_high

    @cached_property
    def _domain_low(self) -> FloatArray:
        return np.where(self.is_category, -np.inf, 0.0)

    @cached_property
    def _domain_high(self) -> FloatArray:
        high = np.where(self.periodic, np.nextafter(1.0, 0.0), 1.0)
        high = np.where(self.is_free, high, 0.0)
        return np.where(self.is_category, np.inf, high)

    @cached_property
    def _end(self) -> FloatArray:
        """The value at coordinate 1: the upper bound, or the lower one on a circle."""
        return np.where(self.periodic, self.low, self.high)
