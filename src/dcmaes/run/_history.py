"""Every evaluation of a run, as users see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from dcmaes._html import html_table, value_text
from dcmaes._validation import FloatArray, IntArray, readonly
from dcmaes.space import Integer, Space, Variable
from dcmaes.strategies import Memory

if TYPE_CHECKING:
    from dcmaes.run._objectives import Objectives

_BLOCK = 1024
# How much a notebook shows.
_MOST_ROWS = 10
_MOST_COLUMNS = 12
STATUSES = ("ok", "infeasible", "failed")


class Record(NamedTuple):
    """One evaluation.

    Attributes
    ----------
    id : int
        Number of the trial.
    point : dict or array of shape (d,)
        The point.
    value : float, or tuple of floats
        Its value; NaN if there is none. With several objectives the values of all, in their order.
    violation : float
        Its total constraint violation: 0 if feasible, infinite if the evaluation failed.
    status : str
        "ok", "infeasible" or "failed".
    reason : str or None
        Why the evaluation failed.
    restart : int
        How often the search had been restarted when the point was asked for.
    objective_time : float
        Seconds the objective took; NaN if it was not said.
    told_at : float
        Seconds from the start of the run to the tell.
    is_given : bool
        Whether the value came with the starting points and cost no evaluation.
    """

    id: int
    point: Any
    value: Any
    violation: float
    status: str
    reason: str | None
    restart: int
    objective_time: float
    told_at: float
    is_given: bool


# What the columns of tables of evaluations are called, besides the variables.
BOOK = tuple(field for field in Record._fields if field != "point")


def book_names(objectives: Objectives | None) -> tuple[str, ...]:
    """Return what the columns besides the variables are called: several objectives have one each."""
    if objectives is None:
        return BOOK
    place = BOOK.index("value")
    return (*BOOK[:place], *objectives.names, *BOOK[place + 1 :])


def column_names(space: Space, objectives: Objectives | None = None) -> tuple[str, ...]:
    """Return what the columns of the variables are called: x0, x1, ... if they have no names.

    A variable that is called like a column of its own gets "point." before its name.

    >>> from dcmaes.space import Binary
    >>> column_names(Space({"norm": Binary(), "value": Binary()})), column_names(Space.binary(2))
    (('norm', 'point.value'), ('x0', 'x1'))
    """
    names = (name if isinstance(name, str) else f"x{name}" for name in space.names)
    taken = {*BOOK, *book_names(objectives)}
    return tuple(f"point.{name}" if name in taken else name for name in names)


def point_texts(space: Space, point: Any) -> list[str]:
    """Return the values of a point as short texts, one for each variable; those of inactive ones are empty.

    >>> point_texts(Space.integers(2, 0, 9), np.array([3, 4]))
    ['3', '4']
    """
    if not space.is_named:
        return [value_text(value) for value in point]
    return [value_text(point[name]) if name in point else "" for name in space.names]


class History(Sequence[Record]):
    """All evaluations in the order in which they were told: a sequence of records, and their columns.

    Examples
    --------
    >>> import dcmaes as dc
    >>> history = dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1, strategy="random").history
    >>> len(history), history[0].value, history.best_so_far
    (4, 2.0, array([2., 1., 0., 0.]))
    """

    def __init__(
        self, memory: Memory, space: Space, sign: float, objectives: Objectives | None = None
    ) -> None:
        self._memory = memory
        self._space = space
        self._objectives = objectives
        self._names = ("value",) if objectives is None else objectives.names
        self._signs = np.array([sign]) if objectives is None else objectives.signs
        self._n = len(memory)

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._n))]
        position = range(self._n)[index]
        return self._record(position, self._space.decode(self._memory.x(position)))

    def __iter__(self) -> Iterator[Record]:
        for first in range(0, self._n, _BLOCK):
            stop = min(first + _BLOCK, self._n)
            for i, point in enumerate(self._space.decode_many(self._memory.points(first, stop)), start=first):
                yield self._record(i, point)

    def __repr__(self) -> str:
        return f"<History of {self._n} evaluations>"

    def _repr_html_(self) -> str:
        columns = column_names(self._space, self._objectives)[:_MOST_COLUMNS]
        n_hidden = self._space.dimension - len(columns)
        header = ["id", *columns, *(["…"] if n_hidden else []), *self._names, "violation", "status"]
        n_shown = min(self._n, _MOST_ROWS)
        shown = [*range(n_shown - n_shown // 2), *range(self._n - n_shown // 2, self._n)]
        rows: list[list[Any]] = []
        for index, record in zip(shown, (self[i] for i in shown), strict=True):
            if rows and index > shown[len(rows) - 1] + 1:
                rows.append(["…"] * len(header))
            point = point_texts(self._space, record.point)[: len(columns)]
            rest = [f"{n_hidden} more"] if n_hidden else []
            value = [record.value] if self._objectives is None else record.value
            rows.append([record.id, *point, *rest, *value, record.violation, record.status])
        return html_table(f"{self._n} evaluations", header, rows)

    @property
    def ids(self) -> IntArray:
        """Numbers of the trials, shape (n,)."""
        return readonly(self._memory.column("id", self._n))

    @property
    def points(self) -> Any:
        """The points: a list of dicts, or an array of shape (n, d)."""
        points = self._space.decode_many(self._memory.points(0, self._n))
        return points if self._space.is_named else np.array(points).reshape(self._n, self._space.dimension)

    @property
    def values(self) -> FloatArray:
        """The values, shape (n,), or (n, m) with m objectives; NaN where there is none."""
        return self._as_users_see(self._memory.told(np.arange(self._n)))

    @property
    def violations(self) -> FloatArray:
        """The total constraint violations, shape (n,)."""
        return readonly(self._memory.column("violation", self._n))

    @property
    def statuses(self) -> NDArray[np.str_]:
        """The status of each evaluation: "ok", "infeasible" or "failed", shape (n,)."""
        return readonly(statuses_of(self._memory.column("violation", self._n)))

    @property
    def reasons(self) -> list[str | None]:
        """Why each evaluation failed, or None."""
        return [self._memory.reason(i) for i in range(self._n)]

    @property
    def restarts(self) -> IntArray:
        """How often the search had been restarted when each point was asked for, shape (n,)."""
        return readonly(self._memory.column("restart", self._n).astype(np.int64))

    @property
    def objective_times(self) -> FloatArray:
        """Seconds each evaluation took, shape (n,); NaN where it was not said."""
        return readonly(self._memory.column("seconds", self._n))

    @property
    def told_at(self) -> FloatArray:
        """Seconds from the start of the run to each tell, shape (n,)."""
        return readonly(self._memory.column("told_at", self._n))

    @property
    def is_given(self) -> NDArray[np.bool_]:
        """Whether each value came with the starting points and cost no evaluation, shape (n,)."""
        return readonly(self._memory.column("is_given", self._n).astype(np.bool_))

    @property
    def best_so_far(self) -> FloatArray:
        """Best feasible value up to each evaluation, shape (n,); NaN before the first.

        With m objectives the best of each by itself, shape (n, m).
        """
        is_ok = (self.statuses == "ok")[:, None]
        feasible = np.where(is_ok, self._memory.told(np.arange(self._n)), np.inf)
        lowest = np.minimum.accumulate(feasible, axis=0)
        return self._as_users_see(np.where(np.isinf(lowest), np.nan, lowest))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row for each evaluation, one column for each variable.

        Variables of positional spaces are called x0, x1, ...; a variable that is called like another column
        gets "point." before its name. Inactive variables have missing values; columns of integers and flags
        then have the types Int64 and boolean, which know of such.

        >>> import dcmaes as dc
        >>> space = dc.Space({"a": dc.Integer(0, 1)})
        >>> result = dc.minimize(lambda p: p["a"], space, budget=2, seed=0, strategy="random")
        >>> result.history.to_frame()[["id", "a", "value", "status"]]
           id  a  value status
        0   0  1    1.0     ok
        1   1  0    0.0     ok
        """
        columns = self.values.reshape(self._n, len(self._names)).T
        book: dict[str, Any] = {
            **dict(zip(self._names, columns, strict=True)),
            "violation": self.violations,
            "status": self.statuses,
            "reason": self.reasons,
            "restart": self.restarts,
            "objective_time": self.objective_times,
            "told_at": self.told_at,
            "is_given": self.is_given,
        }
        pandas, points = import_module("pandas"), self.points
        headers = column_names(self._space, self._objectives)
        described = zip(headers, self._space.names, self._space.variables, strict=True)
        variables = {header: _column(points, name, variable, pandas) for header, name, variable in described}
        return pandas.DataFrame({"id": self.ids, **variables, **book})

    def _counting(self) -> IntArray:
        """Return the places of what counts for the front of several objectives: the feasible evaluations.

        If repeats are averaged, the last one of each point whose mean violation is 0.
        """
        if not self._memory.several.is_averaged:
            return np.flatnonzero(self.statuses == "ok")
        latest = np.setdiff1d(np.arange(self._n), self._memory.column("previous", self._n))
        counting: IntArray = latest[self._memory.column("mean_violation", self._n)[latest] == 0.0]
        return counting

    def _means(self, places: IntArray) -> FloatArray:
        """Return what counts of several objectives at some places, in the user's sign, shape (k, m).

        These are their values or, if repeats are averaged, the mean values of the point as far as told then.
        """
        if self._objectives is None:
            return self.values[places, None]
        means: FloatArray = self._signs * self._memory.values_at(places)
        return means + 0.0 if self._memory.several.is_averaged else means  # no negative zero of a mean

    def _feasible(self, n_most: int, objective: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return coded points, shape (k, d), and values to be minimized, (k,), of the last feasible ones."""
        first = max(self._n - n_most, 0)
        is_feasible = self.statuses[first:] == "ok"
        told = self._memory.told(np.arange(first, self._n))
        return self._memory.points(first, self._n)[is_feasible], told[is_feasible, objective]

    def _as_users_see(self, told: FloatArray) -> FloatArray:
        """Return values of all objectives, shape (n, m), in the user's sign; of one objective, shape (n,)."""
        values = self._signs * told
        return readonly(values[:, 0] if self._objectives is None else values)

    def _record(self, index: int, point: Any) -> Record:
        entry = self._memory.evaluation(index)
        value: Any = float(self._signs[0]) * entry.value
        if self._objectives is not None:
            (told,) = self._memory.told(np.array([index]))
            value = tuple((self._signs * told).tolist())
        return Record(
            id=entry.id,
            point=point,
            value=value,
            violation=entry.violation,
            status=str(statuses_of(np.array(entry.violation))),
            reason=self._memory.reason(index),
            restart=entry.restart,
            objective_time=entry.seconds,
            told_at=entry.told_at,
            is_given=entry.is_given,
        )


def _column(points: Any, name: Any, variable: Variable, pandas: Any) -> Any:
    """Return the values of a variable as a column, missing where it is inactive."""
    if variable.when is None:
        return [point[name] for point in points]
    kind = "boolean" if variable.is_flag else "Int64" if isinstance(variable, Integer) else None
    return pandas.Series([point.get(name) for point in points], dtype=kind)


def statuses_of(violation: FloatArray) -> NDArray[np.str_]:
    """Return the status that each violation stands for: 0 feasible, infinite a failure.

    >>> statuses_of(np.array([0.0, 0.5, np.inf])).tolist()
    ['ok', 'infeasible', 'failed']
    """
    statuses: NDArray[np.str_] = np.array(STATUSES)[(violation > 0.0).astype(np.int64) + np.isinf(violation)]
    return statuses
