"""What users of scikit-learn write as search spaces, as variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import shown
from dcmaes.space import Categorical, Float, Integer, Ordinal, Space, Variable

# How much of an unbounded distribution is left out at either end.
_TAIL = 1e-3
_SAME = ("uniform", "loguniform", "reciprocal")


class _Coding(NamedTuple):
    """A variable, and how its value becomes the value of the parameter."""

    variable: Variable
    decode: Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


class SearchSpace:
    """A space of parameters of an estimator.

    >>> from scipy import stats
    >>> SearchSpace({"C": stats.loguniform(1e-3, 1e3), "depth": [1, 2, 4], "kind": ["a", "b", None]}).space
    Space({'C': Float(0.001, 1000.0, log=True),
           'depth': Ordinal([1, 2, 4]), 'kind': Categorical(['a', 'b', None])})
    """

    def __init__(self, param_space: Any) -> None:
        if not isinstance(param_space, Mapping) or not param_space:
            raise TypeError(
                "param_space must be a dict of parameter names and what they can be "
                f"(a variable, a distribution of scipy.stats, or a list), got {shown(param_space)}"
            )
        self._codings = {name: _coding(name, given) for name, given in param_space.items()}
        self.space = Space({name: coding.variable for name, coding in self._codings.items()})

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters for `set_params` of a point of the space."""
        return {name: coding.decode(point[name]) for name, coding in self._codings.items()}


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
