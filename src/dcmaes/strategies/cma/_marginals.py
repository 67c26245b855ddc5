"""Which sites move and which latent normals drive them, and the law of each site by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from dcmaes._validation import FloatArray, IntArray, readonly
from dcmaes.space import Sites

# Below this standard deviation, in spacings, a lattice step is drawn as stay-or-jump; above it as a rounded
# normal, whose mean is then right to 1e-3 spacings and better (benchmarks/cma_ablation.py compares values).
RARE_DEVIATION = 0.6
# A jump of many standard deviations is rare and says no more than one of this many.
LARGEST_RESIDUAL = 3.0
MOST_MUTATION = 0.5
WIDEST_DEVIATION = 1.0
_SQRT_TWO_PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Layout:
    """The sites of a space sorted by how they are drawn.

    A numeric site has one latent normal; a one-of-c site has one for each choice. Sites with a single value
    are left out: nothing about them can be learned. Below, n counts numeric sites, b one-of-c sites, c the
    choices of the widest of these, and l the latent normals.
    """

    sites: Sites

    @cached_property
    def numeric(self) -> IntArray:
        """Indices of the numeric sites that can move, shape (n,)."""
        return readonly(np.flatnonzero(self.sites.is_numeric & self.sites.is_free))

    @cached_property
    def category(self) -> IntArray:
        """Indices of the one-of-c sites with two choices or more, shape (b,)."""
        return readonly(np.flatnonzero(self.sites.is_category & self.sites.is_free))

    @cached_property
    def is_lattice(self) -> NDArray[np.bool_]:
        """Which numeric sites are lattices, shape (n,)."""
        return readonly(self.sites.is_lattice[self.numeric])

    @cached_property
    def has_lattice(self) -> bool:
        """Whether any numeric site is a lattice."""
        return bool(self.is_lattice.any())

    @cached_property
    def is_periodic(self) -> NDArray[np.bool_]:
        """Which numeric sites are circles, shape (n,)."""
        return readonly(self.sites.periodic[self.numeric])

    @cached_property
    def n_choices(self) -> IntArray:
        """Number of choices of each one-of-c site, shape (b,)."""
        return readonly(self.sites.n_states[self.category])

    @cached_property
    def is_state(self) -> NDArray[np.bool_]:
        """Which entries of a padded (b, c) table stand for a state of their site."""
        return readonly(np.arange(int(self.n_choices.max(initial=0))) < self.n_choices[:, None])

    @cached_property
    def shares(self) -> FloatArray:
        """How likely the states of one-of-c sites are to begin with, shape (b, c): by the prior, or equal."""
        shares = self.is_state / np.maximum(self.n_choices, 1)[:, None]
        if self.sites.prior is not None:
            for row, site in enumerate(self.category.tolist()):
                shares[row, : self.n_choices[row]] = self.sites.shares(site)
        return readonly(shares)

    @cached_property
    def n_sites(self) -> int:
        """Number of sites that can move, n + b."""
        return len(self.numeric) + len(self.category)

    @cached_property
    def n_latents(self) -> int:
        """Number of latent normals l: the numeric ones first, then the choices, site after site."""
        return len(self.numeric) + int(self.n_choices.sum())

    @cached_property
    def site_of_latent(self) -> IntArray:
        """The site that each latent drives, shape (l,)."""
        repeated = np.repeat(self.category, self.n_choices)
        return readonly(np.concatenate([self.numeric, repeated]).astype(np.int64))

    @cached_property
    def within_block(self) -> NDArray[np.bool_]:
        """Pairs of different latents of one site, shape (l, l): never correlated."""
        same: NDArray[np.bool_] = self.site_of_latent[:, None] == self.site_of_latent
        same[np.diag_indices(self.n_latents)] = False
        return readonly(same)

    @cached_property
    def n_neighbours(self) -> int:
        """Number of points one step away from a point inside: two for a lattice site, c - 1 for one of c."""
        return 2 * int(self.is_lattice.sum()) + int((self.n_choices - 1).sum())

    def gap(self, mean: FloatArray) -> FloatArray:
        """Return the distance between the states around `mean`, 0 if continuous, shape (n,)."""
        if self._fixed_gap is not None:
            return self._fixed_gap
        return self.sites.spacing(self._all_sites(mean))[self.numeric]

    def fraction(self, mean: FloatArray) -> FloatArray:
        """Return where `mean` lies from the state below (0) to the one above (1), shape (n,)."""
        if self._fixed_gap is not None:
            position = mean * self._states_per_unit
            return position - np.floor(position)
        coordinate = self._all_sites(mean)
        never_up = np.ones_like(coordinate)
        below = self.sites.coordinate(self.sites.from_coordinate(coordinate, never_up))[self.numeric]
        gap = self.gap(mean)
        return np.where(gap > 0, np.clip((mean - below) / np.where(gap > 0, gap, 1.0), 0.0, 1.0), 0.0)

    def inside(self, mean: FloatArray) -> FloatArray:
        """Return numeric coordinates wrapped or clipped into [0, 1], shape (n,)."""
        clipped: FloatArray = np.minimum(np.maximum(mean, 0.0), 1.0)
        if self._has_circle:
            return np.where(self.is_periodic, mean - np.floor(mean), clipped)
        return clipped

    def displacement(self, x: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the unit coordinates of coded points less `mean`, numeric sites only, shape (..., n)."""
        coordinate = self.sites.coordinate(x)
        step: FloatArray = (coordinate if self._is_all_numeric else coordinate[..., self.numeric]) - mean
        if self._has_circle:
            step = np.where(self.is_periodic, step - np.rint(step), step)
        return step

    def active(self, x: FloatArray) -> FloatArray | None:
        """Return 1 for latents of active sites, else 0, shape (p, l); None if all sites always are active."""
        if not self.sites.has_conditions:
            return None
        return self.sites.active(x)[:, self.site_of_latent].astype(np.float64)

    def made(self, active: FloatArray) -> NDArray[np.bool_]:
        """Return which choices were made, shape (p, b), from what `active` returns."""
        first = len(self.numeric) + np.cumsum(self.n_choices) - self.n_choices
        return active[:, first] > 0.0

    def points(self, coordinate: FloatArray, uniforms: FloatArray, choices: FloatArray) -> FloatArray:
        """Return coded points, shape (p, d).

        Parameters
        ----------
        coordinate, uniforms : arrays of shape (p, n)
            Unit coordinates of the numeric sites and the uniforms that round them.
        choices : array of shape (p, b)
            Index of the choice of each one-of-c site.
        """
        if self._is_all_numeric:
            return self.sites.from_coordinate(coordinate, uniforms)
        shape = (len(coordinate), self.sites.dimension)
        all_coordinates, all_uniforms = np.zeros(shape), np.full(shape, 0.5)
        all_coordinates[:, self.numeric], all_uniforms[:, self.numeric] = coordinate, uniforms
        all_coordinates[:, self.category] = choices
        return self.sites.from_coordinate(all_coordinates, all_uniforms)

    @cached_property
    def _is_all_numeric(self) -> bool:
        return len(self.numeric) == self.sites.dimension

    @cached_property
    def _has_circle(self) -> bool:
        return bool(self.is_periodic.any())

    @cached_property
    def _fixed_gap(self) -> FloatArray | None:
        """The gaps if they do not depend on the coordinate, as on a logarithmic lattice they do."""
        if (self.is_lattice & self.sites.log[self.numeric]).any():
            return None
        return readonly(self.sites.spacing(np.zeros(self.sites.dimension))[self.numeric])

    @cached_property
    def _states_per_unit(self) -> FloatArray:
        n_states = self.sites.n_states[self.numeric] - 1.0 + self.is_periodic
        return readonly(np.where(self.is_lattice, n_states, 0.0))

    def _all_sites(self, mean: FloatArray) -> FloatArray:
        coordinate = np.zeros(self.sites.dimension)
        coordinate[self.numeric] = mean
        return coordinate


