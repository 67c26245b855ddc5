"""Spaces of ConfigSpace, with conditions and forbidden clauses, as spaces of this library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dcmaes._validation import shown
from dcmaes.space import Categorical, Float, Integer, Ordinal, Space, Variable

__all__ = ["Converted", "from_configspace"]

# "Not equal to" is a list of all other values, which should not be longer.
_LONGEST_LIST = 1000
# By what factor the weight of a choice that is ruled out is smaller than the smallest other one.
_RULED_OUT = 100.0


class Converted(NamedTuple):
    """What a `ConfigurationSpace` says, as arguments of `minimize`.

    Attributes
    ----------
    space : Space
        The hyperparameters, those with conditions conditional.
    constraints : list of callables
        Its forbidden clauses: 1 where a point is forbidden, else 0.
    default : dict
        Its default configuration. Runs in `space` start with it, since its variables have these defaults.
    """

    space: Space
    constraints: list[Callable[[Mapping[str, Any]], float]]
    default: dict[str, Any]


def from_configspace(configuration_space: Any) -> Converted:
    """Return the space, the constraints and the default of a `ConfigSpace.ConfigurationSpace`.

    Points have the names and the types of configurations, so that `Configuration(space, values=point)` gives
    a point back to ConfigSpace. Default values and weights of choices are taken over; a weight of 0, which
    there rules a choice out, becomes a hundredth of the smallest other one. Of hyperparameters with a normal
    or beta distribution the bounds are taken. Conditions may be joined by "and"; an "or" must be about one
    parent.

    Parameters
    ----------
    configuration_space : ConfigSpace.ConfigurationSpace
        The space.

    Examples
    --------
    >>> from ConfigSpace import ConfigurationSpace, EqualsCondition
    >>> theirs = ConfigurationSpace({"kernel": ["linear", "rbf"], "gamma": (0.1, 1.0)})
    >>> theirs.add(EqualsCondition(theirs["gamma"], theirs["kernel"], "rbf"))
    >>> ours = from_configspace(theirs)
    >>> ours.space.variables
    (Categorical(['linear', 'rbf'], default='linear'), Float(0.1, 1.0, default=0.55, when={'kernel': 'rbf'}))
    >>> ours.default
    {'kernel': 'linear'}
    """
    try:
        import ConfigSpace
    except ImportError as error:
        needed = "needs ConfigSpace: pip install 'dcmaes[configspace]'"
        raise ImportError(f"dcmaes.integrations.configspace {needed}") from error
    if not isinstance(configuration_space, ConfigSpace.ConfigurationSpace):
        raise TypeError(
            f"configuration_space must be a ConfigSpace.ConfigurationSpace, got {shown(configuration_space)}"
        )
    variables = {name: _variable(one) for name, one in configuration_space.items()}
    for condition in configuration_space.conditions:
        name = condition.child.name
        try:
            variables[name] = variables[name].with_when(_read(condition, variables))
        except ValueError as error:
            raise ValueError(f"the condition of {name!r} cannot be expressed: {error}") from None
    default = {name: _plain(value) for name, value in configuration_space.get_default_configuration().items()}
    constraints = [_Forbidden(clause) for clause in configuration_space.forbidden_clauses]
    return Converted(Space(variables), list(constraints), default)


def _variable(one: Any) -> Variable:
    """Return the variable that a hyperparameter is, by what it has: choices, an order, a value or bounds."""
    default = _plain(getattr(one, "default_value", None))
    if hasattr(one, "choices"):
        return Categorical([_plain(value) for value in one.choices], default=default, prior=_prior(one))
    if hasattr(one, "sequence"):
        return Ordinal([_plain(value) for value in one.sequence], default=default)
    if hasattr(one, "lower") and one.lower is not None and one.upper is not None:
        low, high, is_log = _plain(one.lower), _plain(one.upper), bool(getattr(one, "log", False))
        if isinstance(default, int):
            return Integer(int(low), int(high), log=is_log, default=default)
        # Their defaults are rounded, and may lie beyond a bound.
        return Float(low, high, log=is_log, default=min(max(default, low), high))
    if hasattr(one, "value"):
        return Categorical([_plain(one.value)])
    raise TypeError(
        f"hyperparameter {one.name!r} must have choices, a sequence, a value or bounds, got {one!r}"
    )


def _prior(one: Any) -> list[float] | None:
    """Return the weights of the choices, all of them positive; None if there are none."""
    weights = getattr(one, "weights", None)
    if weights is None:
        return None
    given = [float(weight) for weight in weights]
    least = min(weight for weight in given if weight > 0.0) / _RULED_OUT
    return [weight or least for weight in given]


def _plain(value: Any) -> Any:
    """Return a value without numpy's types."""
    return value.item() if hasattr(value, "item") else value


