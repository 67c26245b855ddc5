"""How well `Ising.from_moments` matches moments where it approximates, which it does beyond 20 variables.

Random Ising laws with known moments, couplings for {0,1} states drawn normally on a dense graph, a sparse one
(three neighbours on average) or a tree, scaled by a strength; fields such that means spread around 1/2. For
16 variables the moments wanted and got are computed by enumeration, the approximate inversion being called
where the exact one would serve; for 60 they are simulated, the simulation's own noise being given as `noise`.
Errors are root mean squares over variables and over pairs: of the Bethe approximation alone, and after 100
rounds of refinement. `beyond_bethe` counts the laws whose correlations exceed the approximation.

Run: python benchmarks/inverse_ising_error.py > benchmarks/results/inverse_ising_error.csv
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from dcmaes.distributions import Ising
from dcmaes.distributions._inverse_ising import invert_approximately, invert_bethe

Moments = tuple[np.ndarray, np.ndarray]
Shape = Callable[[int, np.random.Generator], np.ndarray]


def dense(size: int, rng: np.random.Generator) -> np.ndarray:
    return np.full((size, size), 2.0 / np.sqrt(size))


def sparse(size: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((size, size)) < 3.0 / size).astype(float)


def tree(size: int, rng: np.random.Generator) -> np.ndarray:
    mask = np.zeros((size, size))
    for i in range(1, size):
        mask[rng.integers(i), i] = 1.0
    return mask


def random_law(size: int, shape: Shape, strength: float, rng: np.random.Generator) -> Ising:
    coupling = np.triu(rng.normal(size=(size, size)), 1) * shape(size, rng) * strength
    coupling += coupling.T
    return Ising(rng.normal(scale=0.7, size=size) - coupling.sum(axis=0) / 2.0, coupling)


def moments(law: Ising, rng: np.random.Generator) -> Moments:
    if law.method == "exact":
        return law.mean, law.covariance
    estimate = law.estimate_moments(rng, n_chains=1024, n_draws=100)
    return estimate.mean, estimate.covariance


def squares(got: Moments, wanted: Moments) -> tuple[float, float]:
    pairs = np.triu_indices(wanted[0].size, 1)
    return float(np.mean((got[0] - wanted[0]) ** 2)), float(np.mean((got[1] - wanted[1])[pairs] ** 2))


def measure(size: int, shape: Shape, strength: float, n_repeats: int) -> str:
    wide, noise, plain, refined, n_beyond, seconds = [], [], [], [], 0, 0.0
    for seed in range(n_repeats):
        rng = np.random.default_rng([seed, size, round(100 * strength)])
        law = random_law(size, shape, strength, rng)
        wanted = moments(law, rng)
        wide.append(squares(wanted, (wanted[0], np.zeros_like(wanted[1])))[1])
        noise.append(squares(moments(law, rng), wanted))
        fit = invert_bethe(*wanted)
        n_beyond += fit.beyond is not None
        plain.append(squares(moments(Ising(fit.field, fit.coupling), rng), wanted))
        start = time.perf_counter()
        better = Ising(*invert_approximately(*wanted, 100, rng))
        seconds += time.perf_counter() - start
        refined.append(squares(moments(better, rng), wanted))
    columns = np.sqrt(
        [np.mean(wide), *np.mean(noise, axis=0), *np.mean(plain, axis=0), *np.mean(refined, axis=0)]
    )
    numbers = ",".join(f"{value:.4f}" for value in columns)
    return f"{size},{shape.__name__},{strength},{numbers},{n_beyond}/{n_repeats},{seconds / n_repeats:.2f}"


def main() -> None:
    warnings.simplefilter("ignore")  # chains of the poorest fits do not mix; their errors say so
    print(
        "size,graph,strength,rms_covariance,noise_mean,noise_covariance,bethe_mean,bethe_covariance,"
        "refined_mean,refined_covariance,beyond_bethe,refine_seconds"
    )
    for size, n_repeats, strengths in ((16, 10, (0.3, 1.0, 2.0, 4.0)), (60, 2, (0.3, 1.0, 2.0))):
        for shape in (dense, sparse, tree):
            for strength in strengths:
                print(measure(size, shape, strength, n_repeats), flush=True)


if __name__ == "__main__":
    main()
