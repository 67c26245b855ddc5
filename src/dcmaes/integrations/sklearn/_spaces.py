"""What users of scikit-learn write as search spaces, as variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import shown
from dcmaes.space import Categorical, Float, Integer, Ordinal, Space, Variable

# The variable that says in which of several dicts a point is.
_WHICH = "param_space"
# How much of an unbounded distribution is left out at either end.
_TAIL = 1e-3
_SAME = ("uniform", "loguniform", "reciprocal")


class _Coding(NamedTuple):
    """A variable, and how its value becomes the value of the parameter."""

    variable: Variable
    decode: Callable[[Any], Any]

    def is_like(self, other: _Coding) -> bool:
        """Tell whether two codings mean the same, wherever they are active."""
        is_same = self.variable == other.variable and self.decode is other.decode
        return self is other or (is_same and self.variable.when is None)


def _as_it_is(value: Any) -> Any:
    return value


class SearchSpace:
    """A space of parameters of an estimator.

    Of several dicts, a point is in one: a variable says in which, and the parameters of a dict are active
    only there. A parameter that is the same in several dicts is one variable.

    >>> from scipy import stats
    >>> SearchSpace({"C": stats.loguniform(1e-3, 1e3), "depth": [1, 2, 4], "kind": ["a", "b", None]}).space
    Space({'C': Float(0.001, 1000.0, log=True),
           'depth': Ordinal([1, 2, 4]), 'kind': Categorical(['a', 'b', None])})
    >>> several = SearchSpace([{"kernel": ["linear"], "C": [1, 2, 4]}, {"kernel": ["rbf"], "C": [1, 2, 4]}])
    >>> several.space.names
    ('param_space', 'kernel[0]', 'C', 'kernel[1]')
    >>> several.params({"param_space": 1, "kernel[1]": "rbf", "C": 2})
    {'kernel': 'rbf', 'C': 2}
    """

    def __init__(self, param_space: Any) -> None:
        is_list = isinstance(param_space, Sequence) and not isinstance(param_space, (str, bytes))
        given = list(param_space) if is_list else [param_space]
        for i, one in enumerate(given):
            _check_dict(f"param_space[{i}]" if is_list else "param_space", one)
        if not given:
            raise ValueError("param_space must have at least one dict, got an empty list")
        self._branches = [{name: _coding(name, value) for name, value in one.items()} for one in given]
        self._names = _names(self._branches)
        if len(given) > 1:
            self.space = Space(self._variables())
        else:
            self.space = Space({name: coding.variable for name, coding in self._branches[0].items()})

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters for `set_params` of a point of the space."""
        i = point[_WHICH] if len(self._branches) > 1 else 0
        found = zip(self._branches[i].items(), self._names[i].values(), strict=True)
        return {name: coding.decode(point[own]) for (name, coding), own in found if own in point}

    def _variables(self) -> Iterable[tuple[str, Variable]]:
        """Yield the variables of several dicts: the one that says which dict it is, and those in each."""
        homes: dict[str, list[int]] = {}
        inside: dict[str, Variable] = {}
        for i, (branch, names) in enumerate(zip(self._branches, self._names, strict=True)):
            for name, coding in branch.items():
                homes.setdefault(names[name], []).append(i)
                inside.setdefault(names[name], _renamed(coding.variable, names))
        yield _WHICH, Categorical(range(len(self._branches)))
        for name, variable in inside.items():
            is_everywhere = len(homes[name]) == len(self._branches)
            where = {} if is_everywhere else {_WHICH: homes[name]}
            yield name, variable.with_when({**where, **(variable.when or {})})


def _check_dict(what: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not given:
        raise TypeError(
            f"{what} must be a dict of parameter names and what they can be "
            f"(a variable, a distribution of scipy.stats, or a list), got {shown(given)}"
        )
    if _WHICH in given:
        raise ValueError(f"{what} must not have the name {_WHICH!r}, which says in which dict a point is")


def _names(branches: Sequence[Mapping[str, _Coding]]) -> list[dict[str, str]]:
    """Return for each dict what its parameters are called in the space: as they are, unless they differ."""
    found: list[dict[str, str]] = []
    for branch in branches:
        own = {}
        for name, coding in branch.items():
            same = [j for j, other in enumerate(branches) if name in other]
            like = next(j for j in same if branches[j][name].is_like(coding))
            is_one = all(branches[j][name].is_like(coding) for j in same)
            own[name] = name if is_one else f"{name}[{like}]"
        found.append(own)
    return found


def _renamed(variable: Variable, names: Mapping[str, str]) -> Variable:
    """Return a variable with its condition on what others are called in the space."""
    if variable.when is None:
        return variable
    return variable.with_when({names.get(parent, parent): v for parent, v in variable.when.items()})


def _coding(name: str, given: Any) -> _Coding:
    if isinstance(given, Variable):
        return _Coding(given, _as_it_is)
    if hasattr(given, "ppf") and hasattr(given, "support"):
        return _distribution(given)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return _Coding(Ordinal(given) if _is_ordered(given) else Categorical(given), _as_it_is)
    raise TypeError(
        f"param_space[{name!r}] must be a variable (dcmaes.Integer(1, 8), ...), a distribution of "
        f"scipy.stats or a list of values, got {shown(given)}"
    )


def _is_ordered(values: Sequence[Any]) -> bool:
    """Tell whether the values are at least three numbers that go up, or down."""
    is_numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    if not is_numeric or len(values) < 3:
        return False
    steps = np.diff(np.asarray(values, dtype=np.float64))
    return bool((steps > 0).all() or (steps < 0).all())


def _distribution(given: Any) -> _Coding:
    """Return the range where the distribution is flat, linearly or in logarithms, else its quantiles."""
    kind = getattr(getattr(given, "dist", None), "name", "")
    low, high = (float(end) for end in given.support())
    if hasattr(given, "pmf"):
        ends = (given.ppf(_TAIL) if low == -np.inf else low, given.ppf(1 - _TAIL) if high == np.inf else high)
        return _Coding(Integer(int(ends[0]), int(ends[1])), _as_it_is)
    if kind in _SAME and np.isfinite([low, high]).all():
        return _Coding(Float(low, high, log=kind != "uniform"), _as_it_is)
    inner = Float(_TAIL if low == -np.inf else 0.0, 1 - _TAIL if high == np.inf else 1.0)
    return _Coding(inner, lambda u: float(given.ppf(u)))
