"""Optuna's distributions as variables: every value that goes back to Optuna is one of its distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from dcmaes.space import Binary, Categorical, Float, Integer, Space, Variable

# What Optuna grants a value that should be a whole number of steps from the lower end.
_OFF_GRID = 1e-8
_NEIGHBOURS = sorted(range(-50, 51), key=abs)


class ParameterSpace:
    """A search space of Optuna as a space, with the way from parameters to points and back.

    Parameters
    ----------
    distributions : mapping of str to distribution
        The search space.

    Attributes
    ----------
    space : Space
        Its variables have numbers for names, since Optuna allows empty ones.

    Examples
    --------
    >>> lr, act = FloatDistribution(0.0, 1.0, step=0.1), CategoricalDistribution(["relu", None, 3])
    >>> space = ParameterSpace({"lr": lr, "act": act})
    >>> point = space.point({"lr": 0.3, "act": None, "other": 7})
    >>> point, space.params(point)
    ({'0': 0.3, '1': 1}, {'lr': 0.3, 'act': None})
    >>> space.point({"lr": 0.35, "act": None}) is None
    True
    """

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self._distributions = dict(distributions)
        self._variables = {name: _variable(name, one) for name, one in distributions.items()}
        self.space = Space({str(i): variable for i, variable in enumerate(self._variables.values())})

    def point(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the point of parameters, or None if one is missing or cannot have its value."""
        try:
            values = [_to_point(one, params[name]) for name, one in self._distributions.items()]
        except (KeyError, ValueError):
            return None
        point = dict(zip(map(str, range(len(values))), values, strict=True))
        return point if self.space.contains(point) else None

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a point, in plain Python."""
        names = list(self._distributions)
        return {names[int(key)]: self._to_params(names[int(key)], value) for key, value in point.items()}

    def _to_params(self, name: str, value: Any) -> Any:
        distribution = self._distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[int(value)]
        if isinstance(distribution, IntDistribution):
            n_steps = max(int(value) - distribution.low, 0) // distribution.step
            return min(distribution.low + n_steps * distribution.step, distribution.high)
        return _on_grid(distribution, self._variables[name], value)


def _variable(name: str, distribution: BaseDistribution) -> Variable:
    if isinstance(distribution, CategoricalDistribution):
        n_choices = len(distribution.choices)
        # Two choices have no more than one bit, with or without an order.
        return Binary() if n_choices == 2 else Categorical(range(n_choices))
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        raise TypeError(f"parameter {name!r} has a distribution of unknown kind: {distribution!r}")
    low, high, log = distribution.low, distribution.high, distribution.log
    try:
        if isinstance(distribution, FloatDistribution):
            return Float(low, high, log=log, step=distribution.step)
        return Integer(int(low), int(high), log=log, step=distribution.step)
    except ValueError:  # more values than floating point, where Optuna keeps them, can tell apart
        return Float(float(low), float(high), log=log)


def _to_point(distribution: BaseDistribution, value: Any) -> Any:
    """Return the value of a variable: a choice is known by its number."""
    is_choice = isinstance(distribution, CategoricalDistribution)
    return int(distribution.to_internal_repr(value)) if is_choice else value


def _on_grid(distribution: BaseDistribution, variable: Variable, value: float) -> float:
    """Return a value that Optuna takes: without a step any, with one the nearest that passes its own test.

    Of grids with more than about 1e8 values not every one does, and such a value would be thrown away.
    """
    step, low, high = (getattr(distribution, name) for name in ("step", "low", "high"))
    if step is None or variable.site.n_states == 0:
        return float(value)
    state = variable.encode("value", value)
    near = (state + i for i in _NEIGHBOURS if 0.0 <= state + i < variable.site.n_states)
    for found in (variable.decode([state])[0] for state in near):
        n_steps = (found - low) / step
        if low <= found <= high and abs(n_steps - round(n_steps)) < _OFF_GRID:
            return float(found)
    return float(low)
