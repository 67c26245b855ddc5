"""What the `ising` strategy reaches, within how many evaluations, on fixed seeds."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import IsingSearch
from dcmaes.strategies.gaussian_process import GaussianProcess

SEEDS = range(3)


def run(function, space, budget, seed, target=0.0):
    return dc.minimize(function, space, budget=budget, seed=seed, strategy=IsingSearch(), target=target)


def hidden(seed, n, low=0, high=1):
    return np.random.default_rng(seed).integers(low, high + 1, n)


@pytest.mark.parametrize("seed", SEEDS)
def test_onemax(seed):
    z = hidden(seed, 64)
    result = run(lambda x: float((np.asarray(x) != z).sum()), dc.Space.binary(64), 80, seed)
    assert result.fun == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_functions(seed):
    z, w = hidden(seed, 64), np.random.default_rng(seed).permutation(64) + 1.0
    result = run(lambda x: float(w @ (np.asarray(x) != z)), dc.Space.binary(64), 160, seed)
    assert result.fun == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_sixteen_points_out_at_a_time_cost_few_more(seed):
    z, rng = hidden(seed, 64), np.random.default_rng(seed)
    optimizer = dc.Optimizer(dc.Space.binary(64), budget=160, seed=seed, strategy="ising")
    out, best = list(optimizer.ask(16)), 64
    while best and out:
        trial = out.pop(int(rng.integers(len(out))))
        wrong = int((np.asarray(trial.point) != z).sum())
        optimizer.tell(trial, wrong)
        best = min(best, wrong)
        out += optimizer.ask(1) if optimizer.should_stop() is None else []
    assert best == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_an_outlier_of_1e30_does_not_blind_it(seed):
    z = hidden(seed, 40)

    def function(x):
        wrong = np.asarray(x) != z
        return 1e30 if wrong[0] and wrong[1] else float(wrong.sum())

    assert run(function, dc.Space.binary(40), 120, seed).fun == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_moderate_noise(seed):
    z, rng = hidden(seed, 30), np.random.default_rng(seed)
    result = run(
        lambda x: float((np.asarray(x) != z).sum() + 0.5 * rng.normal()), dc.Space.binary(30), 200, seed, -99
    )
    assert (np.asarray(result.x) != z).sum() <= 2


@pytest.mark.parametrize("seed", SEEDS)
def test_categories(seed):
    z = hidden(seed, 20, 0, 4)
    space = dc.Space({f"v{i}": dc.Categorical(list(range(5))) for i in range(20)})
    result = run(lambda p: float((np.array(list(p.values())) != z).sum()), space, 100, seed)
    assert result.fun == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_ill_conditioned_integers(seed):
    z, c = hidden(seed, 20, -49, 49), 10 ** (4 * np.arange(20) / 19)
    result = run(lambda x: float(c @ (np.asarray(x) - z) ** 2), dc.Space.integers(20, -50, 50), 600, seed)
    assert result.fun == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_rotated_integers(seed):
    rng = np.random.default_rng(seed)
    q, z = np.linalg.qr(rng.normal(size=(10, 10)))[0], hidden(seed, 10, 1, 9)
    c = 10 ** (3 * np.arange(10) / 9)
    result = run(lambda x: float(c @ (q @ (np.asarray(x) - z)) ** 2), dc.Space.integers(10, 0, 10), 400, seed)
    assert result.fun == 0.0


def test_precision_of_continuous_variables():
    space, reached = dc.Space.array([dc.Float(-5.0, 5.0)] * 5), []
    for seed in range(10):
        z = np.random.default_rng(seed).uniform(-4, 4, 5)
        reached.append(
            run(lambda x, z=z: float(((np.asarray(x) - z) ** 2).sum()), space, 200, seed, 1e-10).fun
        )
    assert sum(value <= 1e-10 for value in reached) >= 8
    assert max(reached) <= 1e-7


@cache
def planted_graph(seed, strategy):
    """The edges of a planted graph, and the interactions that a search for its minimum has found."""
    n, rng = 16, np.random.default_rng(seed)
    sites = rng.permutation(n).tolist()
    edges = {tuple(sorted(pair)) for pair in pairwise(sites[:11])}
    field = rng.normal(size=n)

    def function(x):
        return float(field @ x + sum(2.0 * (x[i] != x[j]) for i, j in edges))

    result = dc.minimize(function, dc.Space.binary(n), budget=400, seed=seed, strategy=strategy)
    return edges, result.interactions()


def pairs_of(found):
    return {tuple(sorted((int(pair.first), int(pair.second)))) for pair in found}


def share_recovered(seed, strategy):
    """The share of a planted graph's edges among as many pairs of the strongest interactions."""
    edges, found = planted_graph(seed, strategy)
    return len(pairs_of(found[: len(edges)]) & edges) / len(edges)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "cma"])
def test_the_planted_graph_is_beyond_doubt(strategy):
    """In at least 4 of 5 runs exactly its edges are certain; in none more than two pairs are wrong."""
    n_exact = 0
    for seed in range(5):
        edges, found = planted_graph(seed, strategy)
        certain = pairs_of(pair for pair in found if pair.is_certain)
        assert len(certain ^ edges) <= 2
        n_exact += certain == edges
    assert n_exact >= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_interactions_recover_a_planted_graph(seed):
    assert share_recovered(seed, "auto") == 1.0


def test_interactions_of_the_model_alone_recover_nearly_all_of_it():
    shares = [share_recovered(seed, "ising") for seed in range(10)]
    assert np.mean(shares) > 0.95
    assert min(shares) > 0.8


def test_a_thousand_variables_are_usable():
    z = hidden(0, 1000)
    result = run(lambda x: float((np.asarray(x) != z).sum()), dc.Space.binary(1000), 60, 0)
    assert result.nfev == 60
    assert result.fun < 460.0


def test_the_optimum_is_recommended_in_spite_of_noise():
    """Noise as large as two bits: at least 10 of 12 runs recommend a point with at most one bit wrong."""
    n_near = 0
    for seed in range(12):
        z, rng = hidden(seed, 20), np.random.default_rng(seed + 500)
        result = dc.minimize(
            lambda x, z=z, rng=rng: float((np.asarray(x) != z).sum() + 2 * rng.normal()),
            dc.Space.binary(20),
            budget=300,
            seed=seed,
            duplicates="reevaluate",
        )
        n_near += (np.asarray(result.x) != z).sum() <= 1
    assert n_near >= 10


def valleys(point):
    """Return Branin's function, three valleys of depth 0, at one of three scales and levels."""
    x, y = point["x"], point["y"] / 4
    ridge = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    value = ridge**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10 - 0.397887
    scale, level = {"a": (1.0, 0.0), "b": (1.5, 1.0), "c": (0.7, 2.0)}[point["kind"]]
    return scale * value + level


def test_sixty_evaluations_of_a_function_that_is_no_quadratic(monkeypatch):
    space = dc.Space({"kind": dc.Categorical(["a", "b", "c"]), "x": dc.Float(-5, 10), "y": dc.Integer(0, 60)})

    def n_solved():
        """Return how many of 20 seeds come near one of the valleys."""
        return sum(dc.minimize(valleys, space, budget=60, seed=seed).fun < 0.1 for seed in range(20))

    assert n_solved() >= 18
    # Without the Gaussian process, quadratics and a population get there less often.
    monkeypatch.setattr(GaussianProcess, "is_useful", lambda self, memory: False)
    assert n_solved() <= 14
