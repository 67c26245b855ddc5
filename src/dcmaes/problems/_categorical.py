"""Categorical test functions: the vector holds indices of choices, whose order means nothing.

At the end two simulated control problems of the combinatorial Bayesian optimization literature, whose stages
are choices, made deterministic. Random rates are drawn once per instance and shared by all points (common
random numbers): the published models without the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._numeric import ackley
from dcmaes.problems._problem import Pair, Problem, binary_variables, categorical_variables, pairs_of

_LIMIT = 0.1  # fraction of the crop or food that may be affected
_N_SIMULATIONS = 100

# Oh, Tomczak, Gavves, Welling, "Combinatorial Bayesian optimization using the graph Cartesian product"
# (NeurIPS 2019): the four pesticides' price, discount for buying always the same, strength (beta of the
# control rate) and how fast pests get used to it.
_PRICE = np.array([1.0, 0.8, 0.7, 0.5])
_DISCOUNT = np.array([0.2, 0.3, 0.3, 0.0])
_STRENGTH = np.array([2.0, 3.0, 3.0, 5.0]) / 7
_TOLERANCE = np.array([1.0, 2.5, 2.0, 0.5]) / 7


def categorical_onemax(n: int = 20, k: int = 5, *, instance: int = 0) -> Problem:
    """Count the variables that differ from a hidden string over k choices.

    >>> categorical_onemax(4, 3)(categorical_onemax(4, 3).solution)
    0.0
    """
    z, _ = _hidden(n, k, instance)
    return _problem(f"categorical onemax {n}x{k}", k, lambda x: (x != z).sum(), z, instance)


def categorical_leadingones(n: int = 15, k: int = 4, *, instance: int = 0) -> Problem:
    """Count the variables from the first wrong one on, in a hidden order.

    >>> categorical_leadingones(4, 3)(categorical_leadingones(4, 3).solution)
    0.0
    """
    z, rng = _hidden(n, k, instance)
    order = rng.permutation(n)
    return _problem(
        f"categorical leadingones {n}x{k}", k, lambda x: n - np.cumprod((x == z)[order]).sum(), z, instance
    )


def matching_pairs(n: int = 20, k: int = 4, *, preferred: bool = False, instance: int = 0) -> Problem:
    """Count the hidden pairs of variables that do not match, by a hidden bijection of their choices.

    No single variable tells anything, only the two of a pair together. With `preferred`, one match of each
    pair costs 0, the others 1 and a mismatch 2, so a pair in the wrong match has to move as one.

    >>> problem = matching_pairs(4, 3)
    >>> problem(problem.solution), len(problem.interactions)
    (0.0, 2)
    """
    if n % 2:
        raise ValueError(f"n must be even, got {n}")
    z, rng = _hidden(n, k, instance)
    first, second = rng.permutation(n).reshape(2, -1)
    bijection = np.array([rng.permutation(k) for _ in range(n // 2)])
    z[second] = bijection[np.arange(n // 2), z[first]]
    rows = np.arange(n // 2)

    def function(x: FloatArray) -> float:
        mismatch = bijection[rows, x[first].astype(int)] != x[second]
        if not preferred:
            return float(mismatch.sum())
        return float((np.where(mismatch, 2, x[first] != z[first])).sum())

    name = "preferred pairs" if preferred else "matching pairs"
    return _problem(f"{name} {n}x{k}", k, function, z, instance, pairs_of(first, second))


def graph_colouring(n: int = 40, k: int = 3, degree: float = 4.0, *, instance: int = 0) -> Problem:
    """Count the edges whose ends have one colour, in a random graph that a hidden colouring makes colourable.

    >>> graph_colouring(10)(graph_colouring(10).solution)
    0.0
    """
    z, rng = _hidden(n, k, instance)
    check_number("degree", degree, low=0.0)
    first, second = np.triu_indices(n, 1)
    allowed = np.flatnonzero(z[first] != z[second])
    chosen = np.sort(rng.choice(allowed, min(round(degree * n / 2), len(allowed)), replace=False))
    first, second = first[chosen], second[chosen]

    def function(x: FloatArray) -> float:
        return float((x[first] == x[second]).sum())

    return _problem(f"graph colouring {n}x{k}", k, function, z, instance, pairs_of(first, second))


def categorical_ackley(n: int = 20, k: int = 11, *, instance: int = 0) -> Problem:
    """Ackley's function of n numbers out of k levels from -32.768 to 32.768, the levels in a hidden order.

    With 20 variables of 11 choices, a problem of Dreczkowski, Grosnit & Bou Ammar, "Framework and benchmarks
    for combinatorial and mixed-variable Bayesian optimization" (NeurIPS 2023). An odd k has 0 among its
    choices.

    >>> abs(categorical_ackley(3, 5)(categorical_ackley(3, 5).solution)) < 1e-12
    True
    """
    check_integer("k", k, low=3)
    if k % 2 == 0:
        raise ValueError(f"k must be odd, got {k}")
    _, rng = _hidden(n, k, instance)
    level = np.linspace(-32.768, 32.768, k)
    level[k // 2] = 0.0
    order = np.array([rng.permutation(k) for _ in range(n)])
    rows = np.arange(n)
    z = np.argmax(order == k // 2, axis=1)
    return _problem(
        f"categorical ackley {n}x{k}", k, lambda x: ackley(level[order[rows, x.astype(int)]]), z, instance
    )


def ehrlich(
    length: int = 15,
    n_motifs: int = 2,
    motif_length: int = 5,
    n_letters: int = 20,
    *,
    quantization: int | None = None,
    n_starts: int = 10,
    instance: int = 0,
) -> Problem:
    """Find a string with all hidden motifs and their gaps, in which not every letter may follow every other.

    The Ehrlich functions of Stanton, Alberstein, Frey, Watkins & Cho, "Closed-form test functions for
    biophysical sequence optimization algorithms" (2024). A random transition matrix with zeros says which
    letter may follow which; every letter may follow itself. Its random walks are the motifs, and `starts`.
    A motif counts by the share of its letters that are in their places, wherever in the string that share is
    largest, rounded down to one of `quantization` steps. The value is minus the product over all motifs: -1
    at the optimum, infinite (a failure) for a string in which a letter follows one that it may not follow.

    Parameters
    ----------
    length : int
        Number of letters of a string, at least `n_motifs` times `motif_length`.
    n_motifs, motif_length, n_letters : int
        Number of motifs, letters of each, letters of the alphabet.
    quantization : int, optional
        Steps from 0 to a complete motif, a divisor of `motif_length`, which it is if not given.
    n_starts : int
        Number of feasible strings that come with the problem.
    instance : int
        Seed of the instance.

    Examples
    --------
    >>> problem = ehrlich(8, 2, 3, 4)
    >>> problem(problem.solution), problem.starts.shape
    (-1.0, (10, 8))
    """
    check_integer("motif_length", motif_length, low=2)
    check_integer("n_motifs", n_motifs, low=1)
    check_integer("length", length, low=n_motifs * motif_length)
    check_integer("n_letters", n_letters, low=2)
    grain, rest = divmod(motif_length, check_integer("quantization", quantization or motif_length, low=1))
    if rest:
        raise ValueError(f"quantization must divide motif_length, got {quantization} and {motif_length}")
    rng = np.random.default_rng(check_integer("instance", instance, low=0))
    transition = _transitions(n_letters, rng)
    motifs = _walk(transition, n_motifs * motif_length, rng).reshape(n_motifs, motif_length)
    # Whole gaps that fit into the motif's share of the string, split by chance among its letters.
    slack = (length - motifs.size) // n_motifs
    shares = rng.random((n_motifs, motif_length - 1))
    gaps = 1 + np.floor(slack * shares / shares.sum(axis=1, keepdims=True)).astype(np.int64)
    offsets = np.cumsum(np.pad(gaps, ((0, 0), (1, 0))), axis=1)
    windows = [np.arange(length - offset[-1])[:, None] + offset for offset in offsets]

    def function(x: FloatArray) -> float:
        letters = x.astype(np.int64)
        if not transition[letters[:-1], letters[1:]].all():
            return math.inf
        present = [(letters[w] == m).sum(axis=1).max() for w, m in zip(windows, motifs, strict=True)]
        return -math.prod(int(count) // grain * grain / motif_length for count in present)

    z = np.concatenate([np.repeat(m, np.append(g, 1)) for m, g in zip(motifs, gaps, strict=True)])
    return Problem(
        f"ehrlich {length}, {n_motifs} of {motif_length}, {n_letters} letters",
        categorical_variables(length, n_letters),
        function,
        -1.0,
        instance=instance,
        solution=np.pad(z, (0, length - len(z)), mode="edge"),
        starts=np.array([_walk(transition, length, rng) for _ in range(n_starts)]).reshape(-1, length),
    )


def _transitions(n: int, rng: np.random.Generator) -> FloatArray:
    """Probabilities of each letter after each: some zero, none on the diagonal, all letters in reach."""
    near = np.abs(np.arange(n)[:, None] - np.arange(n))
    band = np.minimum(near, n - near) <= int(0.4 * n)
    while True:
        weight = np.exp(2 * rng.normal(size=(n, n)))
        weight *= band[rng.permutation(n)] | np.eye(n, dtype=bool)
        if (np.linalg.matrix_power((weight > 0).astype(np.float64), n) > 0).all():
            return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _walk(transition: FloatArray, length: int, rng: np.random.Generator) -> IntArray:
    """A random walk over the letters, shape (length,)."""
    letters = [int(rng.integers(len(transition)))]
    while len(letters) < length:
        letters.append(int(rng.choice(len(transition), p=transition[letters[-1]])))
    return np.array(letters)


def _hidden(n: int, k: int, instance: int) -> tuple[IntArray, np.random.Generator]:
    check_integer("n", n, low=1)
    check_integer("k", k, low=2)
    rng = np.random.default_rng(check_integer("instance", instance, low=0))
    return rng.integers(0, k, n), rng


def _problem(
    name: str,
    k: int,
    function: Callable[[FloatArray], float],
    z: IntArray,
    instance: int,
    interactions: tuple[Pair, ...] | None = None,
) -> Problem:
    return Problem(
        name,
        categorical_variables(len(z), k),
        function,
        0.0,
        instance=instance,
        solution=z.astype(np.float64),
        interactions=interactions,
    )


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
