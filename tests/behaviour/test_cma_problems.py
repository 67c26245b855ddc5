"""What `cma` solves, within which budget, on how many of some fixed seeds."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies.cma import Cma


def n_solved(objective, space, budget, target, seeds, **options):
    """Return how many seeds reach the target within the budget."""
    return sum(
        dc.minimize(objective, space, budget=budget, seed=seed, strategy=Cma(**options), target=target).fun
        <= target
        for seed in seeds
    )


def shifted(d, low, high, seed=0):
    return np.random.default_rng(seed).integers(low + 1, high, d)


@pytest.mark.parametrize(("low", "high", "budget"), [(0, 10, 400), (-50, 50, 700), (0, 1000, 1000)])
def test_integer_sphere(low, high, budget):
    z = shifted(10, low, high)
    space = dc.Space.integers(10, low, high)
    assert n_solved(lambda x: float(((x - z) ** 2).sum()), space, budget, 0.0, range(5)) == 5


def test_integer_ellipsoid():
    z, factors = shifted(10, -50, 50), 10 ** np.linspace(0, 4, 10)
    space = dc.Space.integers(10, -50, 50)
    assert n_solved(lambda x: float((factors * (x - z) ** 2).sum()), space, 1200, 0.0, range(5)) == 5


def test_integer_rastrigin():
    z = shifted(10, -50, 50)

    def rastrigin(x):
        return float(((x - z) ** 2 + 10 * (1 - np.cos(np.pi * (x - z) / 2))).sum())

    assert n_solved(rastrigin, dc.Space.integers(10, -50, 50), 3000, 1e-9, range(5)) >= 4


def test_leading_ones():
    z = np.random.default_rng(1).integers(0, 2, 30)
    space = dc.Space.binary(30)
    assert n_solved(lambda x: 30 - int(np.cumprod(x == z).sum()), space, 2000, 0, range(4)) == 4


def test_mixed_problem_converges_in_its_continuous_part():
    # Jumps of the frozen integers must not keep the step size of the continuous sites up.
    variables = [dc.Integer(-10, 10)] * 5 + [dc.Float(-10, 10)] * 5
    z = np.concatenate([shifted(5, -10, 10), np.random.default_rng(2).uniform(-8, 8, 5)])
    factors = 10 ** np.linspace(0, 3, 10)[np.random.default_rng(3).permutation(10)]
    space = dc.Space.array(variables)
    assert n_solved(lambda x: float((factors * (x - z) ** 2).sum()), space, 2500, 1e-8, range(4)) == 4


def test_a_start_is_used():
    z = shifted(10, 0, 1000)
    space = dc.Space.integers(10, 0, 1000)

    def objective(x):
        return float(((x - z) ** 2).sum())

    near = np.clip(z + np.random.default_rng(0).integers(-30, 31, 10), 0, 1000)
    n_near, n_far = (
        dc.minimize(objective, space, budget=3000, seed=0, strategy=Cma(), target=0, x0=x0).nfev
        for x0 in (near, None)
    )
    assert n_near < n_far


# Interactions planted by the objective come out strongest.


def strongest(objective, space, budget, seed, n, **options):
    result = dc.minimize(objective, space, budget=budget, seed=seed, strategy=Cma(restarts=None, **options))
    return {frozenset((pair.first, pair.second)) for pair in list(result.interactions())[:n]}


def test_a_binary_and_an_integer_variable_that_interact_are_found():
    space = dc.Space(
        {f"x{k}": dc.Integer(0, 20) for k in range(4)}
        | {"y": dc.Integer(0, 20), "b": dc.Binary()}
        | {f"e{k}": dc.Binary() for k in range(4)}
    )

    def objective(p):
        separate = sum((p[f"x{k}"] - 7) ** 2 + 2 * p[f"e{k}"] for k in range(4))
        return separate + 3 * (p["y"] - 4 - 12 * p["b"]) ** 2

    found = [strongest(objective, space, 150, seed, 1) for seed in range(5)]
    assert sum(pairs == {frozenset("yb")} for pairs in found) >= 4


def test_pairs_of_categorical_variables_that_must_match_are_found():
    space = dc.Space({f"c{k}": dc.Categorical(["r", "g", "b"]) for k in range(6)})
    planted = [("c0", "c1"), ("c2", "c3"), ("c4", "c5")]

    def objective(p):
        return sum(p[a] != p[b] for a, b in planted)

    found = [strongest(objective, space, 120, seed, 3, population_size=40) for seed in range(5)]
    assert sum(pairs == {frozenset(pair) for pair in planted} for pairs in found) >= 4


def test_a_categorical_and_a_continuous_variable_that_interact_are_found():
    space = dc.Space(
        {"kind": dc.Categorical(["a", "b", "c"]), "other": dc.Categorical(["u", "v"])}
        | {f"z{k}": dc.Float(-5, 5) for k in range(5)}
    )
    best = {"a": -3.0, "b": 0.0, "c": 3.0}

    def objective(p):
        separate = sum((p[f"z{k}"] - 1) ** 2 for k in (0, 1, 3, 4)) + (p["other"] == "u")
        return separate + 4 * (p["z2"] - best[p["kind"]]) ** 2

    found = [strongest(objective, space, 300, seed, 1, population_size=60) for seed in range(5)]
    assert sum(pairs == {frozenset(("kind", "z2"))} for pairs in found) >= 4


# With continuous variables only, the cmaes package is the yardstick.

SEEDS = range(3)


def continuous(name, d):
    factors = 10 ** np.linspace(0, 6, d)
    return {
        "sphere": lambda x: float(((x - 0.7) ** 2).sum()),
        "ellipsoid": lambda x: float((factors * (x - 0.7) ** 2).sum()),
        "rosenbrock": lambda x: float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()),
    }[name]


def evaluations_of_cmaes(objective, d, budget, seed):
    cmaes = pytest.importorskip("cmaes")
    optimizer = cmaes.CMA(mean=np.zeros(d), sigma=2.5, seed=seed)
    for n in range(1, budget):
        told = []
        for _ in range(optimizer.population_size):
            x = optimizer.ask()
            told.append((x, objective(x)))
        if min(value for _, value in told) <= 1e-8:
            return n * optimizer.population_size
        optimizer.tell(told)
    return np.inf


@pytest.mark.parametrize("name", ["sphere", "ellipsoid", "rosenbrock"])
def test_continuous_problems_take_no_more_evaluations_than_the_cmaes_package(name):
    d, budget = 10, 12_000
    objective, space = continuous(name, d), dc.Space.array([dc.Float(-5, 5)] * d)
    ours = []
    for seed in SEEDS:
        result = dc.minimize(objective, space, budget=budget, seed=seed, strategy=Cma(), target=1e-8)
        assert result.fun <= 1e-8
        ours.append(result.nfev)
    theirs = [evaluations_of_cmaes(objective, d, budget, seed + 1) for seed in SEEDS]
    assert np.median(ours) <= 1.1 * np.median(theirs)
