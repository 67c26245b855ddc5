"""One generation: how the distribution and its paths move once a population has been ranked."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._distribution import Copula, Distribution, Residuals, factorize, measure, normalize
from dcmaes.strategies.cma._marginals import LARGEST_RESIDUAL, Layout, Marginals
from dcmaes.strategies.cma._state import Constants, Path, Paths, Rates, constants

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
    share = _active_share(residuals, k)
    paths = _advance_paths(paths, residuals, k, share)
    scale = _advance_scale(distribution, paths.scale, residuals, k, share)
    step_size = _advance_step_size(marginals, paths.step, k, share)
    is_factorized = copula is not None and generation % k.factorization_interval == 0
    if copula is not None:
        copula = _advance_copula(copula, layout, paths.correlation, residuals, k.correlation, share)
        if is_factorized:
            copula, scale, paths = _with_unit_diagonal(copula, scale, paths)
    if share is not None:
        # The common step size is not that of sites that were away: (K24)
        scale = scale * (marginals.step_size / step_size) ** (1 - share[: len(scale)])
    probabilities, mutation = _advance_choices(marginals, residuals, k)
    moved = Marginals.within_limits(
        layout,
        mean=layout.inside(marginals.mean + k.weights @ residuals.displacement),  # (K10)
        step_size=step_size,
        scale=scale,
        probabilities=probabilities,
        mutation=mutation,
        floor=_advance_floor(marginals.floor, fresh, layout.n_sites, len(x)),
    )
    if copula is not None and is_factorized:
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


def _active_share(residuals: Residuals, k: Constants) -> FloatArray | None:
    """Return which part of the weights belongs to points in which each latent is active, shape (l,) (K24)."""
    squared = k.weights**2
    return None if residuals.active is None else (squared @ residuals.active) / squared.sum()


def _advance_paths(paths: Paths, residuals: Residuals, k: Constants, share: FloatArray | None) -> Paths:
    n = len(paths.step.vector)
    numeric = None if share is None else share[:n]
    mean_white = k.weights @ residuals.white[:, :n]
    step = paths.step.advance(mean_white, k.step_path, k.effective_size, share=numeric)
    # A path that grows too fast would inflate variances in its direction: the others wait (K12).
    is_open = n == 0 or float(step.vector @ step.vector) < (2 + 4 / (n + 1)) * n * step.variance
    mean_step = k.weights @ residuals.latent
    correlation = paths.correlation
    if len(correlation.vector):
        rate = k.correlation.path
        correlation = correlation.advance(mean_step, rate, k.effective_size, is_open=is_open, share=share)
    rate = k.scale.path
    scale = paths.scale.advance(mean_step[:n], rate, k.effective_size, is_open=is_open, share=numeric)
    return Paths(step, correlation, scale)


def _advance_step_size(marginals: Marginals, path: Path, k: Constants, share: FloatArray | None) -> float:
    """Return the step size after comparing the path's length with that of a random walk (K13).

    Only sites that take many-valued steps take part: a frozen lattice says nothing about the common step
    size, and must not keep the continuous sites from converging. Nor does a site that was active in no point.
    """
    law, active = marginals.numeric, path.vector
    if law.has_rare or share is not None:
        is_away = law.is_rare if share is None else law.is_rare | (share[: len(active)] == 0.0)
        active = active[~is_away]
    if len(active) == 0:
        return marginals.step_size
    length = math.sqrt(active @ active) / _expected_length(len(active))
    change = k.step_path / k.step_damping * (length - math.sqrt(path.variance))
    return marginals.step_size * math.exp(min(max(change, -1.0), 1.0))


@lru_cache(maxsize=256)
def _expected_length(n: int) -> float:
    """Return the mean length of a vector of n standard normals."""
    return math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))


def _advance_scale(
    distribution: Distribution, path: Path, residuals: Residuals, k: Constants, share: FloatArray | None
) -> FloatArray:
    """Return the scale of each numeric site (K14)."""
    copula, n = distribution.copula, len(path.vector)
    white_path = path.vector if copula is None else path.vector @ copula.whitener
    anisotropy = 1.0 if copula is None else copula.anisotropy
    squared = residuals.squared[:, :n]
    weights = _bounded(k.scale.weights, squared, residuals.is_foreign)
    change: FloatArray = k.scale.rank_one * (white_path * white_path - path.variance)
    if share is None or residuals.active is None:
        change += k.scale.rank_mu * (weights @ squared - weights.sum())
    else:
        # Squares of residuals that are not there are what is expected of them: (K24)
        change = share[:n] * change + k.scale.rank_mu * (weights @ (squared - residuals.active[:, :n]))
    change /= 2 * anisotropy
    np.minimum(np.maximum(change, -1.0, out=change), 1.0, out=change)
    scale: FloatArray = distribution.marginals.scale * np.exp(change)
    return scale


def _advance_copula(
    copula: Copula,
    layout: Layout,
    path: Path,
    residuals: Residuals,
    rates: Rates,
    share: FloatArray | None,
) -> Copula:
    """Return the copula with the new correlation of the latents, not normalized, and its old roots (K15)."""
    weights = _bounded(rates.weights, residuals.squared, residuals.is_foreign)
    active, vector = residuals.active, path.vector
    if share is None or active is None:
        keep: float | FloatArray = 1 - rates.rank_one * path.variance - rates.rank_mu * float(weights.sum())
    else:
        # Products of residuals that are not both there are what is expected of them: (K24)
        both = np.sqrt(share[:, None] * share)
        keep = 1 - rates.rank_one * path.variance * both - rates.rank_mu * ((active.T * weights) @ active)
        vector = np.sqrt(share) * vector
    updated: FloatArray = keep * copula.correlation
    updated += (residuals.latent.T * (rates.rank_mu * weights)) @ residuals.latent
    updated += (rates.rank_one * vector)[:, None] * vector
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


def _advance_choices(
    marginals: Marginals, residuals: Residuals, k: Constants
) -> tuple[FloatArray, FloatArray]:
    """Return choice probabilities (K18) and mutation rates (K19) of the one-of-c sites."""
    if not len(marginals.mutation):
        return marginals.probabilities, marginals.mutation
    chosen = residuals.chosen
    probabilities = np.tensordot(k.weights, chosen, axes=1)
    drawn = (chosen * marginals.smoothed).sum(axis=2)
    surprise = np.minimum(1 / (marginals.layout.n_choices * np.maximum(drawn, 1e-300)), LARGEST_RESIDUAL**2)
    if residuals.active is not None:
        surprise = np.where(marginals.layout.made(residuals.active), surprise, 1.0)
    change = k.scale.rank_mu * (k.scale.weights @ (surprise - 1))
    return probabilities, marginals.mutation * np.exp(np.clip(change, -1.0, 1.0))
