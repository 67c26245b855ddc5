"""Several objectives: what an evaluation may give for them, and the front of what no other one dominates."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from dcmaes._html import html_table, points_text
from dcmaes._validation import FloatArray, IntArray, check_array, check_choice, check_list, readonly, shown
from dcmaes.pareto import best_by_weights, hypervolume, knee
from dcmaes.run._history import History, Record, column_names, point_texts
from dcmaes.run._trial import read_number
from dcmaes.strategies._several import Several

# Up to so many objectives the search is known to work well.
MOST_OBJECTIVES = 4
_MOST_NAMES = 100
DIRECTIONS = ("minimize", "maximize")
_WANTED = (
    "the number of objectives, at least 2, a sequence of their names, or a dict of names and directions "
    'such as {"loss": "minimize", "size": "minimize"}'
)
# How much a notebook shows.
_MOST_ROWS = 20
_MOST_COLUMNS = 12


@dataclass(frozen=True)
class Objectives:
    """What several objectives are called, which values of each are good, and up to where they count.

    Attributes
    ----------
    names, directions : tuples of m str
        Each direction is "minimize" or "maximize".
    reference : tuple of m floats, or None
        The worst values that are of interest, in the user's sign; the hypervolume counts up to them.

    >>> objectives = Objectives(("loss", "size"), ("minimize", "maximize"))
    >>> objectives.read_values({"size": 3, "loss": 0.5})
    ((0.5, 3.0), '')
    >>> objectives.read_values((0.5, 3, 7))[1]
    'not 2 values (loss, size) but 3'
    """

    names: tuple[str, ...]
    directions: tuple[str, ...]
    reference: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def signs(self) -> FloatArray:
        """What values are multiplied by to be minimized, and by which they are turned back, shape (m,)."""
        return np.array([1.0 if direction == "minimize" else -1.0 for direction in self.directions])

    @property
    def limit(self) -> FloatArray | None:
        """The reference in values to be minimized, shape (m,), or None."""
        return None if self.reference is None else self.signs * self.reference

    def read_values(self, told: Any) -> tuple[tuple[float, ...], str]:
        """Return m finite numbers and no reason, or as many NaN and why there are none."""
        nothing = (math.nan,) * len(self)
        listed, reason = self._listed(told)
        if reason:
            return nothing, reason
        numbers = []
        for name, one in zip(self.names, listed, strict=True):
            number, reason = read_number(one)
            if reason:
                return nothing, f"{name} is {reason}"
            numbers.append(number)
        return tuple(numbers), ""

    def _listed(self, told: Any) -> tuple[list[Any], str]:
        """Return what was told of each objective, or why it cannot be told apart."""
        wanted = f"{len(self)} values ({', '.join(self.names)})"
        if isinstance(told, Mapping):
            missing = [name for name in self.names if name not in told]
            unknown = [shown(name) for name in told if name not in self.names]
            if missing or unknown:
                remarks = [f"without {', '.join(missing)}"] * bool(missing)
                remarks += [f"with {', '.join(unknown)}"] * bool(unknown)
                return [], f"not {wanted} but a dict {' and '.join(remarks)}"
            return [told[name] for name in self.names], ""
        if isinstance(told, np.ndarray) and told.ndim == 1:
            told = told.tolist()
        if not isinstance(told, (tuple, list)):
            number, reason = read_number(told)
            return [], f"not {wanted} but {reason or f'one number: {number:g}'}"
        if len(told) != len(self):
            return [], f"not {wanted} but {len(told)}"
        return list(told), ""

    def describe(self, values: FloatArray) -> str:
        """Return values of one point, in the user's sign, in a few words.

        >>> Objectives(("loss", "size"), ("minimize",) * 2).describe(np.array([0.25, 3.0]))
        'loss=0.25, size=3'
        """
        return ", ".join(f"{name}={v:.6g}" for name, v in zip(self.names, values.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return names, directions and reference as plain data."""
        reference = None if self.reference is None else list(self.reference)
        return {"names": list(self.names), "directions": list(self.directions), "reference": reference}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Objectives:
        """Return what `to_dict` described."""
        reference = data["reference"]
        return Objectives(
            tuple(data["names"]), tuple(data["directions"]), None if reference is None else tuple(reference)
        )


