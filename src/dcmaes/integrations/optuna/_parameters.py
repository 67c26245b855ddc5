"""Optuna's distributions as variables: every value that goes back to Optuna is one of its distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from dcmaes.integrations.optuna._branches import Allowed, When
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
    conditions : mapping of str to When
        What others must be for a parameter to be asked for.

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

    def __init__(
        self, distributions: Mapping[str, BaseDistribution], conditions: Mapping[str, When] | None = None
    ) -> None:
        self._distributions = dict(distributions)
        self._keys = {name: str(i) for i, name in enumerate(distributions)}
        self._variables = {
            name: _variable(name, one, self._when((conditions or {}).get(name, {})))
            for name, one in distributions.items()
        }
        self.space = Space({self._keys[name]: variable for name, variable in self._variables.items()})

    def _when(self, when: When) -> dict[str, Any]:
        """Return a condition on parameters, of those that are in the space, as one on variables."""
        return {self._keys[name]: _values(allowed) for name, allowed in when.items() if name in self._keys}

    def point(self, params: Mapping[str, Any], fill: np.random.Generator | None = None) -> Any:
        """Return the point of parameters; None if one cannot have its value, or none is in the space.

        None as well if one is missing that should be there; with `fill`, it is drawn uniformly instead.
        """
        known = {name: params[name] for name in self._keys if name in params}
        sites = self.space.sites
        x = sites.rest.copy() if fill is None else sites.uniform(fill.random(sites.dimension))
        try:
            for name, value in known.items():
                x[int(self._keys[name])] = self._variables[name].encode(name, self._to_point(name, value))
        except (TypeError, ValueError):
            return None
        point = self.space.decode(x) if known else {}
        is_whole = fill is not None or point.keys() <= {self._keys[name] for name in known}
        return point if point and is_whole else None

    def params(self, point: Mapping[str, Any], fill: np.random.Generator | None = None) -> dict[str, Any]:
        """Return the parameters of a point, in plain Python; with `fill`, others are drawn uniformly."""
        anything = {} if fill is None else self._anything(fill)
        values = {**anything, **point}
        return {name: self._to_params(name, values[key]) for name, key in self._keys.items() if key in values}

    def _anything(self, rng: np.random.Generator) -> dict[str, Any]:
        x = self.space.sites.uniform(rng.random(len(self._keys))).tolist()
        variables = self._variables.values()
        return {
            str(i): one.decode([coded])[0] for i, (one, coded) in enumerate(zip(variables, x, strict=True))
        }

    def _to_point(self, name: str, value: Any) -> Any:
        """Return the value of a variable: a choice is known by its number."""
        distribution = self._distributions[name]
        is_choice = isinstance(distribution, CategoricalDistribution)
        return int(distribution.to_internal_repr(value)) if is_choice else value

    def _to_params(self, name: str, value: Any) -> Any:
        distribution = self._distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[int(value)]
        if isinstance(distribution, IntDistribution):
            n_steps = max(int(value) - distribution.low, 0) // distribution.step
            return min(distribution.low + n_steps * distribution.step, distribution.high)
        return _on_grid(distribution, self._variables[name], value)


def _variable(name: str, distribution: BaseDistribution, when: Mapping[str, Any]) -> Variable:
    if isinstance(distribution, CategoricalDistribution):
        n_choices = len(distribution.choices)
        # Two choices have no more than one bit, with or without an order.
        return Binary(when=when) if n_choices == 2 else Categorical(range(n_choices), when=when)
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        raise TypeError(f"parameter {name!r} has a distribution of unknown kind: {distribution!r}")
    low, high, log = distribution.low, distribution.high, distribution.log
    try:
        if isinstance(distribution, FloatDistribution):
            return Float(low, high, log=log, step=distribution.step, when=when)
        return Integer(int(low), int(high), log=log, step=distribution.step, when=when)
    except ValueError:  # more values than floating point, where Optuna keeps them, can tell apart
        return Float(float(low), float(high), log=log, when=when)


def _values(allowed: Allowed) -> Any:
    """Return what a variable must be in the notation of `when`."""
    if allowed.listed is not None:
        return [int(value) for value in sorted(allowed.listed)]
    return {"low": allowed.low} if allowed.high is None else {"low": allowed.low, "high": allowed.high}


def nearest(distribution: BaseDistribution, value: Any) -> Any:
    """Return the value of a distribution that is nearest to one that it may not have.

    >>> nearest(IntDistribution(0, 10, step=5), 13), nearest(FloatDistribution(0, 1, step=0.1), 0.27)
    (10, 0.3)
    """
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        return value
    value = min(max(value, distribution.low), distribution.high)
    if not distribution.step:
        return float(value)
    n_steps = round((value - distribution.low) / distribution.step)
    if isinstance(distribution, IntDistribution):
        return distribution.low + n_steps * distribution.step
    variable = _variable("value", distribution, {})
    coded = n_steps if variable.site.n_states else value
    return _on_grid(distribution, variable, variable.decode([coded])[0])


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