def _read(condition: Any, variables: Mapping[str, Variable]) -> dict[str, Any]:
    """Return a condition as `when=` writes it."""
    kind = type(condition).__name__
    if kind in ("AndConjunction", "OrConjunction"):
        parts = [_read(part, variables) for part in condition.components]
        return _all_of(parts) if kind == "AndConjunction" else _any_of(parts)
    name, parent = condition.parent.name, variables[condition.parent.name]
    if kind == "InCondition":
        return {name: [_plain(value) for value in condition.values]}
    value = _plain(condition.value)
    if kind == "EqualsCondition":
        return {name: [value]}
    if kind == "NotEqualsCondition":
        return {name: [other for other in _values(name, parent) if other != value]}
    is_less = kind == "LessThanCondition"
    if isinstance(parent, Ordinal):
        place = parent.values.index(value)
        return {name: list(parent.values[:place] if is_less else parent.values[place + 1 :])}
    if isinstance(parent, Integer):
        return {name: {"high": math.ceil(value) - 1} if is_less else {"low": math.floor(value) + 1}}
    end = math.nextafter(value, -math.inf if is_less else math.inf)
    return {name: {"high" if is_less else "low": end}}


def _values(name: str, variable: Variable) -> list[Any]:
    n_values = variable.n_values
    if n_values > _LONGEST_LIST:
        raise ValueError(f"{name!r} has too many values to list all but one of them")
    return variable.decode([float(state) for state in range(int(n_values))])


def _all_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return conditions joined by "and": also two about one parent."""
    joined: dict[str, Any] = {}
    for part in parts:
        for name, allowed in part.items():
            joined[name] = _both(joined[name], allowed) if name in joined else allowed
    return joined


def _both(first: Any, second: Any) -> Any:
    """Return what two conditions on one parent have in common."""
    if isinstance(first, dict) and isinstance(second, dict):
        low = max((ends["low"] for ends in (first, second) if "low" in ends), default=None)
        high = min((ends["high"] for ends in (first, second) if "high" in ends), default=None)
        return {end: value for end, value in (("low", low), ("high", high)) if value is not None}
    listed = first if isinstance(first, list) else second
    return [value for value in listed if all(_holds(one, value) for one in (first, second))]


def _holds(allowed: Any, value: Any) -> bool:
    if isinstance(allowed, list):
        return value in allowed
    return bool(allowed.get("low", -math.inf) <= value <= allowed.get("high", math.inf))


def _any_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return conditions joined by "or", which must be lists of values of one parent."""
    parents = {name for part in parts for name in part}
    if len(parents) > 1 or not all(isinstance(allowed, list) for part in parts for allowed in part.values()):
        listed = ", ".join(map(repr, sorted(parents)))
        raise ValueError(
            f'it joins conditions on {listed} by "or", which must be about values of one variable'
        )
    (name,) = parents
    return {name: list(dict.fromkeys(value for part in parts for value in part[name]))}


class _Forbidden:
    """A forbidden clause as a constraint."""

    def __init__(self, clause: Any) -> None:
        self._clause = clause
        self.__name__ = str(clause)

    def __call__(self, point: Mapping[str, Any]) -> float:
        return float(_is_forbidden(self._clause, point))


def _is_forbidden(clause: Any, point: Mapping[str, Any]) -> bool:
    """Tell whether a point is forbidden; a clause about a variable that is inactive in it forbids nothing."""
    if hasattr(clause, "components"):
        join = any if type(clause).__name__ == "ForbiddenOrConjunction" else all
        return join(_is_forbidden(part, point) for part in clause.components)
    is_relation = hasattr(clause, "left")
    names = [clause.left.name, clause.right.name] if is_relation else [clause.hyperparameter.name]
    return all(name in point for name in names) and bool(clause.is_forbidden_value(dict(point)))
