"""The file of a run: every ask and every result in an SQLite database, as plain data.

This package knows rows and bytes, not spaces or strategies: `dcmaes.optimizer` writes through a `Journal` and
goes on from it, `dcmaes.store` reads it in the user's terms through a `Reader`.

Guarantees
----------
One transaction for each event. The database is in WAL mode while it is written, so a process killed at any
moment leaves whole events only, and readers see a consistent state meanwhile; once closed, it is one file.

A killed process loses nothing that was committed. To survive a power cut as well, a commit has to wait for
the disk (some milliseconds); that is done as soon as the evaluations that would be lost took `SYNCED_SECONDS`
together, so expensive evaluations are all safe, and runs of cheap ones are not held up.

One process writes: it holds a lock that the operating system releases when the process ends, however it ends.

Nothing in the file is executed: it holds numbers, text (JSON) and arrays.
"""

from dcmaes.journal._journal import SYNCED_SECONDS, Journal
from dcmaes.journal._reader import Ask, Reader, Sitting, Snapshot
from dcmaes.journal._rows import EvaluationRow, LossRow, TrialRow
from dcmaes.journal._schema import StoreError, intelligible

__all__ = [
    "SYNCED_SECONDS",
    "Ask",
    "EvaluationRow",
    "Journal",
    "LossRow",
    "Reader",
    "Sitting",
    "Snapshot",
    "StoreError",
    "TrialRow",
    "intelligible",
]
