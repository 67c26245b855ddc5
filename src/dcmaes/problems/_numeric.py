"""Test functions of integers, and of integers, bits or categories with continuous variables after them.

They are shifted per instance: the optimum is drawn from the inside of the range.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._problem import (
    Problem,
    binary_variables,
    categorical_variables,
    float_variables,
    integer_variables,
)


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


def mixed_ackley(n_bits: int = 50, n_floats: int = 3, *, is_moved: bool = True, instance: int = 0) -> Problem:
    """Ackley's function of the distance to hidden bits and a hidden point in [-1, 1]; solved at 1e-8.

    With 50 bits and 3 floats this is the Ackley53 of Wan et al., "Think global and act local" (ICML 2021),
    with its optimum moved away from zero; without `is_moved`, as they have it.

    >>> abs(mixed_ackley(6, 2)(mixed_ackley(6, 2).solution)) < 1e-12
    True
    """
    n_bits, n_floats = check_integer("n_bits", n_bits, low=1), check_integer("n_floats", n_floats, low=1)
    rng = np.random.default_rng(instance)
    z = np.concatenate([rng.integers(0, 2, n_bits), rng.uniform(-0.8, 0.8, n_floats)]) * is_moved
    return Problem(
        f"mixed ackley {n_bits}+{n_floats}{'' if is_moved else ', optimum at zero'}",
        binary_variables(n_bits) + float_variables(n_floats, -1.0, 1.0),
        lambda x: ackley(x - z),
        0.0,
        instance=instance,
        tolerance=1e-8,
        solution=z,
    )


def ackley(x: FloatArray) -> float:
    """Ackley's function with its usual constants: ripples on a funnel, 0 at the origin."""
    near = np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return float(20 - 20 * near + np.e - np.exp(np.mean(np.cos(2 * np.pi * x))))


def _rosenbrock(u: FloatArray) -> float:
    return float(100 * (u[1] - u[0] ** 2) ** 2 + (1 - u[0]) ** 2) / 300


def _six_hump_camel(u: FloatArray) -> float:
    a, b = 2 * u[0], u[1]
    return float((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2) / 10


def _beale(u: FloatArray) -> float:
    a, b = 2 * u[0], 2 * u[1]
    terms = (1.5 - a + a * b, 2.25 - a + a * b**2, 2.625 - a + a * b**3)
    return float(sum(term**2 for term in terms)) / 50


_CHOICES: tuple[Callable[[FloatArray], float], ...] = (_rosenbrock, _six_hump_camel, _beale)


def chosen_functions(n_choices: tuple[int, ...] = (3, 5), *, instance: int = 0) -> Problem:
    """Sum of functions of two continuous variables, each chosen by a category among several.

    After Func2C and Func3C of Ru et al., "Bayesian optimisation over multiple continuous and categorical
    inputs" (ICML 2020); here each choice moves and weighs its function by chance. The optimum is unknown.

    >>> problem = chosen_functions((3, 5))
    >>> [spec["type"] for spec in problem.variables]
    ['categorical', 'categorical', 'float', 'float']
    """
    rng = np.random.default_rng(instance)
    which = [rng.permutation(n) % len(_CHOICES) for n in n_choices]
    shifts = [rng.uniform(-0.6, 0.6, (n, 2)) for n in n_choices]
    weights = [rng.uniform(0.5, 2.0, n) for n in n_choices]

    def function(x: FloatArray) -> float:
        point, total = x[-2:], 0.0
        for k, choice in enumerate(x[:-2].astype(int)):
            total += weights[k][choice] * _CHOICES[which[k][choice]](point - shifts[k][choice])
        return total

    categories = tuple(spec for n in n_choices for spec in categorical_variables(1, n))
    return Problem(
        f"chosen functions {'x'.join(map(str, n_choices))}",
        categories + float_variables(2, -1.0, 1.0),
        function,
        None,
        "unknown",
        instance=instance,
    )


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
