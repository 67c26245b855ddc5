"""Optuna's distributions as variables: every coded value is exactly a value of its distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from dcmaes._validation import FloatArray
from dcmaes.space import Binary, Categorical, Float, Integer, Sites, Space, Variable

# Whole numbers up to here are exact in floating point; longer lattices are treated as continuous.
_LONGEST = 2**53
# What Optuna grants a value that should be a whole number of steps from the lower end.
_OFF_GRID = 1e-8
_NEIGHBOURS = sorted(range(-50, 51), key=abs)


class _Codec(ABC):
    """Turns values of one parameter into coded values and back."""

    variable: Variable

    @abstractmethod
    def encode(self, value: Any) -> float | None:
        """Return the coded value, or None if the parameter cannot have this value."""

    @abstractmethod
    def decode(self, coded: float) -> Any:
        """Return the value in plain Python."""


class _Choices(_Codec):
    def __init__(self, distribution: CategoricalDistribution) -> None:
        self._distribution = distribution
        n_choices = len(distribution.choices)
        # Two choices have no more than one bit, with or without an order.
        self.variable = Binary() if n_choices == 2 else Categorical(range(n_choices))

    def encode(self, value: Any) -> float | None:
        try:
            return float(self._distribution.to_internal_repr(value))
        except ValueError:
            return None

    def decode(self, coded: float) -> Any:
        return self._distribution.choices[int(coded)]


class _Continuous(_Codec):
    def __init__(self, distribution: FloatDistribution) -> None:
        self._low, self._high = distribution.low, distribution.high
        self.variable = Float(self._low, self._high, log=distribution.log)

    def encode(self, value: Any) -> float | None:
        return float(value) + 0.0 if self._low <= value <= self._high else None

    def decode(self, coded: float) -> float:
        return float(coded)


class _Integers(_Codec):
    def __init__(self, distribution: IntDistribution) -> None:
        low, high = distribution.low, distribution.high
        self.variable = Integer(low, high, log=distribution.log, step=distribution.step)

    def encode(self, value: Any) -> float | None:
        try:
            return self.variable.encode("value", value)
        except (TypeError, ValueError):
            return None

    def decode(self, coded: float) -> Any:
        return self.variable.decode([coded])[0]


class _LongIntegers(_Codec):
    """Integers too many to count, or too large to tell apart, in floating point, where Optuna keeps them."""

    def __init__(self, distribution: IntDistribution) -> None:
        self._low, self._high, self._step = distribution.low, distribution.high, distribution.step
        self.variable = Float(float(self._low), float(self._high), log=distribution.log)

    def encode(self, value: Any) -> float | None:
        if not self._low <= value <= self._high:
            return None
        return min(max(float(value), float(self._low)), float(self._high))

    def decode(self, coded: float) -> int:
        n_steps = max(int(coded) - self._low, 0) // self._step
        return min(self._low + n_steps * self._step, self._high)


class _Grid(_Codec):
    """Floats a fixed step apart."""

    def __init__(self, distribution: FloatDistribution) -> None:
        self._low, self._high, self._step = distribution.low, distribution.high, distribution.step or 0.0
        self.variable = Float(self._low, self._high, step=self._step)

    def encode(self, value: Any) -> float | None:
        return self.variable.encode("value", value) if self._contains(value) else None

    def decode(self, coded: float) -> float:
        # Of grids with more than about 1e8 values not every one passes Optuna's own test; one that does
        # not would be thrown away silently, so a neighbour takes its place.
        last = self.variable.site.n_states - 1.0
        near = (coded + i for i in _NEIGHBOURS if 0.0 <= coded + i <= last)
        values = (self.variable.decode([state])[0] for state in near)
        return next((value for value in values if self._contains(value)), self._low)

    def _contains(self, value: float) -> bool:
        n_steps = (value - self._low) / self._step
        return self._low <= value <= self._high and abs(n_steps - round(n_steps)) < _OFF_GRID


def _is_grid(distribution: FloatDistribution) -> bool:
    """Tell whether there is a step, and not one so small that floating point does not resolve it."""
    if distribution.step is None:
        return False
    try:
        Float(distribution.low, distribution.high, step=distribution.step)
    except ValueError:
        return False
    return True


def _codec(name: str, distribution: BaseDistribution) -> _Codec:
    if isinstance(distribution, CategoricalDistribution):
        return _Choices(distribution)
    if isinstance(distribution, FloatDistribution):
        return _Grid(distribution) if _is_grid(distribution) else _Continuous(distribution)
    if isinstance(distribution, IntDistribution):
        low, high = distribution.low, distribution.high
        is_long = high - low >= _LONGEST or max(abs(low), abs(high)) >= 2**63
        return _LongIntegers(distribution) if is_long else _Integers(distribution)
    raise TypeError(f"parameter {name!r} has a distribution of unknown kind: {distribution!r}")


class ParameterSpace:
    """A search space of Optuna as sites, with the way from parameters to coded points and back.

    >>> lr, n = FloatDistribution(0.0, 1.0, step=0.1), IntDistribution(2, 8, step=2)
    >>> space = ParameterSpace({"lr": lr, "n": n})
    >>> x = space.encode({"lr": 0.3, "n": 6, "other": None})
    >>> x, space.decode(x)
    (array([3., 2.]), {'lr': 0.3, 'n': 6})
    >>> space.encode({"lr": 0.35, "n": 6}) is None
    True
    """

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self._codecs = {name: _codec(name, distribution) for name, distribution in distributions.items()}
        # Positions stand in for the names, which Optuna allows to be empty.
        space = Space({str(i): codec.variable for i, codec in enumerate(self._codecs.values())})
        self.sites: Sites = space.sites
        self.size = space.size
        self.names: tuple[str, ...] = tuple(self._codecs)

    def encode(self, params: Mapping[str, Any]) -> FloatArray | None:
        """Return the coded point, shape (d,), or None if a parameter is missing or cannot have its value."""
        x: list[float] = []
        for name, codec in self._codecs.items():
            coded = codec.encode(params[name]) if name in params else None
            if coded is None:
                return None
            x.append(coded)
        return np.array(x)

    def decode(self, x: FloatArray | Sequence[float]) -> dict[str, Any]:
        """Return the parameters of a coded point of shape (d,), in plain Python."""
        return {
            name: codec.decode(float(v)) for (name, codec), v in zip(self._codecs.items(), x, strict=True)
        }
