"""The search distribution: marginals that live on the sites, joined by correlated latent normals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from dcmaes._validation import FloatArray
from dcmaes.strategies.cma._layout import Layout

# Below this standard deviation, in spacings, a lattice step is drawn as stay-or-jump; above it as a rounded
# normal, whose mean is then right to 1e-3 spacings and better (benchmarks/cma_ablation.py compares values).
RARE_DEVIATION = 0.6


@dataclass(frozen=True, eq=False)
class Distribution:
    """Where the search looks: everything `draw` needs.

    Attributes
    ----------
    mean : array of shape (n,)
        Unit coordinate of the centre, one entry for each numeric site.
    step_size : float
        Common factor of all steps.
    scale : array of shape (n,)
        Factor of each numeric site: its latent deviation is step_size * scale, in unit coordinates.
    correlation, root : arrays of shape (l, l), or None
        Correlation of the latent normals and its symmetric square root (as of the last factorization);
        None in diagonal mode.
    whitener : array of shape (n, n), or None
        Inverse square root of the correlation of the numeric steps as they come out on the sites.
    anisotropy : float
        How far the correlation is from the identity; it slows the scales down.
    probabilities : array of shape (b, c)
        Probability of each choice of each one-of-c site, padded with zeros.
    mutation : array of shape (b,)
        Probability with which a one-of-c site is drawn uniformly instead.
    floor : float
        Smallest variance of a lattice step, in squared spacings, and smallest mutation.
    """

    layout: Layout
    mean: FloatArray
    step_size: float
    scale: FloatArray
    correlation: FloatArray | None
    root: FloatArray | None
    whitener: FloatArray | None
    anisotropy: float
    probabilities: FloatArray
    mutation: FloatArray
    floor: float

    @cached_property
    def numeric(self) -> NumericLaw:
        """The marginal laws of the numeric sites."""
        return _numeric_law(self)

    @cached_property
    def smoothed(self) -> FloatArray:
        """Probability with which each choice is drawn, mutation included, shape (b, c)."""
        share = self.mutation[:, None] / np.maximum(self.layout.n_choices, 1)[:, None]
        mixed: FloatArray = (1 - self.mutation[:, None]) * self.probabilities + share
        return np.where(self.layout.is_choice, mixed, 0.0)  # (K16)


@dataclass(frozen=True, eq=False)
class NumericLaw:
    """Marginal laws of the numeric sites, arrays of shape (n,).

    Attributes
    ----------
    deviation : latent standard deviation in unit coordinates
    gap : distance between neighbouring states, 0 for continuous sites
    is_rare : lattice sites so narrow that they are drawn as stay-or-jump
    jump : probability of a jump either way, where `is_rare`
    spread : standard deviation of the step as it comes out, rounding included
    fidelity : correlation between the latent normal and the step as it comes out
    """

    deviation: FloatArray
    gap: FloatArray
    is_rare: NDArray[np.bool_]
    jump: FloatArray
    spread: FloatArray
    fidelity: FloatArray


def _numeric_law(distribution: Distribution) -> NumericLaw:
    layout, mean = distribution.layout, distribution.mean
    sites, numeric = layout.sites, layout.numeric
    coordinate = np.zeros(sites.dimension)
    coordinate[numeric] = mean
    gap = sites.spacing(coordinate)[numeric]
    deviation = np.maximum(distribution.step_size * distribution.scale, np.sqrt(distribution.floor) * gap)
    if not layout.is_lattice.any():
        ones = np.ones(len(mean))
        return NumericLaw(deviation, gap, np.zeros(len(mean), dtype=bool), ones, deviation, ones)
    below = sites.coordinate(sites.from_coordinate(coordinate, np.ones(sites.dimension)))[numeric]
    safe_gap = np.where(gap > 0, gap, 1.0)
    fraction = np.clip((mean - below) / safe_gap, 0.0, 1.0)
    is_rare = layout.is_lattice & (deviation < RARE_DEVIATION * gap)
    jump = np.where(is_rare, (deviation / safe_gap) ** 2, 0.0)
    # (K8): a rounded normal gains the variance of a uniform rounding error, stay-or-jump that of its rounding.
    rounding = np.where(is_rare, fraction * (1 - fraction), np.where(layout.is_lattice, 1 / 12, 0.0))
    spread = np.sqrt(deviation**2 + rounding * gap**2)
    fidelity = deviation / spread
    fidelity[is_rare] = (_threshold_density(fraction[is_rare], jump[is_rare]) * gap[is_rare]) / spread[
        is_rare
    ]
    return NumericLaw(deviation, gap, is_rare, jump, spread, fidelity)


def _threshold_density(fraction: FloatArray, jump: FloatArray) -> FloatArray:
    """Return the covariance of a standard normal and its stay-or-jump step, in spacings (K9)."""
    down_two = (1 - fraction) * jump / 2
    down = down_two + (1 - fraction) * (1 - jump) + fraction * jump / 2
    up = 1 - fraction * jump / 2
    thresholds = ndtri(np.stack([down_two, down, up]))
    density: FloatArray = np.exp(-(thresholds**2) / 2).sum(axis=0) / np.sqrt(2 * np.pi)
    return density


def draw(distribution: Distribution, n: int, rng: np.random.Generator) -> FloatArray:
    """Return `n` coded points drawn from the distribution, shape (n, d)."""
    layout = distribution.layout
    latents = rng.standard_normal((n, layout.n_latents))
    if distribution.root is not None:
        latents = latents @ distribution.root  # (K6)
    coordinate = np.zeros((n, layout.sites.dimension))
    uniforms = np.full_like(coordinate, 0.5)  # one half rounds to the nearest state
    n_numeric = len(layout.numeric)
    if n_numeric:
        steps, positions = _numeric_steps(distribution.numeric, latents[:, :n_numeric])
        coordinate[:, layout.numeric] = distribution.mean + steps
        uniforms[:, layout.numeric] = positions
    if len(layout.category):
        coordinate[:, layout.category] = _choices(distribution, latents[:, n_numeric:])
    return layout.sites.from_coordinate(coordinate, uniforms)


def _numeric_steps(law: NumericLaw, latents: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return steps from the mean and the uniforms with which the sites round them, each of shape (n, sites)."""
    steps = law.deviation * latents  # (K7)
    uniforms = np.full_like(steps, 0.5)
    rare = law.is_rare
    if rare.any():
        level, half = ndtr(latents[:, rare]), law.jump[rare] / 2
        is_down, is_up = level < half, level > 1 - half
        steps[:, rare] = law.gap[rare] * (is_up.astype(np.float64) - is_down)  # (K8)
        start = np.where(is_down, 0.0, np.where(is_up, 1 - half, half))
        width = np.where(is_down | is_up, half, 1 - 2 * half)
        # The rest of the same latent number decides the rounding, so that correlations survive it.
        uniforms[:, rare] = 1 - (level - start) / width
    return steps, uniforms


def _choices(distribution: Distribution, latents: FloatArray) -> FloatArray:
    """Return the choice of each one-of-c site as a float, shape (n, b): the Gumbel-max rule (K17)."""
    is_choice = distribution.layout.is_choice
    with np.errstate(divide="ignore"):
        scores = np.full((len(latents), *is_choice.shape), -np.inf)
        scores[:, is_choice] = np.log(distribution.smoothed[is_choice]) - np.log(-log_ndtr(latents))
    choices: FloatArray = scores.argmax(axis=2).astype(np.float64)
    return choices
