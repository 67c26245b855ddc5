"""Mixed test functions: the first half of the variables are integers, the rest continuous."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray, check_integer
from dcmaes.problems._problem import Problem, float_variables, integer_variables


def mixed_sphere(dimension: int = 10, low: int = 0, high: int = 10, *, instance: int = 0) -> Problem:
    """Squared distance to a hidden point, half of it integers; solved at 1e-8.

    >>> mixed_sphere(4)(mixed_sphere(4).solution)
    0.0
    """
    return _mixed("mixed sphere", dimension, low, high, 1.0, instance)


def mixed_ellipsoid(
    dimension: int = 10, low: int = 0, high: int = 10, *, condition: float = 1e3, instance: int = 0
) -> Problem:
    """Ellipsoid over half integers and half continuous variables, steep and flat in both; solved at 1e-8.

    >>> mixed_ellipsoid(4)(mixed_ellipsoid(4).solution)
    0.0
    """
    return _mixed(f"mixed ellipsoid {condition:.0e}", dimension, low, high, condition, instance)


def _mixed(name: str, dimension: int, low: int, high: int, condition: float, instance: int) -> Problem:
    check_integer("dimension", dimension, low=2)
    check_integer("high", high, low=low + 2)
    rng = np.random.default_rng(instance)
    n_integer = dimension // 2
    n_float = dimension - n_integer
    margin = 0.1 * (high - low)
    z = np.concatenate(
        [rng.integers(low + 1, high, n_integer), rng.uniform(low + margin, high - margin, n_float)]
    )
    weights = [condition ** (np.arange(n) / max(n - 1, 1)) for n in (n_integer, n_float)]
    weight = np.concatenate(weights)

    def function(x: FloatArray) -> float:
        return float(weight @ (x - z) ** 2)

    variables = integer_variables(n_integer, low, high) + float_variables(n_float, low, high)
    return Problem(
        f"{name} d={dimension} {low}..{high}",
        variables,
        function,
        0.0,
        instance=instance,
        tolerance=1e-8,
        solution=z,
    )
