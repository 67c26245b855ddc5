"""What the search has learned about which sites act together."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._distribution import Distribution


def interaction_matrix(distribution: Distribution) -> FloatArray:
    """Return the strength of each pair of sites, shape (d, d), zero diagonal (K21).

    On a quadratic function the covariance tends to the inverse Hessian, so that two sites interact where the
    *inverse* correlation is not zero: their partial correlation. For one-of-c sites the strongest pair counts.
    """
    layout = distribution.layout
    d = layout.sites.dimension
    strength = np.zeros((d, d))
    if distribution.correlation is None:
        return strength
    # A little of the identity keeps directions that were never explored from dominating the inverse.
    precision = np.linalg.inv(distribution.correlation + 1e-6 * np.eye(layout.n_latents))
    diagonal = np.sqrt(np.diag(precision))
    partial = np.abs(precision / np.outer(diagonal, diagonal))
    site = layout.site_of_latent
    np.maximum.at(strength, (site[:, None], site[None, :]), partial)
    np.fill_diagonal(strength, 0.0)
    return strength