@dataclass(frozen=True, eq=False)
class Marginals:
    """The laws of the single sites.

    Attributes
    ----------
    mean : array of shape (n,)
        Unit coordinate of the centre, one entry for each numeric site.
    step_size : float
        Common factor of all steps.
    scale : array of shape (n,)
        Factor of each numeric site: its latent deviation is step_size * scale, in unit coordinates.
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
    probabilities: FloatArray
    mutation: FloatArray
    floor: float

    @staticmethod
    def within_limits(
        layout: Layout,
        mean: FloatArray,
        step_size: float,
        scale: FloatArray,
        probabilities: FloatArray,
        mutation: FloatArray,
        floor: float,
    ) -> Marginals:
        """Return marginals with deviations between the floor of a lattice step and the whole range (K20)."""
        step_size = min(max(step_size, 1e-100), 1e100)
        lowest = layout.gap(mean) * (np.sqrt(floor) / step_size)
        scale = np.minimum(np.maximum(scale, lowest), WIDEST_DEVIATION / step_size)
        if len(mutation):
            mutation = np.clip(mutation, min(floor, MOST_MUTATION), MOST_MUTATION)
        return Marginals(layout, mean, step_size, scale, probabilities, mutation, floor)

    @cached_property
    def numeric(self) -> NumericLaw:
        """The laws of the numeric sites."""
        return _numeric_law(self)

    @cached_property
    def smoothed(self) -> FloatArray:
        """Probability with which each choice is drawn, mutation included, shape (b, c)."""
        share = (self.mutation / np.maximum(self.layout.n_choices, 1))[:, None]
        mixed: FloatArray = (1 - self.mutation[:, None]) * self.probabilities + share
        return np.where(self.layout.is_state, mixed, 0.0)  # (K16)


@dataclass(frozen=True, eq=False)
class NumericLaw:
    """Laws of the numeric sites, arrays of shape (n,).

    Attributes
    ----------
    deviation : latent standard deviation in unit coordinates
    gap : distance between neighbouring states, 0 for continuous sites
    is_rare : lattice sites so narrow that they are drawn as stay-or-jump
    has_rare : whether there are any
    jump : probability of a jump either way, where `is_rare`
    spread : standard deviation of the step as it comes out, rounding included
    fidelity : correlation between the latent normal and the step as it comes out
    """

    deviation: FloatArray
    gap: FloatArray
    is_rare: NDArray[np.bool_]
    has_rare: bool
    jump: FloatArray
    spread: FloatArray
    fidelity: FloatArray


def _numeric_law(marginals: Marginals) -> NumericLaw:
    layout, mean = marginals.layout, marginals.mean
    gap = layout.gap(mean)
    deviation = marginals.step_size * marginals.scale
    if not layout.has_lattice:
        ones = np.ones(len(mean))
        return NumericLaw(deviation, gap, np.zeros(len(mean), dtype=bool), False, ones, deviation, ones)
    is_rare: NDArray[np.bool_] = deviation < RARE_DEVIATION * gap
    # (K8): rounding adds to the latent variance that of a uniform error, gap^2 / 12, where steps are wide.
    spread = np.sqrt(deviation**2 + gap**2 / 12)
    fidelity, jump = deviation / spread, np.zeros(len(mean))
    if not (has_rare := bool(is_rare.any())):
        return NumericLaw(deviation, gap, is_rare, has_rare, jump, spread, fidelity)
    fraction, gap_rare = layout.fraction(mean)[is_rare], gap[is_rare]
    jump[is_rare] = v = (deviation[is_rare] / gap_rare) ** 2
    # (K8): where they are narrow it adds the variance of choosing between the states around the mean.
    spread[is_rare] = own = gap_rare * np.sqrt(v + fraction * (1 - fraction))
    fidelity[is_rare] = _threshold_density(fraction, v) * gap_rare / own
    return NumericLaw(deviation, gap, is_rare, has_rare, jump, spread, fidelity)


def _threshold_density(fraction: FloatArray, jump: FloatArray) -> FloatArray:
    """Return the covariance of a standard normal and its stay-or-jump step, in spacings (K9)."""
    thresholds = np.empty((3, len(fraction)))
    thresholds[0] = (1 - fraction) * jump / 2
    thresholds[1] = thresholds[0] + (1 - fraction) * (1 - jump) + fraction * jump / 2
    thresholds[2] = 1 - fraction * jump / 2
    z = ndtri(thresholds)
    density: FloatArray = np.exp(z * z * -0.5).sum(axis=0) / _SQRT_TWO_PI
    return density


def numeric_steps(law: NumericLaw, latents: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return steps from the mean and the uniforms with which the sites round them, shape (p, n) each."""
    steps = law.deviation * latents  # (K7)
    uniforms = np.full_like(steps, 0.5)  # one half rounds to the nearest state
    if law.has_rare:
        rare = law.is_rare
        quantile, half = ndtr(latents[:, rare]), law.jump[rare] / 2
        is_down, is_up = quantile < half, quantile > 1 - half
        steps[:, rare] = law.gap[rare] * (is_up.astype(np.float64) - is_down)  # (K8)
        start = np.where(is_down, 0.0, np.where(is_up, 1 - half, half))
        width = np.where(is_down | is_up, half, 1 - 2 * half)
        # The rest of the same latent number decides the rounding, so that correlations survive it.
        uniforms[:, rare] = 1 - (quantile - start) / width
    return steps, uniforms


