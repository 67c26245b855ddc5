"""The parameters of a study: when each of them is asked for, inferred from its trials, and as variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from dcmaes.space import Binary, Categorical, Float, Integer, Space, Variable

# Conditions of more than so many parameters are not looked for.
_MOST_PARENTS = 3
# Integers with at most so many values may be listed one by one, instead of a range of them.
_MOST_LISTED = 32

When = Mapping[str, "Allowed"]
# What Optuna grants a value that should be a whole number of steps from the lower end.
_OFF_GRID = 1e-8
_NEIGHBOURS = sorted(range(-50, 51), key=abs)


class Allowed(NamedTuple):
    """What a parameter must be for others to be asked for: one of `listed`, or in a range if that is None."""

    listed: frozenset[float] | None
    low: float = -math.inf
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Tell whether a value, in Optuna's internal representation, is allowed."""
        if self.listed is not None:
            return value in self.listed
        return self.low <= value and (self.high is None or value <= self.high)


class _Seen(NamedTuple):
    """The parameters of a trial in their order, in internal representation; did it ask for all it needs?"""

    values: dict[str, float]
    is_complete: bool


class Branches:
    """Which parameters a study has, and under which conditions on others each is asked for.

    A condition is the simplest one that explains all trials: values of a categorical parameter, otherwise a
    range of a number; several parameters only if no single one tells the trials that have the parameter from
    those that have not. Values not seen yet count as allowed. A parameter for whose absence there is no
    explanation counts as always asked for.

    Parameters
    ----------
    given : mapping of str to distribution, optional
        The parameters, if they are known; otherwise those that some trial had.

    Attributes
    ----------
    distributions : dict of str to distribution
        Of each parameter; with all values that it had in trials, if they had different ones.
    conditions : dict of str to When
        For each parameter that is not always asked for, what others must be.

    Examples
    --------
    >>> from optuna.trial import create_trial
    >>> kind, x = CategoricalDistribution(["a", "b"]), FloatDistribution(0, 1)
    >>> trials = [
    ...     create_trial(value=0, params={"kind": "a", "x": 0.5}, distributions={"kind": kind, "x": x}),
    ...     create_trial(value=0, params={"kind": "b"}, distributions={"kind": kind}),
    ... ]
    >>> branches = Branches()
    >>> branches.learn(trials)
    >>> branches.conditions
    {'x': {'kind': Allowed(listed=frozenset({0.0}), low=-inf, high=None)}}
    """

    def __init__(self, given: Mapping[str, BaseDistribution] | None = None) -> None:
        self._is_given = given is not None
        self.distributions = dict(given or {})
        self.conditions: dict[str, When] = {}
        self._unexplained: set[str] = set()
        self._seen: list[_Seen] = []
        self._patterns: set[frozenset[str]] = set()

    def learn(self, finished: Iterable[FrozenTrial]) -> None:
        """Take in trials; what is inferred changes only with one that it does not explain."""
        for trial in finished:
            if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED):
                continue
            has_grown = not self._is_given and self._add(trial.distributions)
            values = self._values(trial.params)
            if values is None:
                continue
            seen = _Seen(values, trial.state == TrialState.COMPLETE)
            # What was not explained may be so by parameters that appear together for the first time.
            is_new = bool(self._unexplained) and frozenset(values) not in self._patterns
            self._seen.append(seen)
            self._patterns.add(frozenset(values))
            if has_grown or is_new or not self._explains(seen):
                self._infer()

    def _add(self, distributions: Mapping[str, BaseDistribution]) -> bool:
        """Add the parameters of a trial, and tell whether that was new."""
        grown = {name: _union(self.distributions.get(name), one) for name, one in distributions.items()}
        is_new = any(self.distributions.get(name) != one for name, one in grown.items())
        self.distributions.update(grown)
        return is_new

    def _values(self, params: Mapping[str, Any]) -> dict[str, float] | None:
        """Return parameters in internal representation, or None if one is outside of its distribution."""
        try:
            found = {
                name: self.distributions[name].to_internal_repr(value)
                for name, value in params.items()
                if name in self.distributions
            }
        except ValueError:
            return None
        ends = {name: _ends(self.distributions[name]) for name in found}
        is_inside = all(ends[name][0] <= value <= ends[name][1] for name, value in found.items())
        return found if is_inside else None

    def _explains(self, seen: _Seen) -> bool:
        active = self._active(seen.values)
        is_there = seen.values.keys() <= active
        return is_there and (not seen.is_complete or active <= seen.values.keys() | self._unexplained)

    def _active(self, values: Mapping[str, float]) -> set[str]:
        """Return the parameters that are asked for by the conditions, given the values of all of them."""
        return {
            name
            for name in self.distributions
            if all(
                parent in values and allowed.holds(values[parent])
                for parent, allowed in self.conditions.get(name, {}).items()
            )
        }

    def _infer(self) -> None:
        """Find the conditions anew."""
        self.conditions, self._unexplained = {}, set()
        present = {
            name: {i for i, s in enumerate(self._seen) if name in s.values} for name in self.distributions
        }
        found: dict[frozenset[int], When | None] = {}
        for name, having in present.items():
            lacking = {i for i, s in enumerate(self._seen) if s.is_complete and name not in s.values}
            if not lacking:
                continue
            # A parameter that depends on another is there in fewer trials: so there are no circles.
            parents = [p for p, one in self.distributions.items() if present[p] > having and not one.single()]
            key = frozenset(having)
            if key not in found:
                found[key] = self._explanation(name, parents, sorted(having), lacking) if having else None
            if (when := found[key]) is None:
                self._unexplained.add(name)
            else:
                self.conditions[name] = when

    def _explanation(
        self, name: str, parents: Sequence[str], having: list[int], lacking: set[int]
    ) -> When | None:
        """Return conditions that hold in all trials that have a parameter and in none that lack it."""
        when: dict[str, Allowed] = {}
        rest = set(lacking)
        while rest and len(when) < _MOST_PARENTS:
            options = [(parent, *self._separation(parent, having, rest)) for parent in parents]
            first = list(self._seen[having[0]].values)
            place = first.index(name)
            parent, allowed, left = min(
                options,
                key=lambda option: (
                    len(option[2]),
                    _kind(self.distributions[option[0]]),
                    # Mostly a parameter is asked for soon after those that it depends on.
                    (place - first.index(option[0])) % len(first),
                ),
                default=("", None, rest),
            )
            if allowed is None or len(left) == len(rest):
                return None
            when[parent], rest = allowed, left
        return None if rest else when

    def _separation(
        self, parent: str, having: Iterable[int], lacking: Iterable[int]
    ) -> tuple[Allowed, set[int]]:
        """Return what a parent must be by the trials that have a parameter, and who lacks it all the same."""
        values = {i: self._seen[i].values.get(parent) for i in (*having, *lacking)}
        with_it = {value for i in having if (value := values[i]) is not None}
        without = {value for i in lacking if (value := values[i]) is not None} - with_it
        allowed = _allowed(self.distributions[parent], with_it, without)
        left = {i for i in lacking if (value := values[i]) is not None and allowed.holds(value)}
        return allowed, left


