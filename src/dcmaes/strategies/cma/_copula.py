"""What joins the sites: the correlation of the latent normals and its roots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray

SMALLEST_EIGENVALUE = 1e-10
# Rounding less than this part of the smallest eigenvalue changes whitened steps by a few per cent at most.
NEGLIGIBLE_ROUNDING = 0.05


@dataclass(frozen=True, eq=False)
class Copula:
    """Correlated latent normals.

    Attributes
    ----------
    correlation : array of shape (l, l)
        Covariance of the latent normals; its diagonal is 1 at each factorization and drifts from it until
        the next.
    root : array of shape (l, l)
        Symmetric square root of the correlation as of the last factorization.
    whitener : array of shape (n, n)
        Inverse square root of the correlation of the numeric steps as they come out on the sites.
    anisotropy : float
        How far the correlation is from the identity; it slows the scales down.
    """

    correlation: FloatArray
    root: FloatArray
    whitener: FloatArray
    anisotropy: float

    @staticmethod
    def identity(n_latents: int, n_numeric: int) -> Copula:
        """Return independent latents."""
        return Copula(np.eye(n_latents), np.eye(n_latents), np.eye(n_numeric), 1.0)


def factorize(correlation: FloatArray, fidelity: FloatArray) -> Copula:
    """Return the copula with fresh roots; a correlation that is no longer positive is repaired.

    Parameters
    ----------
    correlation : array of shape (l, l)
        Correlation of the latents.
    fidelity : array of shape (n,)
        Correlation of each numeric latent with the step that comes out of it.
    """
    values, vectors = _eigen(correlation)
    if values[0] <= SMALLEST_EIGENVALUE:
        correlation, _ = normalize((vectors * values) @ vectors.T, len(correlation))
        values, vectors = _eigen(correlation)
    deviations = np.sqrt(values)
    n = len(fidelity)
    if n == len(correlation) and 1 - fidelity.min() ** 2 <= NEGLIGIBLE_ROUNDING * values[0]:
        whitener = (vectors / deviations) @ vectors.T
    else:
        effective = correlation[:n, :n] * (fidelity[:, None] * fidelity)
        np.fill_diagonal(effective, 1.0)
        numeric_values, numeric_vectors = _eigen(effective)
        whitener = (numeric_vectors / np.sqrt(numeric_values)) @ numeric_vectors.T
    root = (vectors * deviations) @ vectors.T
    anisotropy = max(1.0, float(deviations[-1] / deviations[0]) - 1.0)  # (K14)
    return Copula(correlation, root, whitener, anisotropy)


def normalize(covariance: FloatArray, n_numeric: int) -> tuple[FloatArray, FloatArray]:
    """Return a covariance of latents as correlation, shape (l, l), and the deviations taken out, shape (l,).

    The variance that a choice has lost, because it is hardly ever taken or left out any more, is put back as
    independent noise: otherwise all such choices would seem to depend on each other.
    """
    deviation = np.sqrt(np.maximum(np.diagonal(covariance), 1e-12))
    deviation[n_numeric:] = np.maximum(deviation[n_numeric:], 1.0)
    correlation: FloatArray = covariance / (deviation[:, None] * deviation)
    np.fill_diagonal(correlation, 1.0)
    return correlation, deviation


def definite(matrix: FloatArray, smallest: float) -> FloatArray:
    """Return a symmetric matrix with its eigenvalues raised to at least `smallest`."""
    values, vectors = np.linalg.eigh(matrix)
    raised: FloatArray = (vectors * np.maximum(values, smallest)) @ vectors.T
    return raised


def _eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    if len(matrix) == 0:
        return np.empty(0), np.empty((0, 0))
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values, SMALLEST_EIGENVALUE), vectors
