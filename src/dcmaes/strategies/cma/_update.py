"""One generation: how the distribution and its paths move once a population has been ranked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._constants import Constants, Rates, constants
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._factorization import factorize
from dcmaes.strategies.cma._layout import Layout

# Steps of frozen sites come in rare jumps of many deviations; beyond this many they say no more.
LARGEST_RESIDUAL = 3.0


@dataclass(frozen=True, eq=False)
class Path:
    """An exponentially fading sum of mean steps, and the variance it has when nothing is selected."""

    vector: FloatArray
    variance: float

    def advance(self, step: FloatArray, rate: float, effective_size: float, *, is_open: bool = True) -> Path:
        """Return the path after one more normalized step (K11)."""
        gain = rate * (2 - rate) if is_open else 0.0
        vector = (1 - rate) * self.vector + np.sqrt(gain * effective_size) * step
        return Path(vector, (1 - rate) ** 2 * self.variance + gain)

    @staticmethod
    def zero(n: int) -> Path:
        """Return a path that has not moved yet."""
        return Path(np.zeros(n), 0.0)


@dataclass(frozen=True, eq=False)
class Paths:
    """The three paths of a run: of the step size, of the correlation and of the scales."""

    step: Path
    correlation: Path
    scale: Path


@dataclass(frozen=True, eq=False)
class Residuals:
    """A ranked population measured in deviations of the distribution it came from, best first.

    Attributes
    ----------
    displacement : array of shape (p, n), numeric steps from the mean in unit coordinates
    white : array of shape (p, l), residuals of all latents, uncorrelated of variance 1 if nothing is selected
    latent : array of shape (p, l), the latent steps that these stand for: `white` correlated again
    """

    displacement: FloatArray
    white: FloatArray
    latent: FloatArray


def advance(
    distribution: Distribution, paths: Paths, x: FloatArray, *, generation: int
) -> tuple[Distribution, Paths]:
    """Return distribution and paths after a population `x`, best first, shape (p, d)."""
    layout = distribution.layout
    k = constants(layout.n_sites, layout.n_latents, len(x))
    residuals = measure(distribution, x)
    paths = _advance_paths(paths, residuals, k)
    probabilities, mutation = _advance_choices(distribution, x, k)
    step_size = _advance_step_size(distribution, paths.step, k)
    scale = _advance_scale(distribution, paths.scale, residuals, k)
    moved = replace(
        distribution,
        mean=_inside(layout, distribution.mean + k.weights @ residuals.displacement),  # (K10)
        step_size=step_size,
        scale=scale,
        probabilities=probabilities,
        mutation=mutation,
    )
    if distribution.correlation is not None:
        correlation = _advance_correlation(
            distribution.correlation, layout, paths.correlation, residuals, k.correlation
        )
        moved, paths = _normalize(moved, paths, correlation)
        interval = 1 / (10 * layout.n_latents * (k.correlation.rank_one + k.correlation.rank_mu))
        if generation % max(1, int(interval)) == 0:
            moved = factorize(moved)
    return limit(moved), paths


def measure(distribution: Distribution, x: FloatArray) -> Residuals:
    """Return the residuals of coded points, best first, shape (p, d)."""
    layout, law = distribution.layout, distribution.numeric
    displacement = layout.displacement(x, distribution.mean)
    residual = displacement / law.spread
    if law.is_rare.any():
        residual = np.where(law.is_rare, np.clip(residual, -LARGEST_RESIDUAL, LARGEST_RESIDUAL), residual)
    white = residual if distribution.whitener is None else residual @ distribution.whitener
    # Points that this distribution would never draw (starting points, results that come late) are shortened.
    longest = np.sqrt(white.shape[1]) + 5.0
    length = np.sqrt((white**2).sum(axis=1))
    if (length > longest).any():
        shrink = np.minimum(1.0, longest / np.maximum(length, longest))[:, None]
        displacement, white = displacement * shrink, white * shrink
    if len(layout.category):
        white = np.concatenate([white, _choice_residuals(distribution, x)], axis=1)
    return Residuals(displacement, white, white if distribution.root is None else white @ distribution.root)


def _advance_paths(paths: Paths, residuals: Residuals, k: Constants) -> Paths:
    n = len(paths.step.vector)
    step = paths.step.advance(k.weights @ residuals.white[:, :n], k.step_path, k.effective_size)
    # A path that grows too fast would inflate variances in its direction: the others wait (K12).
    is_open = n == 0 or bool((step.vector**2).sum() < (2 + 4 / (n + 1)) * n * step.variance)
    mean_step = k.weights @ residuals.latent
    correlation = paths.correlation
    if len(correlation.vector):
        rate = k.correlation.path
        correlation = correlation.advance(mean_step, rate, k.effective_size, is_open=is_open)
    scale = paths.scale.advance(mean_step[:n], k.scale.path, k.effective_size, is_open=is_open)
    return Paths(step, correlation, scale)


def _advance_step_size(distribution: Distribution, path: Path, k: Constants) -> float:
    """Return the step size after comparing the path's length with that of a random walk (K13).

    Only sites that take many-valued steps take part: a frozen lattice says nothing about the common step size,
    and must not keep the continuous sites from converging.
    """
    is_active = ~distribution.numeric.is_rare
    n_active = int(is_active.sum())
    if n_active == 0:
        return distribution.step_size
    expected = np.sqrt(2) * np.exp(gammaln((n_active + 1) / 2) - gammaln(n_active / 2))
    length = np.sqrt((path.vector[is_active] ** 2).sum())
    change = k.step_path / k.step_damping * (length / expected - np.sqrt(path.variance))
    return float(distribution.step_size * np.exp(np.clip(change, -1.0, 1.0)))


def _advance_scale(distribution: Distribution, path: Path, residuals: Residuals, k: Constants) -> FloatArray:
    """Return the scale of each numeric site (K14)."""
    white_path = path.vector if distribution.whitener is None else path.vector @ distribution.whitener
    white = residuals.white[:, : len(distribution.mean)]
    weights = _bounded(k.scale.weights, white)
    change = k.scale.rank_one * (white_path**2 - path.variance)
    change += k.scale.rank_mu * (weights @ white**2 - weights.sum())
    scale: FloatArray = distribution.scale * np.exp(
        np.clip(change / (2 * distribution.anisotropy), -1.0, 1.0)
    )
    return scale


def _advance_correlation(
    correlation: FloatArray, layout: Layout, path: Path, residuals: Residuals, rates: Rates
) -> FloatArray:
    """Return the correlation of the latents, not normalized yet (K15)."""
    weights = _bounded(rates.weights, residuals.white)
    updated: FloatArray = (residuals.latent.T * (rates.rank_mu * weights)) @ residuals.latent
    updated += rates.rank_one * np.outer(path.vector, path.vector)
    updated += (1 - rates.rank_one * path.variance - rates.rank_mu * weights.sum()) * correlation
    if len(layout.category):
        updated[layout.within_block] = 0.0
    return updated


def _bounded(weights: FloatArray, residuals: FloatArray) -> FloatArray:
    """Return the weights with negative ones scaled so that long steps cannot make variances negative (K2)."""
    squared = np.maximum((residuals**2).sum(axis=1), 1e-300)
    bounded: FloatArray = np.where(
        weights < 0, weights * np.minimum(1.0, residuals.shape[1] / squared), weights
    )
    return bounded


def _normalize(
    distribution: Distribution, paths: Paths, correlation: FloatArray
) -> tuple[Distribution, Paths]:
    """Move the diagonal of `correlation` into the scales: the same law, with a unit diagonal again."""
    deviation = np.sqrt(np.maximum(np.diag(correlation), 1e-12))
    n = len(distribution.mean)
    moved = replace(
        distribution,
        scale=distribution.scale * deviation[:n],
        correlation=correlation / np.outer(deviation, deviation),
    )
    in_units = Paths(
        paths.step,
        Path(paths.correlation.vector / deviation, paths.correlation.variance),
        Path(paths.scale.vector / deviation[:n], paths.scale.variance),
    )
    return moved, in_units


def limit(distribution: Distribution) -> Distribution:
    """Return the distribution with scales between the floor of a lattice step and the whole range."""
    step_size = min(max(distribution.step_size, 1e-100), 1e100)
    coordinate = np.zeros(distribution.layout.sites.dimension)
    coordinate[distribution.layout.numeric] = distribution.mean
    gap = distribution.layout.sites.spacing(coordinate)[distribution.layout.numeric]
    scale = np.clip(distribution.scale, np.sqrt(distribution.floor) * gap / step_size, 1.0 / step_size)
    mutation = np.clip(distribution.mutation, distribution.floor, 0.5)
    return replace(distribution, step_size=step_size, scale=scale, mutation=mutation)


def _inside(layout: Layout, mean: FloatArray) -> FloatArray:
    return np.where(layout.is_periodic, mean - np.floor(mean), np.clip(mean, 0.0, 1.0))


def _one_hot(distribution: Distribution, x: FloatArray) -> FloatArray:
    widest = distribution.layout.is_choice.shape[1]
    is_chosen: FloatArray = (x[:, distribution.layout.category, None] == np.arange(widest)).astype(np.float64)
    return is_chosen


def _choice_residuals(distribution: Distribution, x: FloatArray) -> FloatArray:
    """Return (one-hot - probability) / deviation for all choices, shape (p, number of choices)."""
    is_choice, p = distribution.layout.is_choice, distribution.smoothed
    residual = (_one_hot(distribution, x) - p)[:, is_choice]
    deviation = np.sqrt(np.maximum(p * (1 - p), 1e-300))[is_choice]
    clipped: FloatArray = np.clip(residual / deviation, -LARGEST_RESIDUAL, LARGEST_RESIDUAL)
    return clipped


def _advance_choices(
    distribution: Distribution, x: FloatArray, k: Constants
) -> tuple[FloatArray, FloatArray]:
    """Return choice probabilities (K18) and mutation rates (K19) of the one-of-c sites."""
    layout = distribution.layout
    if not len(layout.category):
        return distribution.probabilities, distribution.mutation
    chosen = _one_hot(distribution, x)
    probabilities = np.tensordot(k.weights, chosen, axes=1)
    drawn = (chosen * distribution.smoothed).sum(axis=2)
    surprise = np.minimum(1 / (layout.n_choices * np.maximum(drawn, 1e-300)), LARGEST_RESIDUAL**2)
    change = k.scale.rank_mu * (k.scale.weights @ (surprise - 1))
    return probabilities, distribution.mutation * np.exp(np.clip(change, -1.0, 1.0))