def _allowed(distribution: BaseDistribution, with_it: set[float], without: set[float]) -> Allowed:
    """Return the widest condition that allows all of one set and, if possible, none of the other."""
    if isinstance(distribution, CategoricalDistribution):
        return Allowed(frozenset(map(float, range(len(distribution.choices)))) - without)
    number: Any = distribution
    lowest, highest = min(with_it), max(with_it)
    below = max((value for value in without if value < lowest), default=None)
    above = min((value for value in without if value > highest), default=None)
    if not isinstance(distribution, IntDistribution):
        low = number.low if below is None else (below + lowest) / 2
        return Allowed(None, low, None if above is None else (above + highest) / 2)
    values = range(number.low, number.high + 1, number.step)
    if any(lowest < value < highest for value in without) and len(values) <= _MOST_LISTED:
        return Allowed(frozenset(map(float, values)) - without)
    low = number.low if below is None else below + 1
    return Allowed(None, low, None if above is None else above - 1)


def _ends(distribution: BaseDistribution) -> tuple[float, float]:
    if isinstance(distribution, CategoricalDistribution):
        return 0, len(distribution.choices) - 1
    number: Any = distribution
    return number.low, number.high


def _kind(distribution: BaseDistribution) -> int:
    """Return how unlikely it is that others depend on a parameter of this kind."""
    kinds = (CategoricalDistribution, IntDistribution, FloatDistribution)
    return next((i for i, kind in enumerate(kinds) if isinstance(distribution, kind)), len(kinds))


def _union(one: BaseDistribution | None, other: BaseDistribution) -> BaseDistribution:
    """Return a distribution with the values of both: Optuna lets ranges and steps differ between trials."""
    if one is None or one == other or isinstance(other, CategoricalDistribution):
        return other
    numbers: Any = (one, other)
    low, high = min(each.low for each in numbers), max(each.high for each in numbers)
    log, step = numbers[1].log, numbers[1].step
    is_aligned = (
        step is not None and numbers[0].step == step and (numbers[0].low - numbers[1].low) % step == 0
    )
    if isinstance(other, IntDistribution):
        return IntDistribution(low, high, log=log, step=step if is_aligned else 1)
    return FloatDistribution(low, high, log=log, step=step if is_aligned else None)


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
