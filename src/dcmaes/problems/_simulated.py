"""Two simulated control problems of the combinatorial Bayesian optimization literature, made deterministic.

Random rates are drawn once per instance and shared by all points (common random numbers): the published
models without the noise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcmaes._validation import FloatArray, check_integer
from dcmaes.problems._problem import Problem, binary_variables, categorical_variables

_LIMIT = 0.1  # fraction of the crop or food that may be affected
_N_SIMULATIONS = 100

# Oh, Tomczak, Gavves, Welling, "Combinatorial Bayesian optimization using the graph Cartesian product"
# (NeurIPS 2019): the four pesticides' price, discount for buying always the same, strength (beta of the
# control rate) and how fast pests get used to it.
_PRICE = np.array([1.0, 0.8, 0.7, 0.5])
_DISCOUNT = np.array([0.2, 0.3, 0.3, 0.0])
_STRENGTH = np.array([2.0, 3.0, 3.0, 5.0]) / 7
_TOLERANCE = np.array([1.0, 2.5, 2.0, 0.5]) / 7


def pest_control(n: int = 25, *, is_frozen: bool = False, instance: int = 0) -> Problem:
    """Choose for each of n stages no pesticide (0) or one of four: price plus share of fields with pests.

    With `is_frozen`, every stage repeats the same draws of numpy's legacy generator with seed `instance`, as
    in the published code of BODi (Deshwal et al., AISTATS 2023) and MCBO (Dreczkowski et al., NeurIPS 2023);
    with 25 stages and seed 0 the best value known is 12.0316.

    >>> pest_control(5)(np.zeros(5)) >= 0
    True
    >>> always_third_then_none = np.array([3.0] * 24 + [0.0])
    >>> round(pest_control(25, is_frozen=True)(always_third_then_none), 4)
    12.0316
    """
    n = check_integer("n", n, low=1)
    if is_frozen:
        start, spread, control = _frozen_rates(n, instance)
    else:
        uniform = np.random.default_rng(instance).random((2 * n + 1, _N_SIMULATIONS))
        start, spread = _beta1(uniform[0], 30.0), _beta1(uniform[1 : n + 1], 17 / 3)

        def control(stage: int, pesticide: int, n_before: int) -> FloatArray:
            return _beta1(uniform[n + 1 + stage], _strength(pesticide, n_before, n))

    def function(x: FloatArray) -> float:
        kind = x.astype(int) - 1
        used = np.bincount(kind[kind >= 0], minlength=4)
        n_before, pests, cost = [0, 0, 0, 0], start, 0.0
        for stage, pesticide in enumerate(kind):
            cost += float((pests > _LIMIT).mean())
            if pesticide < 0:
                pests = pests + spread[stage] * (1 - pests)
                continue
            pests = pests * (1 - control(stage, pesticide, n_before[pesticide]))
            n_before[pesticide] += 1
            cost += _PRICE[pesticide] * (1 - _DISCOUNT[pesticide] * used[pesticide] / n)
        return cost

    is_known = is_frozen and (n, instance) == (25, 0)
    return Problem(
        f"pest control{' frozen' if is_frozen else ''} n={n}",
        categorical_variables(n, 5),
        function,
        None,
        "best of twelve long annealings" if is_known else "unknown",
        12.0316 if is_known else None,
        instance=instance,
    )


def _strength(pesticide: int, n_before: int, n: int) -> float:
    """How strong a pesticide is (the beta of its control rate) after it was used so many times."""
    return float(_STRENGTH[pesticide] + n_before * _TOLERANCE[pesticide] / n)


def _frozen_rates(n: int, seed: int) -> tuple[FloatArray, FloatArray, Callable[[int, int, int], FloatArray]]:
    """Shares of fields with pests at the start, their spread (the same in all stages), and control rates."""

    def draw(b: float) -> FloatArray:
        # the published values are those of this generator
        return np.asarray(np.random.RandomState(seed).beta(1.0, b, _N_SIMULATIONS))

    rates = [[draw(_strength(pesticide, before, n)) for before in range(n)] for pesticide in range(4)]
    return draw(30.0), np.tile(draw(17 / 3), (n, 1)), lambda _, pesticide, before: rates[pesticide][before]


def contamination_control(n: int = 21, *, penalty: float = 0.0, instance: int = 0) -> Problem:
    """Choose at which of n stages of a food chain to prevent contamination: price plus share over the limit.

    The model of Hu, Hu, Xu & Wang (Winter Simulation Conference 2010), parameters of Baptista & Poloczek,
    "Bayesian optimization of combinatorial structures" (ICML 2018); `penalty` is their L1 weight.

    >>> contamination_control(5)(np.ones(5)) >= 5
    True
    """
    n = check_integer("n", n, low=1)
    uniform = np.random.default_rng(instance).random((2 * n + 1, _N_SIMULATIONS))
    start, growth = _beta1(uniform[0], 30.0), _beta1(uniform[1 : n + 1], 17 / 3)
    restored = _beta1(uniform[n + 1 :], 3 / 7)

    def function(x: FloatArray) -> float:
        fraction, cost = start, (1 + penalty) * float(x.sum())
        for stage in range(n):
            if x[stage]:
                fraction = fraction * (1 - restored[stage])
            else:
                fraction = fraction + growth[stage] * (1 - fraction)
            cost += float((fraction > _LIMIT).mean())
        return cost

    return Problem(f"contamination n={n}", binary_variables(n), function, None, "unknown", instance=instance)


def _beta1(uniform: FloatArray, b: float) -> FloatArray:
    """Turn uniforms into Beta(1, b) variables by the inverse distribution function."""
    return np.asarray(1 - (1 - uniform) ** (1 / b))
