"""Variables that are numbers from a range: integers, and real numbers with or without a step."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import as_scalar, check_integer, check_number, shown
from dcmaes.space._choices import read_when
from dcmaes.space._coordinates import CONTINUOUS, LATTICE
from dcmaes.space._sites import Site
from dcmaes.space._variables import Variable, read_number

# States are coded as float64 numbers, which hold every integer up to here.
MAX_STATES = 2**53
# By how much of a step a range may miss a whole number of steps, or a value its place: rounding errors.
_OFF_GRID = 1e-6


class Scale(NamedTuple):
    """Numbers along an axis, from `low` to `high`, evenly or by their logarithms.

    `step` is the distance between neighbours, 0 if there are none.

    >>> Scale(1, 100, log=False, step=3).value(0.5)
    50.5
    """

    low: float
    high: float
    log: bool
    step: float

    def value(self, share: float) -> float:
        """Return the number at a share of the way, which may lie beyond the ends."""
        if self.log:
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True, repr=False)
class _Range(Variable):
    """What `Integer` and `Float` have in common: bounds, and how distances between numbers are measured."""

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    periodic: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    default: float | None = field(default=None, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments by keyword that are not as by default."""
        keywords = [f for f in fields(self) if f.kw_only]
        return {f.name: getattr(self, f.name) for f in keywords if getattr(self, f.name) != f.default}

    @property
    def scale(self) -> Scale:
        """The numbers along the variable, from the first to the last one."""
        last = self.high if self.site.n_states == 0 else self.decode([self.site.n_states - 1.0])[0]
        return Scale(self.low, last, self.log, self.step or 0.0)

    def describe(self) -> str:
        """Return what the values are, in a few words."""
        flags = "".join(f", {flag}" for flag in ("log", "periodic") if getattr(self, flag))
        steps = f" in steps of {self.step}" if "step" in self.options else ""
        return f"{self.low} to {self.high}{steps}{flags}"

    def parse(self, name: str, text: str) -> float:
        """Return the coded value of the number in the text."""
        number = read_number(text)
        return self.encode(name, text if number is None else number)

    def states_between(self, low: float | None, high: float | None) -> list[tuple[float, float]]:
        """Return the coded values of the numbers in a range, as an interval; none if there are none."""
        n_states = self.site.n_states
        first = self.low if low is None else max(low, self.low)
        last = self.high if high is None else min(high, self.high)
        if n_states:
            first = bisect_left(range(n_states), first, key=self._number)
            last = bisect_right(range(n_states), last, key=self._number) - 1
        return [(float(first), float(last))] if first <= last else []

    def _number(self, state: int) -> float:
        number: float = self.decode([float(state)])[0]
        return number

    def _lattice(self, n_states: int, step: float) -> Site:
        low, high = (self.low / step, self.high / step) if self.log else (0.0, n_states - 1.0)
        return Site(LATTICE, n_states, self.periodic, self.log, low, high)

    def _check(self, low: float, high: float) -> None:
        kind = type(self).__name__
        object.__setattr__(self, "when", read_when(kind, self.when))
        for flag in ("log", "periodic"):
            if not isinstance(getattr(self, flag), bool):
                raise TypeError(f"{kind}: {flag} must be True or False, got {shown(getattr(self, flag))}")
        if low > high:
            raise ValueError(f"{kind}: low must be at most high, got low={low}, high={high}")
        if self.log and self.periodic:
            raise ValueError(f"{kind}: log and periodic cannot be combined, choose one of them")
        least = math.ulp(0.0) if self.step is None else self.step
        if self.log and low < least:
            wanted = "positive" if self.step is None else f"at least {least}"
            raise ValueError(f"{kind}: low must be {wanted} with log=True, got low={low}")

    def _check_default(self) -> None:
        if self.default is not None:
            state = self.encode(f"{type(self).__name__}: default", self.default)
            object.__setattr__(self, "default", self.decode([state])[0])

    def _check_step(self, n_values: int, low: float, high: float) -> None:
        if n_values == 1 and low < high:
            raise ValueError(
                f"{type(self).__name__}: step must be at most high - low, got step={self.step}, low={low}, "
                f"high={high}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{self._options_text()})"


@dataclass(frozen=True, repr=False)
class Integer(_Range):
    """An integer from `low` to `high`, both included.

    Parameters
    ----------
    low, high : int
        The bounds, 64-bit integers with at most 2^53 values between them; they may be equal.
    log : bool
        Measure distances between logarithms, as fits sizes and counts that span orders of magnitude; `low`
        must be at least 1 (at least `step`).
    periodic : bool
        Make `high` and `low` neighbours, as 23 and 0 are among the hours of a day.
    step : int
        Take only `low`, `low + step`, `low + 2 * step` and so on; `high` is lowered to the last of them.
    default : int, optional
        The value to try first, as of `Categorical`.
    when : mapping, optional
        The values of other variables with which this one is active, as of `Categorical`.

    Examples
    --------
    >>> Integer(16, 4096, log=True)
    Integer(16, 4096, log=True)
    >>> Integer(0, 100, step=30)
    Integer(0, 90, step=30)
    """

    low: int
    high: int
    step: int = field(default=1, kw_only=True)
    default: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        low = check_integer("Integer: low", self.low, low=-(2**63), high=2**63 - 1)
        high = check_integer("Integer: high", self.high, low=-(2**63), high=2**63 - 1)
        step = check_integer("Integer: step", self.step, low=1, high=2**64)
        object.__setattr__(self, "step", step)
        self._check(low, high)
        n_steps = (high - low) // step
        self._check_step(n_steps + 1, low, high)
        if n_steps >= MAX_STATES:
            raise ValueError(
                f"Integer: at most 2**53 values fit, got {n_steps + 1} from low={low} to high={high}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", low + n_steps * step)
        self._check_default()

    @property
    def site(self) -> Site:
        """The variable as a site."""
        return self._lattice((self.high - self.low) // self.step + 1, self.step)

    def encode(self, name: str, value: Any) -> float:
        """Return the number of steps from `low`, or raise saying what `name` must be."""
        value = as_scalar(value)
        steps = "" if self.step == 1 else f" in steps of {self.step}"
        wanted = f"{name} must be an integer from {self.low} to {self.high}{steps}"
        if isinstance(value, (float, np.floating)):
            if not value.is_integer():
                raise ValueError(f"{wanted}, got {shown(value)}")
            value = int(value)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{wanted}, got {shown(value)}")
        if not self.low <= value <= self.high:
            raise ValueError(f"{wanted}, got {shown(value)}")
        state, rest = divmod(int(value) - self.low, self.step)
        if rest:
            raise ValueError(f"{wanted}, got {shown(value)}")
        return float(state)

    def decode(self, coded: Sequence[float]) -> list[int]:
        """Return a list of int."""
        low, step = self.low, self.step
        return [low + step * int(state) for state in coded]


class _Grid(NamedTuple):
    """Numbers a step apart as exact fractions: state k is (first + k * step) / denominator."""

    first: int
    step: int
    denominator: int
    n_states: int


@dataclass(frozen=True, repr=False)
class Float(_Range):
    """A real number from `low` to `high`, both included.

    Parameters
    ----------
    low, high : float
        The bounds; they may be equal.
    log : bool
        Measure distances between logarithms; `low` must be positive (with a step: at least `step`).
    periodic : bool
        Make `low` and `high` the same point, as 0 and 360 degrees are.
    step : float or None
        Take only `low`, `low + step`, `low + 2 * step` and so on, rounded to what they are in decimals: the
        third tenth is 0.3. `high` is lowered to the last of them; with `periodic`, which makes it the same as
        `low`, it must be a whole number of steps away. A step makes the variable a lattice, like `Integer`.
    default : float, optional
        The value to try first, as of `Categorical`.
    when : mapping, optional
        The values of other variables with which this one is active, as of `Categorical`.

    Examples
    --------
    >>> Float(1e-5, 1e-1, log=True)
    Float(1e-05, 0.1, log=True)
    >>> Float(0, 0.5, step=0.1).decode(range(6))
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """

    def __post_init__(self) -> None:
        # Adding zero turns -0.0 into 0.0: two codes of one number would be two points.
        low = check_number("Float: low", self.low) + 0.0
        high = check_number("Float: high", self.high) + 0.0
        if self.step is not None:
            object.__setattr__(self, "step", check_number("Float: step", self.step, low=math.ulp(0.0)))
        self._check(low, high)
        if not math.isfinite(high / low if self.log else high - low):
            raise ValueError(f"Float: the range is beyond floating point, got low={low}, high={high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.step is not None:
            self._check_grid(self.step)
            if not self.periodic:
                object.__setattr__(self, "high", self.scale.high)
                # Equal variables have equal values: the grid follows from what the variable says of itself.
                del self.__dict__["_grid"]
        self._check_default()

    @property
    def n_values(self) -> int | float:
        """Number of values: infinite without a step, or 1 if the bounds are equal."""
        if self.low == self.high:
            return 1
        return math.inf if self.step is None else self._grid.n_states

    @property
    def site(self) -> Site:
        """The variable as a site."""
        if self.step is None:
            return Site(CONTINUOUS, 0, self.periodic, self.log, self.low, self.high)
        return self._lattice(self._grid.n_states, self.step)

    def encode(self, name: str, value: Any) -> float:
        """Return the value itself, with a step its number; or raise saying what `name` must be."""
        if self.step is None:
            return check_number(name, value, low=self.low, high=self.high) + 0.0
        number = check_number(name, value)
        state = self._find(number)
        if state is None:
            wanted = f"a number from {self.low} to {self.high} in steps of {self.step}"
            raise ValueError(f"{name} must be {wanted}, got {number}")
        return float(state)

    def decode(self, coded: Sequence[float]) -> list[float]:
        """Return a list of float."""
        if self.step is None:
            return list(coded)
        first, step, denominator, _ = self._grid
        # Quotients of integers are rounded once.
        return [(first + int(state) * step) / denominator for state in coded]

    @property
    def _ulp(self) -> float:
        return math.ulp(max(abs(self.low), abs(self.high)))

    @cached_property
    def _grid(self) -> _Grid:
        from fractions import Fraction

        # As decimals: the numbers that were written, not the binary ones next to them.
        low, high, step = (Fraction(repr(number)) for number in (self.low, self.high, self.step))
        ratio = (high - low) / step
        n_steps = round(ratio)
        if n_steps and abs(ratio - n_steps) <= _OFF_GRID:
            step = (high - low) / n_steps
        else:
            n_steps = math.floor(ratio)
        denominator = math.lcm(low.denominator, step.denominator)
        n_states = n_steps if self.periodic and n_steps else n_steps + 1
        return _Grid(int(low * denominator), int(step * denominator), denominator, n_states)

    def _find(self, number: float) -> int | None:
        """Return the state of a number up to rounding errors, or None if it is between two or outside."""
        first, step, denominator, n_states = self._grid
        slack = max(_OFF_GRID * (step / denominator), self._ulp)
        if not self.low - slack <= number <= self.high + slack:
            return None
        p, q = number.as_integer_ratio()
        state = round((p * denominator - first * q) / (step * q))
        is_end = self.periodic and state == n_states and self.low < self.high
        is_there = abs(number - (first + state * step) / denominator) <= slack
        return (0 if is_end else state) if is_there else None

    def _check_grid(self, step: float) -> None:
        if self.low < self.high and (step < 4 * self._ulp or self._grid.n_states > MAX_STATES):
            raise ValueError(
                f"Float: step must be larger to tell values from {self.low} to {self.high} apart, got {step}"
            )
        if not self.periodic:
            self._check_step(self._grid.n_states, self.low, self.high)
        elif self.low < self.high:
            first, size, denominator, n_states = self._grid
            end = (first + n_states * size) / denominator
            if abs(end - self.high) > _OFF_GRID * step:
                raise ValueError(
                    f"Float: high - low must be a whole number of steps with periodic=True, got {self!r}"
                )