def draw_choices(marginals: Marginals, latents: FloatArray) -> FloatArray:
    """Return the choice of each one-of-c site as a float, shape (p, b): the Gumbel-max rule (K17)."""
    is_state = marginals.layout.is_state
    scores = np.full((len(latents), *is_state.shape), -np.inf)
    scores[:, is_state] = np.log(marginals.smoothed[is_state]) - np.log(-log_ndtr(latents))
    choices: FloatArray = scores.argmax(axis=2).astype(np.float64)
    return choices


def numeric_residuals(law: NumericLaw, displacement: FloatArray) -> FloatArray:
    """Return displacements in deviations of their site, jumps bounded, shape (p, n)."""
    residual: FloatArray = displacement / law.spread
    if law.has_rare:
        rare = law.is_rare
        residual[:, rare] = np.clip(residual[:, rare], -LARGEST_RESIDUAL, LARGEST_RESIDUAL)
    return residual


def one_hot(layout: Layout, x: FloatArray) -> FloatArray:
    """Return which choices coded points take, 0 or 1, shape (p, b, c)."""
    is_chosen: FloatArray = (x[:, layout.category, None] == np.arange(layout.is_state.shape[1])).astype(
        np.float64
    )
    return is_chosen


def choice_residuals(marginals: Marginals, chosen: FloatArray) -> FloatArray:
    """Return (one-hot - probability) / deviation of all choices, bounded, shape (p, number of choices)."""
    is_state, p = marginals.layout.is_state, marginals.smoothed
    deviation = np.sqrt(np.maximum(p * (1 - p), 1e-300))[is_state]
    residual: FloatArray = (chosen - p)[:, is_state] / deviation
    return np.clip(residual, -LARGEST_RESIDUAL, LARGEST_RESIDUAL)
