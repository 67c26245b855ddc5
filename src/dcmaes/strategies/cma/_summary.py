"""What can be shown of a search distribution, and what it has learned about which sites act together."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.cma._copula import definite, normalize
from dcmaes.strategies.cma._distribution import Distribution

# Directions of smaller variance were hardly explored; they must not dominate the inverse.
SMALLEST_VARIANCE = 0.01


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
