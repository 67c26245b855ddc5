"""Evaluations: one as the memory keeps it, many as strategies see them, and the order among them."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import Sites

# Of this many bytes two different rows share a digest with a chance below 1e-26 in 10^6 rows.
_KEY_SIZE = 16
_PACK = struct.Struct("<qddidd??ddiq")
RECORD = np.dtype(
    [
        ("id", "<i8"),
        ("value", "<f8"),
        ("violation", "<f8"),
        ("restart", "<i4"),
        ("seconds", "<f8"),
        ("told_at", "<f8"),
        ("is_given", "?"),
        ("is_again", "?"),
        ("mean_violation", "<f8"),
        ("mean_value", "<f8"),
        ("count", "<i4"),
        ("previous", "<i8"),
    ]
)


class Rank(NamedTuple):
    """What points are compared by, the smaller the better: the violation first, then the value.

    >>> Rank(0.0, 9.0) < Rank(0.5, 1.0) < WORST
    True
    """

    violation: float
    value: float

    @staticmethod
    def of(value: float, violation: float) -> Rank:
        """Return the rank of an evaluation; no value (NaN) counts as infinite.

        >>> Rank.of(float("nan"), 0.5)
        Rank(violation=0.5, value=inf)
        """
        return Rank(violation, np.inf if np.isnan(value) else value)


WORST = Rank(np.inf, np.inf)
_COLUMNS = ("x", "value", "violation", "is_repeat", "count", "row")


@dataclass(frozen=True)
class Evaluations:
    """Coded points with what is known of them, in the order in which they were told.

    Attributes
    ----------
    x : array of shape (n, d)
        Coded points.
    value : array of shape (n,)
        Values to be minimized; NaN where there is none (a failure, or a point that a constraint excludes).
    violation : array of shape (n,)
        Total constraint violation: 0 where feasible, infinite where the evaluation failed.
    is_repeat : bool array of shape (n,)
        Whether the point had been evaluated before, so that telling it again cost nothing; none by default.
    count : int array of shape (n,)
        Of how many evaluations of the point the value is the mean; one by default.
    row : int array of shape (n,)
        The place of each in the memory; -1, the default, for points that were not evaluated.

    >>> told = Evaluations(np.zeros((3, 1)), np.array([2.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    >>> told.order()
    array([1, 0, 2])
    """

    x: FloatArray
    value: FloatArray
    violation: FloatArray
    is_repeat: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    count: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    row: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        n = len(self.value)
        if len(self.is_repeat) == 0:
            object.__setattr__(self, "is_repeat", np.zeros(n, dtype=bool))
        if len(self.count) == 0:
            object.__setattr__(self, "count", np.ones(n, dtype=np.int64))
        if len(self.row) == 0:
            object.__setattr__(self, "row", np.full(n, -1, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.value)

    def order(self) -> IntArray:
        """Return positions, best first: feasible by value, others by violation, failures; ties as told."""
        return np.lexsort((self.value, self.violation))

    def take(self, rows: slice | IntArray) -> Evaluations:
        """Return some of the evaluations.

        >>> len(Evaluations(np.zeros((3, 1)), np.zeros(3), np.zeros(3)).take(slice(2)))
        2
        """
        return Evaluations(*(getattr(self, name)[rows] for name in _COLUMNS))

    def fresh(self) -> Evaluations:
        """Return those that are no repeats.

        >>> told = Evaluations(np.eye(2), np.zeros(2), np.zeros(2), is_repeat=np.array([True, False]))
        >>> told.fresh().x
        array([[0., 1.]])
        """
        return self.take(np.flatnonzero(~self.is_repeat))

    def rank(self, position: int) -> Rank:
        """Return violation and value of one of the evaluations, the value infinite where there is none."""
        return Rank.of(float(self.value[position]), float(self.violation[position]))

    @staticmethod
    def empty(dimension: int) -> Evaluations:
        """Return no evaluations at all.

        >>> len(Evaluations.empty(3))
        0
        """
        return Evaluations(np.empty((0, dimension)), np.empty(0), np.empty(0))

    @staticmethod
    def join(*parts: Evaluations) -> Evaluations:
        """Return the evaluations of all parts, one after the other; at least one part.

        >>> len(Evaluations.join(Evaluations.empty(3), Evaluations.empty(3)))
        0
        """
        return Evaluations(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


class Evaluation(NamedTuple):
    """One evaluation as the memory keeps it.

    Attributes
    ----------
    id : int
        Number of the trial.
    value, violation : float
        What the objective gave, the value to be minimized; NaN and infinite for a failure.
    restart : int
        How often the search had been restarted when the point was asked for.
    seconds, told_at : float
        How long it took, NaN if not known, and when it was told, in seconds from the start of the run.
    is_given : bool
        Whether it came with the starting points and cost nothing.
    is_again : bool
        Whether a known point was evaluated again to make sure of its value.
    mean : Rank
        Mean violation and value of all evaluations of the point so far, if repeats are averaged; otherwise
        those of this one.
    n_averaged : int
        How many evaluations that mean is of.
    """

    id: int
    value: float
    violation: float
    restart: int
    seconds: float
    told_at: float
    is_given: bool
    is_again: bool
    mean: Rank
    n_averaged: int

    def packed(self, previous: int) -> bytes:
        """Return the evaluation as one record, with the place of the one before of the same point, or -1."""
        *plain, mean, n_averaged = self
        return _PACK.pack(*plain, *mean, n_averaged, previous)

    @classmethod
    def unpacked(cls, records: bytearray, place: int) -> Evaluation:
        """Return the evaluation at a place in records that follow each other."""
        *plain, violation, value, n_averaged, _ = _PACK.unpack_from(records, place * _PACK.size)
        return cls._make([*plain, Rank(violation, value), n_averaged])


class RowCodec:
    """The exact map between coded points and rows of bytes, in the smallest number type that holds them.

    Inactive sites are at rest in a row, so that one point has one row.

    >>> codec = RowCodec(Sites([0, 0], [2, 5], [False] * 2, [False] * 2, [0, 0], [1, 4]))
    >>> rows = codec.rows(np.array([[1.0, 4.0], [-0.0, 2.0]]))
    >>> rows
    [b'\\x01\\x04', b'\\x00\\x02']
    >>> codec.coded(rows)
    array([[1., 4.],
           [0., 2.]])
    """

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self.dimension = sites.dimension
        self.dtype = _smallest_type(sites)
        self.row_size = self.dtype.itemsize * self.dimension

    def rows(self, x: FloatArray) -> list[bytes]:
        """Return one row for each coded point of `x`, shape (n, d); zero has one sign only."""
        buffer = (self._sites.canonical(x) + 0.0).astype(self.dtype).tobytes()
        size = self.row_size
        return [buffer[i : i + size] for i in range(0, len(buffer), size)]

    def coded(self, rows: Iterable[bytes]) -> FloatArray:
        """Return the coded points of rows, shape (n, d)."""
        return self.split(b"".join(rows)).astype(np.float64)

    def split(self, buffer: bytes | bytearray | memoryview) -> NDArray[np.generic]:
        """Return rows that follow each other in memory as a view of shape (n, d), in their own type."""
        view: NDArray[np.generic] = np.frombuffer(buffer, dtype=self.dtype).reshape(-1, self.dimension)
        return view

    def key(self, row: bytes) -> bytes:
        """Return at most 16 bytes that stand for the row: the row itself, or its digest."""
        return row if self.row_size <= _KEY_SIZE else _digest(row)


@lru_cache(maxsize=256)  # a point is looked up when it is drawn, and again when it is told
def _digest(row: bytes) -> bytes:
    return blake2b(row, digest_size=_KEY_SIZE).digest()


def _smallest_type(sites: Sites) -> np.dtype[np.generic]:
    if sites.is_continuous.any():
        return np.dtype(np.float64)
    highest = int(sites.n_states.max()) - 1
    for kind in (np.uint8, np.uint16, np.uint32):
        if highest <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int64)


def gathered(buffer: bytearray, size: int, places: IntArray) -> bytes:
    """Return items of a size from a buffer, copied by runs of places that follow each other.

    A view of the buffer would keep it from growing, also in another thread.
    """
    if len(places) == 0:
        return b""
    starts = np.flatnonzero(np.diff(places, prepend=places[0] - 2) != 1)
    first = places[starts] * size
    last = (places[np.append(starts[1:], len(places)) - 1] + 1) * size
    return b"".join(buffer[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True))


class Records:
    """Evaluations and their points in the order told, packed into two byte arrays.

    Adding one is fast, the arrays grow by an eighth at a time (no doubling of a large block), and only what
    is read becomes arrays of floats.

    >>> records = Records(Sites([0], [2], [False], [False], [0], [1]))
    >>> nothing = Evaluation(0, 3.0, 0.0, 0, 0.0, 0.0, False, False, Rank(0.0, 3.0), 1)
    >>> records._add(records.codec.rows(np.ones((1, 1)))[0], nothing, -1)
    >>> len(records), records.x(0), records.evaluation(0).value
    (1, array([1.]), 3.0)
    """

    def __init__(self, sites: Sites) -> None:
        self.codec = RowCodec(sites)
        self._n = 0
        self._rows = bytearray()
        self._records = bytearray()

    def __len__(self) -> int:
        return self._n

    def _add(self, row: bytes, evaluation: Evaluation, previous: int) -> None:
        """Add an evaluation of the point of a row; `previous` is the place of the one before, or -1."""
        self._rows += row
        self._records += evaluation.packed(previous)
        self._n += 1

    def evaluation(self, place: int) -> Evaluation:
        """Return one evaluation."""
        return Evaluation.unpacked(self._records, place)

    def x(self, place: int) -> FloatArray:
        """Return the coded point of one evaluation, shape (d,)."""
        x: FloatArray = self.codec.coded([self.row(place)])[0]
        return x

    def row(self, place: int) -> bytes:
        """Return the same as a row of bytes."""
        size = self.codec.row_size
        return bytes(self._rows[place * size : (place + 1) * size])

    def points(self, start: int, stop: int) -> FloatArray:
        """Return the coded points of evaluations `start` to `stop`, shape (stop - start, d)."""
        size = self.codec.row_size
        return self.codec.split(self._rows[start * size : stop * size]).astype(np.float64)

    def column(self, name: str, n: int | None = None) -> NDArray[Any]:
        """Return a column of the first `n` evaluations (all by default), shape (n,)."""
        stop = self._n if n is None else n
        return np.frombuffer(self._records[: stop * RECORD.itemsize], RECORD)[name].copy()

    def evaluations(self, places: IntArray) -> Evaluations:
        """Return the evaluations at some places, in that order, repeats averaged as far as they were then."""
        points = self.codec.split(gathered(self._rows, self.codec.row_size, places)).astype(np.float64)
        records = self.records_at(places)
        value, violation = records["mean_value"].copy(), records["mean_violation"].copy()
        count = records["count"].astype(np.int64)
        return Evaluations(points, value, violation, np.zeros(len(places), dtype=bool), count, places)

    def records_at(self, places: IntArray) -> NDArray[Any]:
        """Return the records at some places, shape (n,), with all fields of `RECORD`."""
        return np.frombuffer(gathered(self._records, RECORD.itemsize, places), RECORD)


# Places in the memory, from where to where, the end not included; in order, with gaps between them.
Spans = tuple[tuple[int, int], ...]


def with_place(spans: Spans, place: int) -> Spans:
    """Return the set with one more place; a negative one is none.

    >>> with_place(with_place(((0, 3),), 3), 7)
    ((0, 4), (7, 8))
    """
    if place < 0 or holds(spans, place):
        return spans
    i = bisect_right(spans, (place, place))
    first, last = place, place + 1
    before, after = spans[:i], spans[i:]
    if before and before[-1][1] == first:
        first, before = before[-1][0], before[:-1]
    if after and after[0][0] == last:
        last, after = after[0][1], after[1:]
    return (*before, (first, last), *after)


def holds(spans: Spans, place: int) -> bool:
    """Tell whether a place is in the set.

    >>> [holds(((2, 4), (6, 7)), place) for place in range(1, 8)]
    [False, True, True, False, False, True, False]
    """
    i = bisect_right(spans, place, key=lambda span: span[0])
    return i > 0 and place < spans[i - 1][1]
