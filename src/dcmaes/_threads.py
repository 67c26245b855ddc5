"""One thread for the library's own linear algebra, whatever the environment says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """Return threadpoolctl's handle on the linear algebra that numpy and scipy use."""
    # Each of the two brings its own library, and one that is not loaded yet would not be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def single_thread() -> Iterator[None]:
    """Run a block, or a decorated function, with one BLAS thread, then restore the number there was before.

    More threads only get in each other's way on matrices as small as those of this library
    (`benchmarks/threads.py`). User code never runs inside.

    >>> from threadpoolctl import threadpool_info
    >>> with single_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    with _controller().limit(limits=1):
        yield