def read_objectives(
    objectives: Any, reference: Any, direction: str, taken: tuple[str, ...] = ()
) -> Objectives | None:
    """Return what the arguments `objectives` and `reference` say; None if there is one objective only.

    Parameters
    ----------
    objectives : int, sequence of str, mapping of str to str, Objectives or None
        See `minimize`.
    reference : sequence of m numbers, mapping of names to numbers, or None
        See `minimize`.
    direction : {"minimize", "maximize"}
        The direction of objectives for which none is given.
    taken : tuple of str
        What an objective cannot be called: columns of the history.

    >>> read_objectives(2, None, "minimize")
    Objectives(names=('f0', 'f1'), directions=('minimize', 'minimize'), reference=None)
    """
    if objectives is None:
        if reference is not None:
            raise ValueError(f"reference is for several objectives, got {shown(reference)} and no objectives")
        return None
    if isinstance(objectives, Objectives):
        return objectives
    found = _named(objectives, direction)
    if len(found) < 2:
        raise ValueError(f"objectives must be {_WANTED}; leave it out for one, got {shown(objectives)}")
    for name, one in found.items():
        if name in taken:
            raise ValueError(f"objectives: {name!r} is a column of the history; choose another name")
        check_choice(f"objectives[{name!r}]", one, DIRECTIONS)
    if len(found) > MOST_OBJECTIVES:
        warnings.warn(
            f"{len(found)} objectives: with more than {MOST_OBJECTIVES}, nearly no point dominates another "
            "one, and fronts and hypervolumes say little; add some of them up, or make them constraints",
            UserWarning,
            stacklevel=4,
        )
    names, directions = tuple(found), tuple(found.values())
    return Objectives(names, directions, None if reference is None else read_reference(reference, names))


def _named(objectives: Any, direction: str) -> dict[str, Any]:
    """Return names and directions."""
    if isinstance(objectives, Mapping):
        found = dict(objectives)
    elif isinstance(objectives, (bool, np.bool_)):
        raise TypeError(f"objectives must be {_WANTED}, got {shown(objectives)}")
    else:
        try:
            names: list[Any] = [f"f{i}" for i in range(min(operator.index(objectives), _MOST_NAMES + 1))]
        except TypeError:
            names = check_list("objectives", objectives, _WANTED)
        if len(names) > _MOST_NAMES:
            raise ValueError(f"objectives must be at most {_MOST_NAMES}, got {shown(objectives)}")
        if len(set(map(repr, names))) < len(names):
            raise ValueError(f"objectives must have different names, got {shown(objectives)}")
        found = {name: direction for name in names if isinstance(name, str)}
        if len(found) < len(names):
            raise TypeError(f"objectives must be {_WANTED}, got {shown(objectives)}")
    for name in found:
        if not isinstance(name, str) or not name:
            raise TypeError(f"objectives must have names that are text, got {shown(name)}")
    return found


