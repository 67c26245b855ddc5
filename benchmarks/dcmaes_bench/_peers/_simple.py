"""Optimizers of our own that need no package: the baselines every user could write in an afternoon."""

from __future__ import annotations

import math

import numpy as np

from dcmaes_bench._domain import CATEGORY, FLOAT, Domain, FloatArray
from dcmaes_bench._recorder import Evaluate
from dcmaes_bench._registry import optimizer


@optimizer("random")
def random_search(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Draw every point afresh."""
    rng = np.random.default_rng(seed)
    while True:
        evaluate(domain.sample(rng))


def mutate(domain: Domain, x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Change each variable with probability 1/d, at least one: another state, near ones likelier for numbers.

    Categories jump uniformly; integers step by a symmetric geometric length with a scale drawn between one
    state and the whole range (log-uniform), continuous ones by a normal step with such a scale.
    """
    y = x.copy()
    chosen = rng.random(domain.dimension) < 1 / domain.dimension
    chosen[rng.integers(domain.dimension)] = True
    for i in np.flatnonzero(chosen):
        width = domain.high[i] - domain.low[i]
        if width == 0:
            continue
        if domain.kind[i] == CATEGORY or width == 1:
            jump = 1 + math.floor(rng.random() * width)
            y[i] = domain.low[i] + (x[i] - domain.low[i] + jump) % (width + 1)
        elif domain.kind[i] == FLOAT:
            y[i] = x[i] + width * 10 ** rng.uniform(-6, 0) * rng.normal()
        else:
            scale = math.exp(rng.uniform(0, math.log(width)))
            y[i] = x[i] + rng.choice([-1, 1]) * min(rng.geometric(1 / scale), width)
    return np.clip(y, domain.low, domain.high)


@optimizer("(1+1)-EA")
def one_plus_one(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Keep the best point and mutate it; ties move it."""
    rng = np.random.default_rng(seed)
    x = domain.sample(rng)
    value = evaluate(x)
    while True:
        y = mutate(domain, x, rng)
        if (y == x).all():
            continue
        new = evaluate(y)
        if new <= value:
            x, value = y, new


@optimizer("annealing")
def annealing(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Cool over 50 d evaluations from the spread of 20 random values to a thousandth of it, then restart."""
    rng = np.random.default_rng(seed)
    points = [domain.sample(rng) for _ in range(20)]
    values = [evaluate(point) for point in points]
    x, value = points[int(np.argmin(values))], min(values)
    length = 50 * domain.dimension
    hot = float(np.std(values)) or 1.0
    for k in range(length):
        temperature = hot * 10 ** (-3 * k / length)
        y = x.copy()
        i = int(rng.integers(domain.dimension))
        y[i] = mutate(_single(domain, i), x[i : i + 1], rng)[0]
        if y[i] == x[i]:
            continue
        new = evaluate(y)
        if new <= value or rng.random() < math.exp((value - new) / temperature):
            x, value = y, new


def _single(domain: Domain, i: int) -> Domain:
    cut = slice(i, i + 1)
    return Domain(domain.kind[cut], domain.low[cut], domain.high[cut], domain.log[cut])


@optimizer("UMDA", kinds="ic")
def umda(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Count states in the better half of a population; restart with twice the population when settled."""
    rng = np.random.default_rng(seed)
    d, n_states = domain.dimension, domain.n_states
    population = 50
    while True:
        share = [np.full(n, 1 / n) for n in n_states]
        for _ in range(10 * d):
            draws = np.stack(
                [rng.choice(n, population, p=p) for n, p in zip(n_states, share, strict=True)], axis=1
            )
            values = [evaluate(domain.low + row) for row in draws]
            better = draws[np.argsort(values, kind="stable")[: population // 2]]
            for i, n in enumerate(n_states):
                counts = np.bincount(better[:, i], minlength=n) / len(better)
                floor = 1 / (d * n)  # the usual margin: no state dies out
                share[i] = np.maximum(counts, floor) / np.maximum(counts, floor).sum()
            if min(values) == np.median(values):
                break
        population *= 2
