"""The roots of the correlation matrix: the one costly step, taken once in several generations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._distribution import Distribution

SMALLEST_EIGENVALUE = 1e-10


def factorize(distribution: Distribution) -> Distribution:
    """Return the distribution with fresh roots; a correlation that is no longer positive is repaired."""
    correlation = distribution.correlation
    if correlation is None:
        return distribution
    values, vectors = _eigen(correlation)
    if values[0] <= SMALLEST_EIGENVALUE:
        correlation = _unit_diagonal((vectors * values) @ vectors.T)
        values, vectors = _eigen(correlation)
    deviations = np.sqrt(values)
    law, n = distribution.numeric, len(distribution.mean)
    if n == len(correlation) and (law.fidelity == 1.0).all():
        whitener = (vectors / deviations) @ vectors.T
    else:
        effective = correlation[:n, :n] * np.outer(law.fidelity, law.fidelity)
        np.fill_diagonal(effective, 1.0)
        numeric_values, numeric_vectors = _eigen(effective)
        whitener = (numeric_vectors / np.sqrt(numeric_values)) @ numeric_vectors.T
    return replace(
        distribution,
        correlation=correlation,
        root=(vectors * deviations) @ vectors.T,
        whitener=whitener,
        anisotropy=max(1.0, float(deviations.max() / deviations.min()) - 1.0),  # (K14)
    )


def _unit_diagonal(matrix: FloatArray) -> FloatArray:
    deviation = np.sqrt(np.diag(matrix))
    scaled: FloatArray = matrix / np.outer(deviation, deviation)
    return scaled


def _eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    if len(matrix) == 0:
        return np.empty(0), np.empty((0, 0))
    values, vectors = scipy.linalg.eigh((matrix + matrix.T) / 2, check_finite=False, driver="evd")
    return np.maximum(values, SMALLEST_EIGENVALUE), vectors
