"""The argument checks used everywhere: each names the argument, the value and what would be right."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ArgumentError(ValueError):
    """An argument that does not go with a file, as opposed to a file that makes no sense.

    >>> raise ArgumentError("seed is 1 here and 2 there")
    Traceback (most recent call last):
    dcmaes._validation.ArgumentError: seed is 1 here and 2 there
    """


def check_integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an `int`, or raise naming the argument.

    >>> check_integer("budget", 10, low=1)
    10
    """
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got the boolean {value!r}")
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if low is not None and result < low:
        raise ValueError(f"{name} must be at least {low}, got {result}")
    if high is not None and result > high:
        raise ValueError(f"{name} must be at most {high}, got {result}")
    return result


def check_number(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite `float` within [low, high], or raise naming the argument.

    >>> check_number("step_size", 0.5, low=0.0)
    0.5
    """
    if isinstance(value, (bool, np.bool_, str, bytes)) or (isinstance(value, np.ndarray) and value.ndim > 0):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be within the range of floating point, got {value!r}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {result}")
    if not low <= result <= high:
        raise ValueError(f"{name} must be between {low} and {high}, got {result}")
    return result


def check_array(name: str, values: ArrayLike, *, shape: tuple[int | None, ...] | None = None) -> FloatArray:
    """Return a fresh float array of the wanted shape (None: any length) with finite entries, or raise.

    >>> check_array("mean", [0, 1], shape=(2,))
    array([0., 1.])
    """
    try:
        result = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {values!r}") from None
    if shape is not None:
        fits = result.ndim == len(shape) and all(
            want is None or want == have for want, have in zip(shape, result.shape, strict=True)
        )
        if not fits:
            wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
            raise ValueError(f"{name} must have shape {wanted}, got {result.shape}")
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} must be finite, got {result[where]} at index {where}")
    return result


def check_probabilities(
    name: str, values: ArrayLike, *, shape: tuple[int | None, ...] | None = None
) -> FloatArray:
    """Return a fresh array with entries in [0, 1], or raise naming the first offender.

    >>> check_probabilities("p", [0.25, 0.75])
    array([0.25, 0.75])
    """
    result = check_array(name, values, shape=shape)
    bad = (result < 0) | (result > 1)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} must lie between 0 and 1, got {result[where]} at index {where}")
    return result


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`, or raise listing them.

    >>> check_choice("duplicates", "cache", ("cache", "allow"))
    'cache'
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def check_generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` if it is a numpy Generator, or raise saying how to make one.

    >>> type(check_generator("rng", np.random.default_rng(0))).__name__
    'Generator'
    """
    if not isinstance(value, np.random.Generator):
        raise TypeError(
            f"{name} must be a numpy.random.Generator (numpy.random.default_rng(seed)), got {value!r}"
        )
    return value


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of `array` that refuses writes: what is handed out cannot change what is kept.

    >>> readonly(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view
