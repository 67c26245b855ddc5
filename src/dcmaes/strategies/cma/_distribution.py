"""Where the search looks: the laws of the sites, and the correlated normals that join them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dcmaes._validation import FloatArray
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.cma._marginals import (
    Layout,
    Marginals,
    choice_residuals,
    draw_choices,
    numeric_residuals,
    numeric_steps,
    one_hot,
)

SMALLEST_EIGENVALUE = 1e-10
# Rounding less than this part of the smallest eigenvalue changes whitened steps by a few per cent at most.
NEGLIGIBLE_ROUNDING = 0.05
# Steps have a length of about sqrt(n); one of n standard normals exceeds that by this much once in a million.
LONGEST_EXCESS = 5.0
# Directions of smaller variance were hardly explored; they must not dominate the inverse.
SMALLEST_VARIANCE = 0.01


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


@dataclass(frozen=True, eq=False)
class Distribution:
    """Where the search looks: the laws of the sites, and what joins them (None in diagonal mode)."""

    marginals: Marginals
    copula: Copula | None

    @property
    def layout(self) -> Layout:
        """The sites, sorted by how they are drawn."""
        return self.marginals.layout


@dataclass(frozen=True, eq=False)
class Residuals:
    """A ranked population measured in deviations of the distribution it came from, best first.

    Attributes
    ----------
    displacement : array of shape (p, n)
        Numeric steps from the mean in unit coordinates.
    chosen : array of shape (p, b, c)
        Which choices the one-of-c sites take, 0 or 1.
    white : array of shape (p, l)
        Residuals of all latents, uncorrelated of variance 1 if nothing is selected.
    latent : array of shape (p, l)
        The latent steps that these stand for: `white` correlated again.
    squared : array of shape (p, l)
        Squares of `white`.
    is_foreign : bool array of shape (p,)
        Points that the distribution would hardly draw, and whose steps were shortened: starting points,
        results that come late, and points reflected at a bound away from a narrow valley.
    active : array of shape (p, l) or None
        1 for latents of sites that are active in the point, 0 for the others, whose residuals are 0; None if
        all sites always are.
    """

    displacement: FloatArray
    chosen: FloatArray
    white: FloatArray
    latent: FloatArray
    squared: FloatArray
    is_foreign: NDArray[np.bool_]
    active: FloatArray | None = None


def draw(distribution: Distribution, n_points: int, rng: np.random.Generator) -> FloatArray:
    """Return coded points drawn from the distribution, shape (n_points, d)."""
    marginals, layout = distribution.marginals, distribution.layout
    latents = even_normals(n_points, layout.n_latents, rng)
    if distribution.copula is not None:
        latents = latents @ distribution.copula.root  # (K7)
    n = len(marginals.mean)
    steps, uniforms = numeric_steps(marginals.numeric, latents[:, :n])
    steps += marginals.mean
    choices = draw_choices(marginals, latents[:, n:]) if len(layout.category) else np.empty((n_points, 0))
    return layout.points(steps, uniforms, choices)


def measure(distribution: Distribution, x: FloatArray) -> Residuals:
    """Return the residuals of coded points, best first, shape (p, d)."""
    marginals, layout, copula = distribution.marginals, distribution.layout, distribution.copula
    displacement = layout.displacement(x, marginals.mean)
    active = layout.active(x)
    n = displacement.shape[1]
    if active is not None:
        displacement = displacement * active[:, :n]
    white = numeric_residuals(marginals.numeric, displacement)
    if copula is not None:
        white = white @ copula.whitener
    if active is not None:
        white = white * active[:, :n]
    squared = white * white
    longest = np.sqrt(white.shape[1]) + LONGEST_EXCESS
    length = np.sqrt(squared.sum(axis=1))
    is_foreign = length > longest
    if is_foreign.any():
        shrink = np.minimum(1.0, longest / np.maximum(length, longest))[:, None]
        displacement, white = displacement * shrink, white * shrink
        squared = white * white
    chosen = one_hot(layout, x)
    if active is not None:
        # A choice that was not made leaves the probabilities as they are.
        chosen = np.where(layout.made(active)[:, :, None], chosen, marginals.probabilities)
    if len(layout.category):
        white = np.concatenate([white, choice_residuals(marginals, chosen)], axis=1)
        white = white if active is None else white * active
        squared = white * white
    latent = white if copula is None else white @ copula.root
    latent = latent if active is None else latent * active
    return Residuals(displacement, chosen, white, latent, squared, is_foreign, active)


def summarize(distribution: Distribution) -> Summary:
    """Return the distribution reduced to what can be shown of any strategy."""
    marginals, layout = distribution.marginals, distribution.layout
    d = layout.sites.dimension
    mean = np.where(layout.sites.is_numeric, 0.0, np.nan)
    deviation = mean.copy()
    mean[layout.numeric], deviation[layout.numeric] = marginals.mean, marginals.numeric.spread
    probabilities = [np.empty(0) for _ in range(d)]
    for row, site in enumerate(layout.category):
        probabilities[site] = marginals.smoothed[row, : layout.n_choices[row]].copy()
    doubt = np.sqrt(1 - marginals.smoothed.max(axis=1, initial=0))
    spread = np.concatenate([marginals.numeric.spread, doubt])
    return Summary(
        mean=mean,
        deviation=deviation,
        probabilities=tuple(probabilities),
        correlation=_site_correlation(distribution),
        step_size=float(np.sqrt((spread**2).mean())) if len(spread) else 0.0,
    )


def interaction_matrix(distribution: Distribution) -> FloatArray:
    """Return the strength of each pair of sites, shape (d, d), zero diagonal (K21).

    On a quadratic function the covariance tends to the inverse Hessian, so that two sites interact where
    the *inverse* correlation is not zero: their partial correlation. Of one-of-c sites the strongest pair of
    choices counts.
    """
    layout, copula = distribution.layout, distribution.copula
    strength = np.zeros((layout.sites.dimension, layout.sites.dimension))
    if copula is None:
        return strength
    correlation, _ = normalize(copula.correlation, len(layout.numeric))
    precision = np.linalg.inv(definite(correlation, SMALLEST_VARIANCE))
    diagonal = np.sqrt(np.diag(precision))
    partial = np.abs(precision / np.outer(diagonal, diagonal))
    site = layout.site_of_latent
    np.maximum.at(strength, (site[:, None], site[None, :]), (partial + partial.T) / 2)
    np.fill_diagonal(strength, 0.0)
    return strength


def _site_correlation(distribution: Distribution) -> FloatArray | None:
    """Return the correlation between sites, shape (d, d); of one-of-c sites that of the strongest choices."""
    layout, copula = distribution.layout, distribution.copula
    if copula is None:
        return None
    result = np.eye(layout.sites.dimension)
    first, second = np.triu_indices(layout.n_latents, 1)
    correlation, _ = normalize(copula.correlation, len(layout.numeric))
    strength = np.clip(correlation[first, second], -1.0, 1.0)
    # Written weakest first, so that the strongest pair of latents is what stays.
    weakest_first = np.argsort(np.abs(strength), kind="stable")
    first, second = layout.site_of_latent[first[weakest_first]], layout.site_of_latent[second[weakest_first]]
    strength = strength[weakest_first]
    is_pair = first != second
    result[first[is_pair], second[is_pair]] = strength[is_pair]
    result[second[is_pair], first[is_pair]] = strength[is_pair]
    return result


def even_normals(n_points: int, n_latents: int, rng: np.random.Generator) -> FloatArray:
    """Return standard normal vectors, orthogonal and then stratified, shape (n_points, n_latents) (K6).

    Each number by itself is exactly standard normal, but the numbers of one latent fall one each into
    `n_points` intervals of equal probability, and which point gets which follows directions at right angles.
    A population then represents its distribution with less noise, so that selection sees more.

    >>> z = even_normals(4, 2, np.random.default_rng(0))
    >>> (z < 0).sum(axis=0)
    array([2, 2])
    """
    z = rng.standard_normal((n_points, n_latents))
    if n_points == 1 or n_latents == 0:
        return z
    jitter = rng.random((n_latents, n_points))
    for first in range(0, n_points, n_latents):
        z[first : first + n_latents] = _orthogonal(z[first : first + n_latents])
    by_latent = np.ascontiguousarray(z.T)
    order = by_latent.argsort(axis=1)
    # One number in each stratum, kept off 0 and 1 where the normal quantile is infinite.
    quantile = np.maximum((np.arange(n_points) + jitter) / n_points, 1e-300)
    np.put_along_axis(by_latent, order, ndtri(np.minimum(quantile, 1 - 2**-53)), axis=1)
    return by_latent.T


def _orthogonal(z: FloatArray) -> FloatArray:
    """Return the rows made orthogonal one after another (Gram and Schmidt), their lengths kept."""
    directions, triangle = np.linalg.qr(z.T)
    length = np.sqrt((z * z).sum(axis=1))
    orthogonal: FloatArray = directions * np.where(np.diagonal(triangle) < 0, -length, length)
    return orthogonal.T
