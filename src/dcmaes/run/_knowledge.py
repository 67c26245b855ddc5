"""What is known of points: evaluated, pending, or excluded by a constraint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.run._archive import Archive
from dcmaes.run._trial import Trial


class Outstanding(NamedTuple):
    """A trial that was handed out and not told yet; `is_again` if to make sure of a point that is known."""

    trial: Trial
    row: bytes
    key: bytes
    restart: int
    is_again: bool = False


class Knowledge:
    """All that is known of points, looked up by key; it is what strategies get to ask as `Known`.

    Parameters
    ----------
    archive : Archive
        What was evaluated.
    is_finite : bool
        Whether the space has finitely many points; only then can an excluded one come again.

    Attributes
    ----------
    outstanding : dict of int to Outstanding
        Trials out for evaluation by their id, in the order in which they were asked for.
    excluded : dict of bytes to float
        Violation of each point that a cheap constraint excludes.
    """

    def __init__(self, archive: Archive, is_finite: bool) -> None:
        self.archive = archive
        self.is_finite = is_finite
        self.outstanding: dict[int, Outstanding] = {}
        self.excluded: dict[bytes, float] = {}
        self._n_out: dict[bytes, int] = {}

    @property
    def n_points(self) -> int:
        """How many different points are known, if none is handed out twice."""
        return self.archive.n_points + len(self.excluded) + len(self._n_out)

    @property
    def pending(self) -> FloatArray:
        """Coded pending points, shape (k, d)."""
        return self.archive.codec.coded(out.row for out in self.outstanding.values())

    def contains(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell for each row of `x` whether it was evaluated, is pending, or is excluded."""
        codec, archive = self.archive.codec, self.archive
        keys = [codec.key(row) for row in codec.rows(np.atleast_2d(x))]
        return np.array(
            [archive.find(key) is not None or key in self._n_out or key in self.excluded for key in keys],
            dtype=np.bool_,
        )

    def is_out(self, key: bytes) -> bool:
        """Tell whether the point is pending."""
        return key in self._n_out

    def exclude(self, key: bytes, violation: float) -> None:
        """Remember that constraints exclude a point."""
        if self.is_finite:
            self.excluded[key] = violation

    def hand_out(self, out: Outstanding) -> None:
        """Remember that a trial is pending."""
        self.outstanding[out.trial.id] = out
        self._n_out[out.key] = self._n_out.get(out.key, 0) + 1

    def take_back(self, trial_id: int) -> Outstanding:
        """Remove a trial from the pending ones, and return it."""
        out = self.outstanding.pop(trial_id)
        n_left = self._n_out.pop(out.key) - 1
        if n_left:
            self._n_out[out.key] = n_left
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return pending and excluded points as plain data and arrays."""
        outstanding = list(self.outstanding.values())
        return {
            "ids": [out.trial.id for out in outstanding],
            "x": self.pending,
            "restarts": [out.restart for out in outstanding],
            "is_again": [out.is_again for out in outstanding],
            "excluded": np.frombuffer(b"".join(self.excluded), np.uint8),
            "violations": np.array(list(self.excluded.values()), dtype=np.float64),
        }

    def restore_excluded(self, data: dict[str, Any]) -> None:
        """Remember the excluded points that `to_dict` described."""
        violations: list[float] = data["violations"].tolist()
        buffer = data["excluded"].tobytes()
        size = len(buffer) // max(1, len(violations))
        for index, violation in enumerate(violations):
            self.excluded[buffer[index * size : (index + 1) * size]] = violation
