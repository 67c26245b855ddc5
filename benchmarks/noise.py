"""How good is the point that is recommended under noise, and how much should be evaluated again?

    python benchmarks/noise.py > benchmarks/results/noise.txt

For each problem: the true value (the optimum has 0; mean over seeds and its standard error) of the point that
is recommended, and the true values of the one with the best mean and of the one with the luckiest single
evaluation. First for some strategies, with the library's own share of evaluations that make sure of points
which may be the best; then for `cma` with other shares.
"""

from __future__ import annotations

import numpy as np

import dcmaes as dc
from dcmaes.run import _noise

# The strategies were made with other seeds.
SEEDS = range(100, 140)
BUDGET = 400
STRATEGIES = ("auto", "cma", "random")
SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)


def binary(dimension, seed):
    rng = np.random.default_rng(seed)
    optimum, weights = rng.integers(0, 2, dimension), rng.uniform(0.5, 1.5, dimension)
    return dc.Space.binary(dimension), lambda x: float(weights @ (x != optimum))


def integer(dimension, seed):
    optimum = np.random.default_rng(seed).integers(-8, 9, dimension)
    return dc.Space.integers(dimension, -10, 10), lambda x: float((((x - optimum) / 4) ** 2).sum())


def qubo(dimension, seed):
    """Return a dense quadratic function of bits; its optimum is found by enumeration."""
    matrix = np.triu(np.random.default_rng(seed).uniform(-1, 1, (dimension, dimension)))
    half = dimension // 2
    left, right = (np.indices((2,) * n).reshape(n, -1).T.astype(float) for n in (half, dimension - half))
    within = [
        ((x @ m) * x).sum(axis=1) for x, m in ((left, matrix[:half, :half]), (right, matrix[half:, half:]))
    ]
    lowest = (within[0][:, None] + within[1] + left @ matrix[:half, half:] @ right.T).min()
    return dc.Space.binary(dimension), lambda x: float(x @ matrix @ x - lowest)


def mixed(dimension, seed):
    """Return three choices of four, three integers and two floats, the last of each depending on another."""
    rng = np.random.default_rng(seed)
    best, number, real = rng.integers(0, 4, 3), rng.integers(2, 19, 3), rng.uniform(-0.8, 0.8, 2)
    space = dc.Space(
        {f"choice{i}": dc.Categorical(list("abcd")) for i in range(3)}
        | {f"number{i}": dc.Integer(0, 20) for i in range(3)}
        | {f"real{i}": dc.Float(-1.0, 1.0) for i in range(2)}
    )

    def true(point):
        wrong = [point[f"choice{i}"] != "abcd"[best[i]] for i in range(3)]
        n = np.array([point[f"number{i}"] - number[i] for i in range(3)]) / 5
        z = np.array([point[f"real{i}"] - real[i] for i in range(2)]) / 0.5
        return float(sum(wrong) + wrong[0] * wrong[1] + n @ n + n[1] * n[2] + z @ z + z[0] * z[1])

    return space, true


PROBLEMS = {
    "20 binary, deviation 2": (binary, 20, 2.0),
    "10 binary, deviation 2.5": (binary, 10, 2.5),
    "6 integers, deviation 3": (integer, 6, 3.0),
    "6 integers, deviation 0.5": (integer, 6, 0.5),
    "20-bit QUBO, deviation 2": (qubo, 20, 2.0),
    "8 mixed, deviation 1": (mixed, 8, 1.0),
}


def run(make, dimension, deviation, strategy, seed):
    """Return the true value of the recommended point, of the best mean, and of the luckiest evaluation."""
    space, true = make(dimension, seed)
    rng = np.random.default_rng(seed + 10_000)
    opt = dc.Optimizer(space, budget=BUDGET, seed=seed, strategy=strategy, duplicates="reevaluate")
    while opt.should_stop() is None:
        trials = opt.ask()
        opt.tell(trials, [true(trial.point) + deviation * rng.normal() for trial in trials])
    points, values = opt.history.points, opt.history.values
    coded = np.array([space.encode(point) for point in points])
    _, first, group = np.unique(coded, axis=0, return_index=True, return_inverse=True)
    means = np.bincount(group.ravel(), values) / np.bincount(group.ravel())
    return true(opt.result().x), true(points[first[np.argmin(means)]]), true(points[np.argmin(values)])


def row(problem, strategy):
    """Return the figures of one row as text."""
    regret = np.array([run(*problem, strategy, seed) for seed in SEEDS])
    mean, error = regret.mean(axis=0), regret[:, 0].std(ddof=1) / np.sqrt(len(SEEDS))
    return f"{mean[0]:11.2f} ±{error:.2f}  {mean[1]:9.2f}  {mean[2]:8.2f}"


def main() -> None:
    print(f"{'problem':<26} {'strategy':<8} {'share':>5}  recommended        best mean  luckiest")
    usual = _noise.AGAIN_SHARE
    for name, problem in PROBLEMS.items():
        for strategy in STRATEGIES:
            print(f"{name:<26} {strategy:<8} {usual:5.2f}  {row(problem, strategy)}", flush=True)
    for name, problem in PROBLEMS.items():
        for share in SHARES:
            _noise.AGAIN_SHARE = share
            print(f"{name:<26} {'cma':<8} {share:5.2f}  {row(problem, 'cma')}", flush=True)


if __name__ == "__main__":
    main()
