"""The levels of all points told, looked up by point."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray

Level = tuple[float, float]

WORST: Level = (np.inf, np.inf)
# So many points take some 40 MB; then all are forgotten, and known points cost a draw each.
MAX_POINTS = 2**18


class Memory:
    """Levels by point; adding a point returns another memory and leaves this one as it was.

    Memories that come of each other share one table, of which each sees the first `len` entries. So adding
    to the newest of them takes no copy.

    Examples
    --------
    >>> first = Memory()
    >>> second = first.with_level(np.zeros(3), (0.0, 1.5))
    >>> first.level(np.zeros(3)), second.level(np.zeros(3))
    (None, (0.0, 1.5))
    """

    def __init__(self, keys: list[bytes] | None = None, levels: list[Level] | None = None) -> None:
        self._keys = keys or []
        self._levels = levels or []
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._n = len(self._keys)

    def __len__(self) -> int:
        return self._n

    def level(self, x: FloatArray) -> Level | None:
        """Return the level of a point, or None if it was not told."""
        place = self._places.get(_key(x), self._n)
        return self._levels[place] if place < self._n else None

    def with_level(self, x: FloatArray, level: Level) -> Memory:
        """Return a memory that also knows this point; what is known of a point stays as it is."""
        key = _key(x)
        if self._places.get(key, self._n) < self._n:
            return self
        if self._n >= MAX_POINTS:
            return Memory([key], [level])
        if len(self._keys) > self._n:
            return Memory([*self._keys[: self._n], key], [*self._levels[: self._n], level])
        self._places[key] = self._n
        self._keys.append(key)
        self._levels.append(level)
        grown = Memory.__new__(Memory)
        grown._keys, grown._levels, grown._places = self._keys, self._levels, self._places
        grown._n = self._n + 1
        return grown

    def to_plain(self) -> dict[str, Any]:
        """Return keys, shape (n, 8), and levels, shape (n, 2)."""
        keys = np.frombuffer(b"".join(self._keys[: self._n]), dtype=np.uint8)
        levels = np.array(self._levels[: self._n], dtype=np.float64)
        return {"keys": keys.reshape(-1, 8), "levels": levels.reshape(-1, 2)}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Memory:
        """Return the memory that `to_plain` described."""
        keys = [row.tobytes() for row in data["keys"]]
        return cls(keys, [(level[0], level[1]) for level in data["levels"].tolist()])


def _key(x: FloatArray) -> bytes:
    # With 64 bits, the chance that any two of a million points share a key is 3e-8.
    return blake2b(x.tobytes(), digest_size=8).digest()
