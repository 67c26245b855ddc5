"""Coded points as short byte strings: what is kept of every point, and by which it is recognised."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.space import Sites

# Of this many bytes two different rows share a digest with a chance below 1e-26 in 10^6 rows.
_KEY_SIZE = 16


class RowCodec:
    """The exact map between coded points and rows of bytes, in the smallest number type that holds them.

    >>> codec = RowCodec(Sites([0, 0], [2, 5], [False] * 2, [False] * 2, [0, 0], [1, 4]))
    >>> rows = codec.rows(np.array([[1.0, 4.0], [-0.0, 2.0]]))
    >>> rows
    [b'\\x01\\x04', b'\\x00\\x02']
    >>> codec.coded(rows)
    array([[1., 4.],
           [0., 2.]])
    """

    def __init__(self, sites: Sites) -> None:
        self.dimension = sites.dimension
        self.dtype = _smallest_type(sites)
        self.row_size = self.dtype.itemsize * self.dimension

    def rows(self, x: FloatArray) -> list[bytes]:
        """Return one row for each coded point of `x`, shape (n, d); zero has one sign only."""
        buffer = (x + 0.0).astype(self.dtype).tobytes()
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
        return row if self.row_size <= _KEY_SIZE else blake2b(row, digest_size=_KEY_SIZE).digest()


def _smallest_type(sites: Sites) -> np.dtype[np.generic]:
    if sites.is_continuous.any():
        return np.dtype(np.float64)
    highest = int(sites.n_states.max()) - 1
    for kind in (np.uint8, np.uint16, np.uint32):
        if highest <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int64)
