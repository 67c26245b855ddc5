"""Every evaluation of a run, in records that are only ever added to."""

from __future__ import annotations

import math
import struct
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.run._noise import Repeats
from dcmaes.run._rows import RowCodec


class Status(IntEnum):
    """The status of an evaluation."""

    OK = 0
    INFEASIBLE = 1
    FAILED = 2

    @classmethod
    def of(cls, violation: float) -> Status:
        """Return the status that a violation stands for: 0 feasible, infinite a failure."""
        if violation <= 0.0:
            return cls.OK
        return cls.INFEASIBLE if violation < math.inf else cls.FAILED


class Entry(NamedTuple):
    """One evaluation as the archive keeps it: the value is the one to be minimized."""

    id: int
    value: float
    violation: float
    status: int
    restart: int
    seconds: float
    told_at: float
    is_given: bool


_PACK = struct.Struct("<qddbidd?")
_RECORD = np.dtype(
    [
        ("id", "<i8"),
        ("value", "<f8"),
        ("violation", "<f8"),
        ("status", "i1"),
        ("restart", "<i4"),
        ("seconds", "<f8"),
        ("told_at", "<f8"),
        ("is_given", "?"),
    ]
)


class Archive:
    """Append-only records of evaluations, and a map from each point to the evaluations of it.

    Parameters
    ----------
    codec : RowCodec
        The map between coded points and rows.
    repeats : Repeats or None
        What keeps the means over repeated evaluations, if they are to be averaged.

    Records and points are packed into two byte arrays: adding one is fast, they grow by an eighth at a time
    (no doubling of a large block), and numpy reads them as columns.

    >>> from dcmaes.space import Sites
    >>> codec = RowCodec(Sites([0], [5], [False], [False], [0], [4]))
    >>> archive = Archive(codec)
    >>> archive.append(b"\\x03", b"\\x03", Entry(0, 1.5, 0.0, Status.OK, 0, math.nan, 0.1, False))
    >>> archive.find(b"\\x03"), archive.best, archive.x(0)
    (0, 0, array([3.]))
    """

    def __init__(self, codec: RowCodec, repeats: Repeats | None = None) -> None:
        self.codec = codec
        self.repeats = repeats
        self.best: int | None = None
        self.n_failures = 0
        self._standing = (math.inf, math.inf)
        self._rows = bytearray()
        self._records = bytearray()
        self._reasons: dict[int, str] = {}
        self._first: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._records) // _PACK.size

    @property
    def n_points(self) -> int:
        """How many different points were evaluated."""
        return len(self._first)

    def append(self, row: bytes, key: bytes, entry: Entry, reason: str | None = None) -> None:
        """Add one evaluation of the point that `row` and its `key` stand for."""
        index = len(self)
        self._rows += row
        self._records += _PACK.pack(*entry)
        if reason is not None:
            self._reasons[index] = reason
        self._first.setdefault(key, index)
        if self.repeats is not None and entry.status != Status.FAILED:
            self.repeats.add(key, index, entry.value, entry.violation)
        if entry.status == Status.FAILED:
            self.n_failures += not entry.is_given
        elif self.best is None or (entry.violation, entry.value) < self._standing:
            self.best, self._standing = index, (entry.violation, entry.value)

    def find(self, key: bytes) -> int | None:
        """Return the index of the first evaluation of a point, or None."""
        return self._first.get(key)

    def worth(self, key: bytes) -> tuple[float, float] | None:
        """Return value and violation of the first evaluation of a point, or None."""
        index = self._first.get(key)
        if index is None:
            return None
        entry = self.entry(index)
        return entry.value, entry.violation

    def entry(self, index: int) -> Entry:
        """Return one evaluation."""
        return Entry(*_PACK.unpack_from(self._records, index * _PACK.size))

    def reason(self, index: int) -> str | None:
        """Return why an evaluation failed, or None."""
        return self._reasons.get(index)

    def x(self, index: int) -> FloatArray:
        """Return the coded point of one evaluation, shape (d,)."""
        x: FloatArray = self.codec.coded([self.row(index)])[0]
        return x

    def row(self, index: int) -> bytes:
        """Return the row of one evaluation."""
        size = self.codec.row_size
        return bytes(self._rows[index * size : (index + 1) * size])

    def column(self, name: str, n: int | None = None) -> NDArray[Any]:
        """Return a copy of the first `n` entries of a column (all by default), shape (n,)."""
        stop = len(self) if n is None else n
        return np.frombuffer(self._records[: stop * _PACK.size], _RECORD)[name].copy()

    def points(self, start: int, stop: int) -> FloatArray:
        """Return the coded points of evaluations `start` to `stop`, shape (stop - start, d)."""
        size = self.codec.row_size
        return self.codec.split(self._rows[start * size : stop * size]).astype(np.float64)
