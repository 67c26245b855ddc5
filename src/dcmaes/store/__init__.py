"""Reading the store of a run: what was evaluated, what is pending, and its current state.

`minimize(..., store="run.db")` writes every ask and every result of a run to a file. `read` opens such a
file, also during the run, and never changes it:

    run = dcmaes.store.read("run.db")
    run.space, run.settings       what is searched, and how: a dict with budget, seed, strategy, ...
    run.history                   every evaluation, as in `Result.history`, in the user's sign
    run.result()                  as `minimize` returns it; during a run, the result so far
    run.pending                   the pending trials, and since when
    run.is_running                whether a process is using it
    run.stop_reason, run.message  why it stopped, if it did
    run.started, run.updated      when it began, and when something was last written
    run.timeline                  who evaluated what and when
    run.failures, run.losses      what failed and why, with tracebacks; what was started again

The data are those at the moment of the call; read again to see more.

To continue a run use `dcmaes.resume`, or `minimize` with the same arguments. `Optimizer.save` writes the
same kind of file, and `Optimizer.load` reads it.

Guarantees
----------
One transaction for each event. The database is in WAL mode while it is written, so a process killed at any
moment leaves whole events only, and readers see a consistent state meanwhile; once closed, it is one file.

A killed process loses nothing that was committed. To survive a power cut as well, a commit has to wait for
the disk (some milliseconds); that is done as soon as the evaluations that would be lost took 0.1 s together,
so expensive evaluations are all safe, and runs of cheap ones are not held up.

One process writes: it holds a lock that the operating system releases when the process ends, however it ends.

Nothing in the file is executed: it holds numbers, text (JSON) and arrays. A digest over all rows is checked
when it is opened.
"""

from dcmaes.store._reader import Failure, Pending, Span, StoredRun, read
from dcmaes.store._schema import Loss, StoreError

__all__ = ["Failure", "Loss", "Pending", "Span", "StoreError", "StoredRun", "read"]
