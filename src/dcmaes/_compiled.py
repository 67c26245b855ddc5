"""Loops that numba compiles where it is installed (`pip install "dcmaes[fast]"`): the same results, sooner.

Loading numba takes as long as some hundred evaluations, so that a process begins with the plain version of a
loop and changes over once it has gone round often enough. The plain version also stays if numba is not there
or fails, and where `DCMAES_FAST=0` is in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


class Loop(Generic[Function]):
    """A loop in two versions with the same results: plain, and compiled.

    Parameters
    ----------
    plain : function
    load : function without arguments
        Imports the compiled version and returns it.
    n_plain : int
        How many rounds this process makes with the plain version before it loads the other.

    Examples
    --------
    >>> def load():
    ...     from math import sqrt
    ...
    ...     return sqrt
    >>> root = Loop(lambda x: x**0.5, load, n_plain=10)
    >>> root.version(8)(4.0), root.version(8)(4.0)
    (2.0, 2.0)
    """

    def __init__(self, plain: Function, load: Callable[[], Function], *, n_plain: int) -> None:
        self._plain = self._version = plain
        self._load = load
        self._n_left = n_plain

    def version(self, n_rounds: int) -> Function:
        """Return the version to use for the next so many rounds."""
        if self._n_left >= 0:
            self._n_left -= n_rounds
            if self._n_left < 0:
                self._version = self._loaded()
        return self._version

    def _loaded(self) -> Function:
        if os.environ.get("DCMAES_FAST") == "0":
            return self._plain
        try:
            return self._load()
        except Exception:  # numba is missing or broken, or finds no folder to keep what it compiles
            return self._plain


def compiled(signature: str | None = None) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function when it is defined, or finds it compiled on disk.

    Without signature, it is compiled along with those that use it. Sums stay in the order in which they are
    written, because numba is not told that it may change it.

    >>> compiled.__name__  # imports numba when it is called
    'compiled'
    """
    import numba

    njit: Any = numba.njit  # its versions differ in whether and how they are typed
    # What is kept on disk does not notice changes in other files: constants have to be arguments.
    decorator: Callable[[Function], Function] = njit if signature is None else njit(signature, cache=True)
    return decorator


def ready(array: Any, dtype: type[np.generic] = np.float64) -> Any:
    """Return an array as compiled functions want it: in the order of C, and writable; itself if it is so.

    >>> ready(np.array([[1, 2], [3, 4]]).T).flags.c_contiguous
    True
    """
    return np.require(array, dtype, ["C", "W"])
