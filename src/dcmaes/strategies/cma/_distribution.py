"""The search distribution: marginals that live on the sites, joined by correlated latent normals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._copula import Copula
from dcmaes.strategies.cma._latents import even_normals
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._marginals import (
    Marginals,
    choice_residuals,
    draw_choices,
    numeric_residuals,
    numeric_steps,
    one_hot,
)

# Steps have a length of about sqrt(n); one of n standard normals exceeds that by this much once in a million.
LONGEST_EXCESS = 5.0


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
    """

    displacement: FloatArray
    chosen: FloatArray
    white: FloatArray
    latent: FloatArray
    squared: FloatArray
    is_foreign: NDArray[np.bool_]


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
    white = numeric_residuals(marginals.numeric, displacement)
    if copula is not None:
        white = white @ copula.whitener
    squared = white * white
    longest = np.sqrt(white.shape[1]) + LONGEST_EXCESS
    length = np.sqrt(squared.sum(axis=1))
    is_foreign = length > longest
    if is_foreign.any():
        shrink = np.minimum(1.0, longest / np.maximum(length, longest))[:, None]
        displacement, white = displacement * shrink, white * shrink
        squared = white * white
    chosen = one_hot(layout, x)
    if len(layout.category):
        white = np.concatenate([white, choice_residuals(marginals, chosen)], axis=1)
        squared = white * white
    latent = white if copula is None else white @ copula.root
    return Residuals(displacement, chosen, white, latent, squared, is_foreign)