def read_reference(reference: Any, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return one number for each objective, from a sequence or a mapping, or raise.

    >>> read_reference({"size": 9, "loss": 1}, ("loss", "size"))
    (1.0, 9.0)
    """
    if isinstance(reference, Mapping):
        if set(reference) != set(names):
            raise ValueError(f"reference must have the keys {', '.join(names)}, got {shown(reference)}")
        reference = [reference[name] for name in names]
    return tuple(check_array("reference", reference, shape=(len(names),)).tolist())


class Front(Sequence[Record]):
    """The feasible evaluations that no other one dominates, in the order of the first objective.

    With one objective that is the best evaluation alone. If repeats are averaged, the mean values of points
    are compared; each point is here once, as its last evaluation with these means for values.

    Attributes
    ----------
    names : tuple of m str
        What the objectives are called.

    Examples
    --------
    >>> import dcmaes as dc
    >>> def cost_and_gain(x):
    ...     return x.sum(), -x @ [5, 3, 2]
    >>> front = dc.minimize(cost_and_gain, dc.Space.binary(3), budget=8, seed=0, objectives=2).front
    >>> len(front), front.values
    (4, array([[  0.,   0.],
           [  1.,  -5.],
           [  2.,  -8.],
           [  3., -10.]]))
    >>> front.knee().value, front.pick([1, 3]).point
    ((1.0, -5.0), array([1, 1, 0]))
    """

    def __init__(self, history: History, places: IntArray) -> None:
        self._history = history
        self.names: tuple[str, ...] = history._names
        self._signs = history._signs
        values = self._signs * history._means(places)
        self._places = places[np.lexsort(values.T[::-1])]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        record = self._history[int(self._places[position])]
        if not self._is_averaged:
            return record
        return record._replace(value=tuple(self.values[position].tolist()), violation=0.0, status="ok")

    @property
    def _is_averaged(self) -> bool:
        return self._history._memory.several.is_averaged

    def __repr__(self) -> str:
        return f"<Front of {points_text(len(self))}: {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        space = self._history._space
        columns = column_names(space, self._history._objectives)[:_MOST_COLUMNS]
        header = ["id", *self.names, *columns, *["…"][: space.dimension - len(columns)]]
        rows = [
            [record.id, *values, *point_texts(space, record.point)[: len(columns)]]
            for record, values in zip(self[:_MOST_ROWS], self.values.tolist(), strict=False)
        ]
        shown_rows = [[*row, "…"][: len(header)] for row in rows]
        return html_table(f"Front of {points_text(len(self))}", header, shown_rows)

    @property
    def places(self) -> IntArray:
        """Where in the history they are, shape (k,)."""
        return readonly(self._places)

    @cached_property
    def values(self) -> FloatArray:
        """Their values, in the sign in which the objective returned them, shape (k, m)."""
        return readonly(self._history._means(self._places))

    @cached_property
    def counts(self) -> IntArray:
        """Of how many evaluations of each point these values are the means, shape (k,)."""
        counts = self._history._memory.column("count", len(self._history))[self._places]
        return readonly(counts.astype(np.int64))

    @property
    def points(self) -> Any:
        """The points: a list of dicts, or an array of shape (k, d)."""
        space = self._history._space
        points = [record.point for record in self]
        return points if space.is_named else np.array(points).reshape(len(self), space.dimension)

    def knee(self) -> Record:
        """Return the point where giving up some of one objective no longer gains much of another.

        Measured in the range of each objective on the front: the point furthest below the line (the plane,
        with three objectives) through its ends.
        """
        self._check_some()
        return self[knee(self._signs * self.values)]

    def pick(self, weights: Any) -> Record:
        """Return the best point if objectives count as much as `weights` say, in the range of each.

        Parameters
        ----------
        weights : sequence of m numbers, or dict of names and numbers
            Not negative, not all zero; only their ratios matter. Any point of the front is best for some.
        """
        self._check_some()
        if isinstance(weights, Mapping):
            unknown = [name for name in weights if name not in self.names]
            if unknown:
                raise ValueError(f"weights must be for {', '.join(self.names)}, got {shown(weights)}")
            weights = [weights.get(name, 0.0) for name in self.names]
        return self[best_by_weights(self._signs * self.values, weights)]

    def hypervolume(self, reference: Any = None) -> float:
        """Return the volume of values that the front dominates, up to a reference: the larger the better.

        Exact for two and three objectives; see `dcmaes.pareto.hypervolume` for more.

        Parameters
        ----------
        reference : sequence of m numbers, or dict of names and numbers
            The worst values that count, in the sign of the objective. By default the `reference` of the run;
            if it has none, the worst feasible value of each objective in the history.
        """
        return hypervolume(self._signs * self.values, self._limit(reference))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, the rows of the history's in the order of the front.

        If repeats are averaged, with the means for values, and a column `count` of how many they are of.
        """
        frame = self._history.to_frame().iloc[self._places].reset_index(drop=True)
        if self._is_averaged:
            frame[list(self.names)] = self.values
            frame["violation"], frame["status"], frame["reason"] = 0.0, "ok", None
            frame["count"] = self.counts
        return frame

    def growth(self, reference: Any = None) -> FloatArray:
        """Return the hypervolume after each evaluation of the history, shape (n,).

        If repeats are averaged it may fall, when a point turns out worse than it looked.
        """
        memory, n, limit = self._history._memory, len(self._history), self._limit(reference)
        values = (memory.values_at if self._is_averaged else memory.told)(np.arange(n))
        violation = memory.column("mean_violation" if self._is_averaged else "violation", n)
        rows = zip(values, violation == 0.0, memory.column("previous", n).tolist(), strict=True)
        replayed, volumes = Several(len(limit), limit, is_averaged=self._is_averaged), np.zeros(n)
        for i, (row, is_feasible, previous) in enumerate(rows):
            replayed.append(row, is_feasible, row, previous=previous)
            volumes[i] = replayed.volume
        return volumes

    def _limit(self, reference: Any) -> FloatArray:
        """Return a reference in values to be minimized, shape (m,)."""
        objectives = self._history._objectives
        if reference is None and objectives is not None and objectives.limit is not None:
            return objectives.limit
        if reference is None:
            feasible = self._signs * self._history._means(self._history._counting())
            return feasible.max(axis=0) if len(feasible) else np.zeros(len(self.names))
        limit: FloatArray = self._signs * read_reference(reference, self.names)
        return limit

    def _check_some(self) -> None:
        if not len(self):
            raise ValueError("the front is empty: no evaluation was feasible")


def front_of(history: History, best: int | None) -> Front:
    """Return the front of a whole history; with one objective, the evaluation `best` if it is feasible."""
    if history._objectives is None:
        is_found = best is not None and history[best].violation == 0.0
        return Front(history, np.array([best] if is_found else [], dtype=np.int64))
    return Front(history, history._memory.front)
