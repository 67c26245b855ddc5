"""Speed of the distributions: points sampled per second, and the transforms between parameters and tables.

Every figure is the best of several runs, one thread (set OMP_NUM_THREADS=1), with numpy's multivariate normal
of the same dimension beside it as a yardstick. Laws are built before the clock starts; the first draw, which
makes tables, is not counted.

Run: OMP_NUM_THREADS=1 python benchmarks/distributions.py > benchmarks/results/distributions.txt
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from dcmaes.distributions import (
    Ising,
    MultivariateBernoulli,
    MultivariateBinomial,
    PoissonBinomial,
    TruncatedGeometric,
)
from dcmaes.distributions._latent_normal import bivariate_normal_cdf, tetrachoric_correlation

Sampler = Callable[[int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class SamplingCase:
    name: str
    build: Callable[[int], Sampler]
    dimensions: tuple[int, ...]


def _correlation(dimension: int) -> np.ndarray:
    distance = np.abs(np.subtract.outer(np.arange(dimension), np.arange(dimension)))
    return 0.5**distance


def multivariate_normal(dimension: int) -> Sampler:
    mean, covariance = np.zeros(dimension), _correlation(dimension)
    return lambda size, rng: rng.multivariate_normal(mean, covariance, size, method="cholesky")


def multivariate_bernoulli(dimension: int) -> Sampler:
    table = np.random.default_rng(0).dirichlet(np.ones(2**dimension)).reshape((2,) * dimension)
    return MultivariateBernoulli(table).sample


def _ising(dimension: int) -> Ising:
    rng = np.random.default_rng(0)
    coupling = np.triu(rng.normal(scale=0.5 / np.sqrt(dimension), size=(dimension, dimension)), 1)
    return Ising(rng.normal(scale=0.5, size=dimension), coupling + coupling.T)


def ising(dimension: int) -> Sampler:
    return _ising(dimension).sample


def _thresholded(dimension: int, trials: int) -> MultivariateBinomial:
    p = np.random.default_rng(0).uniform(0.3, 0.7, dimension)
    deviation = np.sqrt(trials * p * (1 - p))
    covariance = 0.6 * _correlation(dimension) * np.outer(deviation, deviation)
    np.fill_diagonal(covariance, deviation**2)
    return MultivariateBinomial.from_moments(trials, trials * p, covariance)


def thresholded_binomial(dimension: int) -> Sampler:
    return _thresholded(dimension, trials=10).sample


def ising_binomial(dimension: int) -> Sampler:
    return MultivariateBinomial(10, _ising(dimension)).sample


SAMPLING = [
    SamplingCase("numpy multivariate_normal", multivariate_normal, (10, 20, 100, 1000)),
    SamplingCase("MultivariateBernoulli", multivariate_bernoulli, (10, 20)),
    SamplingCase("Ising", ising, (10, 20, 100, 1000)),
    SamplingCase("Binomial(10), thresholded", thresholded_binomial, (10, 100, 1000)),
    SamplingCase("Binomial(10), Ising", ising_binomial, (10, 20)),
]


def canonical_of_table(dimension: int) -> Callable[[], object]:
    table = np.random.default_rng(0).dirichlet(np.ones(2**dimension)).reshape((2,) * dimension)
    return lambda: MultivariateBernoulli(table).canonical


def table_of_canonical(dimension: int) -> Callable[[], object]:
    theta = np.random.default_rng(0).normal(size=(2,) * dimension)
    return lambda: MultivariateBernoulli.from_canonical(theta).probabilities


def ising_moments(dimension: int) -> Callable[[], object]:
    law = _ising(dimension)
    return lambda: Ising(law.field, law.coupling).covariance


def ising_from_moments(dimension: int) -> Callable[[], object]:
    law = _ising(dimension)
    mean, covariance = law.mean, law.covariance
    return lambda: Ising.from_moments(mean, covariance)


def tetrachoric(dimension: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(dimension, 1)
    p = rng.uniform(0.05, 0.95, dimension)
    h = special.ndtri(p)
    both = bivariate_normal_cdf(h[i], h[j], rng.uniform(-0.95, 0.95, i.size))
    return lambda: tetrachoric_correlation(p[i], p[j], both)


def poisson_binomial(n: int) -> Callable[[], object]:
    p = np.random.default_rng(0).random(n)
    return lambda: PoissonBinomial(p).probabilities


def truncated_geometric(n: int) -> Callable[[], object]:
    return lambda: TruncatedGeometric.from_mean(n, 0.3 * n)


TIMINGS = [
    ("MultivariateBernoulli: p -> theta, k = 20", partial(canonical_of_table, 20)),
    ("MultivariateBernoulli: theta -> p, k = 20", partial(table_of_canonical, 20)),
    ("Ising: field, coupling -> covariance, k = 20", partial(ising_moments, 20)),
    ("Ising.from_moments, exact, k = 15", partial(ising_from_moments, 15)),
    ("Ising.from_moments, exact, k = 20", partial(ising_from_moments, 20)),
    ("Ising.from_moments, Bethe, k = 100", partial(ising_from_moments, 100)),
    ("tetrachoric correlations of 4,950 pairs", partial(tetrachoric, 100)),
    ("MultivariateBinomial.from_moments, k = 100", lambda: partial(_thresholded, 100, 10)),
    ("PoissonBinomial table, n = 10,000", partial(poisson_binomial, 10_000)),
    ("TruncatedGeometric.from_mean, n = 1,000,000", partial(truncated_geometric, 1_000_000)),
]


def best_seconds(call: Callable[[], object], n_runs: int = 3) -> float:
    seconds = []
    for _ in range(n_runs):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def points_per_second(sampler: Sampler, size: int) -> float:
    rng = np.random.default_rng(1)
    sampler(16, rng)
    return size / best_seconds(lambda: sampler(size, rng))


def main() -> None:
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}")
    print(
        "\nSampling, points per second (draws of 10,000 points; 1,000 at dimension 1,000), and ratio to numpy"
    )
    yardstick: dict[int, float] = {}
    for case in SAMPLING:
        for dimension in case.dimensions:
            rate = points_per_second(case.build(dimension), 1000 if dimension >= 1000 else 10_000)
            reference = yardstick.setdefault(dimension, rate)
            print(f"{case.name:28} k = {dimension:5}  {rate:12,.0f} /s  {rate / reference:8.2f}", flush=True)
    print("\nTransforms, seconds")
    for name, build in TIMINGS:
        print(f"{name:46} {best_seconds(build()):8.4f}", flush=True)


if __name__ == "__main__":
    main()
