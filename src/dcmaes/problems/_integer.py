"""Integer test functions, shifted per instance: the optimum is drawn from the inside of the range."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._problem import Problem, integer_variables


def sphere(dimension: int = 10, low: int = 0, high: int = 10, *, instance: int = 0) -> Problem:
    """Squared distance to a hidden integer point.

    >>> sphere(3)(sphere(3).solution)
    0.0
    """
    z, _ = _shift(dimension, low, high, instance)
    return _problem("sphere", lambda x: ((x - z) ** 2).sum(), z, low, high, instance)


def ellipsoid(
    dimension: int = 10, low: int = 0, high: int = 10, *, condition: float = 1e3, instance: int = 0
) -> Problem:
    """Squared distance with weights from 1 to `condition` along the axes.

    >>> problem = ellipsoid(2, condition=100.0)
    >>> problem(problem.solution + [1, 0]), problem(problem.solution + [0, 1])
    (1.0, 100.0)
    """
    z, _ = _shift(dimension, low, high, instance)
    scale = _scales(dimension, condition)
    return _problem(
        f"ellipsoid {condition:.0e}", lambda x: ((scale * (x - z)) ** 2).sum(), z, low, high, instance
    )


def rotated_ellipsoid(
    dimension: int = 10, low: int = 0, high: int = 10, *, condition: float = 1e3, instance: int = 0
) -> Problem:
    """The ellipsoid in randomly rotated axes: every pair of variables interacts.

    >>> rotated_ellipsoid(3)(rotated_ellipsoid(3).solution)
    0.0
    """
    z, rng = _shift(dimension, low, high, instance)
    scaled = _scales(dimension, condition)[:, None] * _rotation(dimension, rng)

    def function(x: FloatArray) -> float:
        y = scaled @ (x - z)
        return float(y @ y)

    return _problem(f"rotated ellipsoid {condition:.0e}", function, z, low, high, instance)


def rosenbrock(dimension: int = 10, low: int = 0, high: int = 10, *, instance: int = 0) -> Problem:
    """Rosenbrock's curved valley, rotated, with its optimum moved to a hidden integer point.

    The range is mapped onto a width of 4, the usual domain of the continuous function.

    >>> rosenbrock(3)(rosenbrock(3).solution)
    0.0
    """
    z, rng = _shift(dimension, low, high, instance)
    scaled = _rotation(dimension, rng) * 4 / (high - low)

    def function(x: FloatArray) -> float:
        y = 1 + scaled @ (x - z)
        return float((100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2).sum())

    return _problem("rotated rosenbrock", function, z, low, high, instance)


def rastrigin(dimension: int = 10, low: int = 0, high: int = 10, *, instance: int = 0) -> Problem:
    """Sphere plus a cosine of period 4: a local optimum in every fourth state of each variable.

    >>> problem = rastrigin(1)
    >>> round(problem(problem.solution + 1), 12), round(problem(problem.solution + 4), 12)
    (11.0, 16.0)
    """
    z, _ = _shift(dimension, low, high, instance)

    def function(x: FloatArray) -> float:
        y = x - z
        return float((y * y + 10 * (1 - np.cos(np.pi * y / 2))).sum())

    return _problem("rastrigin", function, z, low, high, instance)


def closest_vector(dimension: int = 10, low: int = 0, high: int = 10, *, instance: int = 0) -> Problem:
    """Squared distance from a lattice vector Bx to a target, B with standard normal entries.

    The target is Bz + e with 0.4 times the smallest singular value of B as the length of e: since every other
    lattice vector is at least that singular value away from Bz, the optimum is the squared length of e, at z.

    >>> problem = closest_vector(3)
    >>> abs(problem(problem.solution) - problem.optimum) < 1e-12
    True
    """
    z, rng = _shift(dimension, low, high, instance)
    basis = rng.normal(size=(dimension, dimension))
    error = rng.normal(size=dimension)
    error *= 0.4 * np.linalg.svd(basis, compute_uv=False)[-1] / np.linalg.norm(error)

    def function(x: FloatArray) -> float:
        y = basis @ (x - z) - error
        return float(y @ y)

    return _problem("closest vector", function, z, low, high, instance, optimum=float(error @ error))


def step(dimension: int = 10, low: int = 0, high: int = 10, *, instance: int = 0) -> Problem:
    """An ellipsoid (condition 100) of level terraces, a twentieth of the range wide and at least 2.

    >>> problem = step(2)
    >>> problem(problem.solution + 1), problem(problem.solution + 2)
    (0.0, 101.0)
    """
    z, _ = _shift(dimension, low, high, instance)
    scale, width = _scales(dimension, 100.0), max(2, (high - low) // 20)

    def function(x: FloatArray) -> float:
        return float(((scale * np.floor(np.abs(x - z) / width)) ** 2).sum())

    return _problem("step", function, z, low, high, instance)


def _shift(dimension: int, low: int, high: int, instance: int) -> tuple[IntArray, np.random.Generator]:
    """The hidden optimum, strictly inside the range, and the generator for the rest of the instance."""
    check_integer("dimension", dimension, low=1)
    check_integer("low", low)
    check_integer("high", high, low=low + 1)
    rng = np.random.default_rng(check_integer("instance", instance, low=0))
    z = rng.integers(low + 1, high, dimension) if high - low > 1 else rng.integers(low, high + 1, dimension)
    return z, rng


def _scales(dimension: int, condition: float) -> FloatArray:
    exponent = np.arange(dimension) / max(dimension - 1, 1)
    return 10 ** (math.log10(check_number("condition", condition, low=1.0)) / 2 * exponent)


def _rotation(dimension: int, rng: np.random.Generator) -> FloatArray:
    return np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]


def _problem(
    name: str,
    function: Callable[[FloatArray], float],
    z: IntArray,
    low: int,
    high: int,
    instance: int,
    optimum: float = 0.0,
) -> Problem:
    return Problem(
        f"{name} d={len(z)} {low}..{high}",
        integer_variables(len(z), low, high),
        function,
        optimum,
        instance=instance,
        solution=z.astype(np.float64),
    )
