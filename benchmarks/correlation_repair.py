"""Repair of latent correlation matrices: alternating projections stopped early or late, or clipping once.

Asks thresholded normals for covariances that no normal vector can give, and prints for each way of repairing
the largest and root mean square error of the delivered Bernoulli correlations, and the time.

    python benchmarks/correlation_repair.py
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import ndtri

from dcmaes.distributions import _latent_normal
from dcmaes.distributions._latent_normal import bivariate_normal_cdf, tetrachoric_correlation

CASES = [(30, 3, 0.6), (100, 10, 0.6), (300, 30, 0.6), (50, 3, 0.9), (100, 3, 0.9), (300, 3, 0.9)]
STOPS = [(1e-2, 30), (3e-3, 30), (1e-3, 50), (1e-4, 100)]


def ask(k: int, factors: int, strength: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, asked correlations within the Frechet bounds, and the latent matrix they need."""
    rng = np.random.default_rng(k)
    loadings = rng.normal(size=(k, factors))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True) * 1.02
    p = rng.uniform(0.1, 0.9, k)
    scale = np.sqrt(np.outer(p * (1 - p), p * (1 - p)))
    lower, upper = np.maximum(0.0, np.add.outer(p, p) - 1.0), np.minimum.outer(p, p)
    both = np.clip(np.outer(p, p) + strength * (loadings @ loadings.T) * scale, lower, upper)
    latent = tetrachoric_correlation(p[:, None], p, both)
    np.fill_diagonal(latent, 1.0)
    return p, (both - np.outer(p, p)) / scale, latent


def error(p: np.ndarray, asked: np.ndarray, latent: np.ndarray) -> tuple[float, float]:
    i, j = np.triu_indices(p.size, 1)
    h = ndtri(p)
    delivered = bivariate_normal_cdf(h[i], h[j], latent[i, j]) - p[i] * p[j]
    difference = np.abs(delivered / np.sqrt(p[i] * (1 - p[i]) * p[j] * (1 - p[j])) - asked[i, j])
    return float(difference.max()), float(np.sqrt((difference**2).mean()))


def clip_eigenvalues(matrix: np.ndarray) -> np.ndarray:
    factor = _latent_normal._unit_factor(matrix)
    return np.clip(factor @ factor.T, -1, 1)


def main() -> None:
    print("| k, factors, strength | way | largest | rms | ms |\n|---|---|---|---|---|")
    for case in CASES:
        p, asked, latent = ask(*case)
        ways = {"clip": lambda m: clip_eigenvalues(m)}
        for tolerance, sweeps in STOPS:
            ways[f"alternate to {tolerance:g}"] = lambda m, t=tolerance, n=sweeps: _alternate(m, t, n)
        for name, repair in ways.items():
            start = time.perf_counter()
            repaired = repair(latent)
            elapsed = time.perf_counter() - start
            largest, rms = error(p, asked, repaired)
            numbers = f"{largest:.3f} | {rms:.4f} | {1e3 * elapsed:.1f}"
            print(f"| {case[0]}, {case[1]}, {case[2]} | {name} | {numbers} |")


def _alternate(matrix: np.ndarray, tolerance: float, sweeps: int) -> np.ndarray:
    _latent_normal._REPAIR_TOLERANCE, _latent_normal._REPAIR_SWEEPS = tolerance, sweeps
    return _latent_normal.repair_correlation(matrix).matrix


if __name__ == "__main__":
    main()
