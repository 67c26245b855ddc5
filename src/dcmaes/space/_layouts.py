"""The two forms a point can have: a dict with names, or an array with positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, check_list, readonly, shown, suggestion
from dcmaes.space._ranges import Float, Integer
from dcmaes.space._sites import Sites
from dcmaes.space._variables import Binary, Categorical, Ordinal, Variable

# Up to so many values are listed to be looked up.
_LONGEST_LIST = 2**12


class NamedLayout:
    """Points are dicts: bool for Binary, int for Integer, float for Float, else the given objects.

    Inactive variables are not in the dict.
    """

    def __init__(self, names: Sequence[str], variables: Sequence[Variable], sites: Sites) -> None:
        self._variables = dict(zip(names, variables, strict=True))
        self._sites = sites

    def encode_many(self, points: Iterable[Any]) -> FloatArray:
        """Return the coded points, shape (n, d), or raise naming the variable that is wrong."""
        listed = check_list("points", points, "a sequence of dicts")
        rows = [self._encode(point) for point in listed]
        x = np.array(rows, dtype=np.float64).reshape(len(rows), len(self._variables))
        if self._sites.has_conditions:
            is_given = np.array([[name in point for name in self._variables] for point in listed])
            self._check_active(x, is_given.reshape(x.shape))
        return x

    def decode_many(self, x: FloatArray) -> list[dict[str, Any]]:
        """Return one dict for each row of `x`."""
        if len(x) == 0:
            return []
        # Plain Python numbers, a column at a time: faster than numpy for few rows as for many.
        columns = zip(*x.tolist(), strict=True)
        values = [v.decode(column) for v, column in zip(self._variables.values(), columns, strict=True)]
        names = self._variables.keys()
        if self._sites.has_conditions:
            is_active = self._sites.active(x).tolist()
            rows = zip(zip(*values, strict=True), is_active, strict=True)
            return [
                {name: value for name, value, is_there in zip(names, *row, strict=True) if is_there}
                for row in rows
            ]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def _encode(self, point: Any) -> list[float]:
        if not isinstance(point, Mapping):
            raise TypeError(f"point must be a dict with the names of the space, got {shown(point)}")
        for name in point:
            if name not in self._variables:
                hint = suggestion(name, self._variables)
                raise ValueError(f"point has {name!r}, which is not a name of the space{hint}")
        if self._sites.has_conditions:
            rest = zip(self._variables.items(), self._sites.rest.tolist(), strict=True)
            return [v.encode(name, point[name]) if name in point else state for (name, v), state in rest]
        missing = [repr(name) for name in self._variables if name not in point]
        if missing:
            raise ValueError(f"point must have a value for every variable, {', '.join(missing)} missing")
        return [variable.encode(name, point[name]) for name, variable in self._variables.items()]

    def _check_active(self, x: FloatArray, is_given: NDArray[np.bool_]) -> None:
        """Raise if a point lacks a value for an active variable, or has one for an inactive variable."""
        is_active, names = self._sites.active(x), np.array(list(self._variables), dtype=object)
        wrong = np.flatnonzero((is_active != is_given).any(axis=1))
        if len(wrong) == 0:
            return
        row = wrong[0]
        missing = names[is_active[row] & ~is_given[row]]
        if len(missing):
            listed = ", ".join(map(repr, missing))
            raise ValueError(f"point must have a value for every active variable, {listed} missing")
        name = names[is_given[row] & ~is_active[row]][0]
        raise ValueError(
            f"point has {name!r}, which is inactive in it and must be left out: it needs that "
            f"{self._variables[name].when!s}"
        )


class _Column:
    """The values of a variable in arrays that are no sum of a base and steps: looked up in a list of them."""

    def __init__(self, name: str, variable: Variable) -> None:
        self._name, self._variable = name, variable
        n_states = variable.site.n_states
        listed = variable.decode(range(n_states if n_states <= _LONGEST_LIST else 0))
        self._values = np.array(listed, dtype=np.float64)
        self._order = np.argsort(self._values)

    def encode(self, values: NDArray[Any]) -> Sequence[float] | IntArray:
        """Return the states of values, shape (n,), or raise."""
        if len(self._values):
            last = len(self._values) - 1
            place = np.searchsorted(self._values, values, sorter=self._order)
            states = self._order[np.minimum(place, last)]
            if np.array_equal(self._values[states], values):
                return states
        return [self._variable.encode(self._name, value) for value in values.tolist()]

    def decode(self, coded: FloatArray) -> Sequence[float] | FloatArray:
        """Return the values of states, shape (n,)."""
        if len(self._values):
            return self._values[coded.astype(np.int64)]
        return self._variable.decode(coded.tolist())


class PositionalLayout:
    """Points are 1-D arrays: int64 if every variable is Binary or Integer, float64 otherwise."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self._variables = tuple(variables)
        self._is_integer = all(isinstance(v, (Binary, Integer)) for v in variables)
        self._accepts_bool = all(isinstance(v, Binary) for v in variables)
        for i, variable in enumerate(variables):
            self._check_variable(f"variable {i}", variable)
        dtype = np.int64 if self._is_integer else np.float64
        self._dtype = np.dtype(dtype)
        self._low = np.array([_bounds(v)[0] for v in variables], dtype=dtype)
        self._high = np.array([_bounds(v)[1] for v in variables], dtype=dtype)
        # The values of integers are base + step * state.
        self._base = np.array([v.low if isinstance(v, Integer) else 0 for v in variables], dtype=dtype)
        self._step = np.array([v.step if isinstance(v, Integer) else 1 for v in variables], dtype=dtype)
        self._has_steps = bool((self._step != 1).any())
        self._whole: IntArray = np.flatnonzero([isinstance(v, (Binary, Integer)) for v in variables])
        self._columns = {
            i: _Column(f"point[{i}]", v)
            for i, v in enumerate(variables)
            if isinstance(v, Ordinal) or (isinstance(v, Float) and v.step is not None)
        }

    def encode_many(self, points: Iterable[Any]) -> FloatArray:
        """Return the coded points, shape (n, d), or raise naming the variable that is wrong."""
        wanted = f"a sequence of arrays of shape ({len(self._variables)},)"
        is_block = isinstance(points, np.ndarray) and points.ndim == 2
        rows: Any = points if is_block else check_list("points", points, wanted)
        if len(rows) == 0:
            return np.empty((0, len(self._variables)))
        for row in rows:
            self._check_shape(row)
        values = self._as_numbers(rows)
        if values is None or not self._are_members(values):
            # Slow, but says exactly which variable is wrong.
            coded = [[v.encode(f"point[{i}]", row[i]) for i, v in enumerate(self._variables)] for row in rows]
            return np.array(coded, dtype=np.float64)
        states = values - self._base
        if self._has_steps:
            divide = np.floor_divide if self._is_integer else np.true_divide
            states = divide(states, self._step)
        x: FloatArray = states.astype(np.float64) + 0.0
        for i, column in self._columns.items():
            x[:, i] = column.encode(values[:, i])
        return x

    def decode_many(self, x: FloatArray) -> list[NDArray[Any]]:
        """Return one read-only array for each row of `x`."""
        states = x.astype(self._dtype)
        values = states * self._step + self._base if self._has_steps else states + self._base
        for i, column in self._columns.items():
            values[:, i] = column.decode(x[:, i])
        return list(readonly(values))

    def _check_shape(self, point: Any) -> None:
        wanted = f"point must be an array of shape ({len(self._variables)},)"
        if not isinstance(point, (np.ndarray, Sequence)) or isinstance(point, (str, bytes)):
            raise TypeError(f"{wanted}, got {shown(point)}")
        shape = point.shape if isinstance(point, np.ndarray) else (len(point),)
        if shape != (len(self._variables),):
            raise ValueError(f"{wanted}, got shape {shape}")

    def _as_numbers(self, rows: Any) -> NDArray[Any] | None:
        """Return the rows in the type of the points, or None if that might lose something."""
        try:
            values = np.asarray(rows)
        except Exception:  # whatever foreign objects raise
            return None
        if values.ndim != 2 or self._is_beyond_float(values):
            return None
        if values.dtype.kind not in "biuf" or (values.dtype.kind == "b" and not self._accepts_bool):
            return None
        if not self._is_integer:
            return values.astype(np.float64)
        if values.dtype.kind == "u" and values.max() > np.uint64(2**63 - 1):
            return None
        integers = values.astype(np.int64)
        return integers if values.dtype.kind != "f" or np.array_equal(integers, values) else None

    def _is_beyond_float(self, values: NDArray[Any]) -> bool:
        """Tell whether numbers that may have been integers are so large that floats do not hold them all."""
        return values.dtype.kind == "f" and not (np.abs(values[:, self._whole]) < 2.0**53).all()

    def _are_members(self, values: NDArray[Any]) -> bool:
        """Tell whether the values are points, except for those variables that look for themselves."""
        is_inside = (values >= self._low) & (values <= self._high)
        is_inside[:, list(self._columns)] = True
        if not is_inside.all():
            return False
        if self._is_integer and not self._has_steps:
            return True
        whole = (values - self._base)[:, self._whole]
        return not np.remainder(whole, self._step[self._whole]).any()

    def _check_variable(self, name: str, variable: Variable) -> None:
        if variable.when is not None:
            raise ValueError(
                f"{name} cannot have a condition, since arrays have an entry for every variable; use "
                "Space({name: ...})"
            )
        if isinstance(variable, Categorical):
            raise TypeError(
                f"{name} must be numeric in a space of arrays, got {variable!r}; use Space({{name: ...}})"
            )
        limit = 2**63 if self._is_integer else 2**53
        if isinstance(variable, Integer) and max(abs(variable.low), abs(variable.high)) > limit:
            raise ValueError(f"{name} must be within +-2**53 in an array of floats, got {variable!r}")
        if isinstance(variable, Integer) and variable.high - variable.low >= 2**63:
            raise ValueError(f"{name} must have bounds less than 2**63 apart in an array, got {variable!r}")
        if isinstance(variable, Ordinal):
            for value in variable.values:
                if isinstance(value, (bool, np.bool_)) or not isinstance(
                    value, (int, float, np.integer, np.floating)
                ):
                    raise TypeError(
                        f"{name} must have numbers as values in a space of arrays, got {shown(value)}"
                    )
            is_exact = all(map(_is_float64, variable.values))
            if not is_exact or len(set(map(float, variable.values))) < len(variable.values):
                raise ValueError(
                    f"{name} must have values that are different float64 numbers, got {variable!r}"
                )


def _is_float64(number: float) -> bool:
    try:
        return float(number) == number
    except OverflowError:
        return False


def _bounds(variable: Variable) -> tuple[float, float]:
    if isinstance(variable, (Integer, Float)):
        return variable.low, variable.high
    if isinstance(variable, Ordinal):
        return min(variable.values), max(variable.values)
    return 0, 1
