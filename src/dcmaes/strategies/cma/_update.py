"""One generation: how the distribution and its paths move once a population has been ranked."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._constants import Constants, Rates, constants
from dcmaes.strategies.cma._distribution import Copula, Distribution, Residuals, factorize, measure, normalize
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._marginals import LARGEST_RESIDUAL, Marginals
from dcmaes.strategies.cma._state import Path, Paths

# A population should be new points for this part at least; the floor under the variances adapts at this rate.
FRESH_SHARE = 0.3
THAW_RATE = 0.5


def advance(
    distribution: Distribution, paths: Paths, x: FloatArray, *, fresh: float, generation: int
) -> tuple[Distribution, Paths]:
    """Return distribution and paths after one generation.

    Parameters
    ----------
    x : array of shape (p, d)
        The population, best first.
    fresh : float
        Share of the population that had not been evaluated before.
    generation : int
        Number of this generation; the correlation is factorized in some of them only.
    """
    marginals, copula, layout = distribution.marginals, distribution.copula, distribution.layout
    k = constants(layout.n_sites, layout.n_latents, len(x))
    residuals = measure(distribution, x)
    paths = _advance_paths(paths, residuals, k)
    scale = _advance_scale(distribution, paths.scale, residuals, k)
    is_due = copula is not None and generation % k.factorization_interval == 0
    if copula is not None:
        copula = _advance_copula(copula, layout, paths.correlation, residuals, k.correlation)
        if is_due:
            copula, scale, paths = _with_unit_diagonal(copula, scale, paths)
    probabilities, mutation = _advance_choices(marginals, residuals.chosen, k)
    moved = Marginals.within_limits(
        layout,
        mean=layout.inside(marginals.mean + k.weights @ residuals.displacement),  # (K10)
        step_size=_advance_step_size(marginals, paths.step, k),
        scale=scale,
        probabilities=probabilities,
        mutation=mutation,
        floor=_advance_floor(marginals.floor, fresh, layout.n_sites, len(x)),
    )
    if copula is not None and is_due:
        copula = factorize(copula.correlation, moved.numeric.fidelity)
    return Distribution(moved, copula), paths


def smallest_floor(n_sites: int, population_size: int) -> float:
    """Return the lowest floor: about one jump of a frozen site in a whole population (K20)."""
    return 1 / (max(n_sites, 1) * population_size)


def _advance_floor(floor: float, fresh: float, n_sites: int, population_size: int) -> float:
    """Return the floor, raised while too few points are new, lowered while there are enough (K20)."""
    lowest = smallest_floor(n_sites, population_size)
    highest = max(lowest, min(2 / max(n_sites, 1), 0.3))
    return min(max(floor * math.exp(THAW_RATE * (FRESH_SHARE - fresh)), lowest), highest)


def _advance_paths(paths: Paths, residuals: Residuals, k: Constants) -> Paths:
    n = len(paths.step.vector)
    step = paths.step.advance(k.weights @ residuals.white[:, :n], k.step_path, k.effective_size)
    # A path that grows too fast would inflate variances in its direction: the others wait (K12).
    is_open = n == 0 or float(step.vector @ step.vector) < (2 + 4 / (n + 1)) * n * step.variance
    mean_step = k.weights @ residuals.latent
    correlation = paths.correlation
    if len(correlation.vector):
        rate = k.correlation.path
        correlation = correlation.advance(mean_step, rate, k.effective_size, is_open=is_open)
    scale = paths.scale.advance(mean_step[:n], k.scale.path, k.effective_size, is_open=is_open)
    return Paths(step, correlation, scale)


def _advance_step_size(marginals: Marginals, path: Path, k: Constants) -> float:
    """Return the step size after comparing the path's length with that of a random walk (K13).

    Only sites that take many-valued steps take part: a frozen lattice says nothing about the common step
    size, and must not keep the continuous sites from converging.
    """
    law, active = marginals.numeric, path.vector
    if law.has_rare:
        active = active[~law.is_rare]
    if len(active) == 0:
        return marginals.step_size
    length = math.sqrt(active @ active) / _expected_length(len(active))
    change = k.step_path / k.step_damping * (length - math.sqrt(path.variance))
    return marginals.step_size * math.exp(min(max(change, -1.0), 1.0))


@lru_cache(maxsize=256)
def _expected_length(n: int) -> float:
    """Return the mean length of a vector of n standard normals."""
    return math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))


def _advance_scale(distribution: Distribution, path: Path, residuals: Residuals, k: Constants) -> FloatArray:
    """Return the scale of each numeric site (K14)."""
    copula, n = distribution.copula, len(path.vector)
    white_path = path.vector if copula is None else path.vector @ copula.whitener
    anisotropy = 1.0 if copula is None else copula.anisotropy
    squared = residuals.squared[:, :n]
    weights = _bounded(k.scale.weights, squared, residuals.is_foreign)
    change: FloatArray = k.scale.rank_one * (white_path * white_path - path.variance)
    change += k.scale.rank_mu * (weights @ squared - weights.sum())
    change /= 2 * anisotropy
    np.minimum(np.maximum(change, -1.0, out=change), 1.0, out=change)
    scale: FloatArray = distribution.marginals.scale * np.exp(change)
    return scale


def _advance_copula(copula: Copula, layout: Layout, path: Path, residuals: Residuals, rates: Rates) -> Copula:
    """Return the copula with the new correlation of the latents, not normalized, and its old roots (K15)."""
    weights = _bounded(rates.weights, residuals.squared, residuals.is_foreign)
    keep = 1 - rates.rank_one * path.variance - rates.rank_mu * float(weights.sum())
    updated: FloatArray = keep * copula.correlation
    updated += (residuals.latent.T * (rates.rank_mu * weights)) @ residuals.latent
    updated += (rates.rank_one * path.vector)[:, None] * path.vector
    if len(layout.category):
        updated[layout.within_block] = 0.0
    return Copula(updated, copula.root, copula.whitener, copula.anisotropy)


def _with_unit_diagonal(copula: Copula, scale: FloatArray, paths: Paths) -> tuple[Copula, FloatArray, Paths]:
    """Move the diagonal of the correlation into the scales, which is the same law in other units (K15).

    Done only when new roots follow at once: the present ones are in the present units.
    """
    correlation, deviation = normalize(copula.correlation, len(scale))
    numeric = deviation[: len(scale)]
    in_units = Paths(paths.step, paths.correlation.in_units_of(deviation), paths.scale.in_units_of(numeric))
    return Copula(correlation, copula.root, copula.whitener, copula.anisotropy), scale * numeric, in_units


def _bounded(weights: FloatArray, squared: FloatArray, is_foreign: NDArray[np.bool_]) -> FloatArray:
    """Return the weights with negative ones scaled so that long steps cannot make variances negative (K2).

    Points that the distribution would not have drawn get none: that they are bad says nothing about it.
    """
    n = max(squared.shape[1], 1)
    shrink = np.where(is_foreign, 0.0, n / np.maximum(squared.sum(axis=1), n))
    return np.where(weights < 0, weights * shrink, weights)


def _advance_choices(marginals: Marginals, chosen: FloatArray, k: Constants) -> tuple[FloatArray, FloatArray]:
    """Return choice probabilities (K18) and mutation rates (K19) of the one-of-c sites."""
    if not len(marginals.mutation):
        return marginals.probabilities, marginals.mutation
    probabilities = np.tensordot(k.weights, chosen, axes=1)
    drawn = (chosen * marginals.smoothed).sum(axis=2)
    surprise = np.minimum(1 / (marginals.layout.n_choices * np.maximum(drawn, 1e-300)), LARGEST_RESIDUAL**2)
    change = k.scale.rank_mu * (k.scale.weights @ (surprise - 1))
    return probabilities, marginals.mutation * np.exp(np.clip(change, -1.0, 1.0))
