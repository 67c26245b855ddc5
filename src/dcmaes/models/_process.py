"""A Gaussian process with all orders and a relevance for each variable; see docs/maths.md, section R."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import log_ndtr, ndtr

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models._surrogate import cholesky, inverse_of, normal_log_density
from dcmaes.space import Sites

# Lengths expected before anything is known: this much of the range of a number, and one change in this many
# choices, both times the square root of the number of sites; with this standard deviation of the logarithm of
# a squared inverse length.
LENGTH_OF_NUMBERS, LENGTH_OF_CHOICES, SPREAD = 0.35, 0.6, 1.6
# The share of main effects as log-odds and the logarithm of the noise: expected, and standard deviations.
MAIN_SHARE, MAIN_SPREAD = -1.0, 1.5
NOISE, NOISE_SPREAD = np.log(1e-3), 2.0
SMALLEST_NOISE, LARGEST_NOISE = np.log(1e-6), np.log(0.5)
# So many digits of the scales count: the others differ between processors, on which sums are rounded
# differently, and make no difference to what is predicted.
N_DIGITS = 3
# How far the logarithms of relevances may go from what is expected.
FARTHEST = 6.0
# Length of the main effects of numbers, as a share of the range, and how many functions they are made of.
MAIN_LENGTH, N_BUMPS = 0.3, 8


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where coded points are in a Euclidean space, site by site: what a Gaussian process compares.

    A number has its unit coordinate, a periodic one a point on a circle, a choice a corner of a simplex with
    edges of length one. Sites with one value have none. Points in which a site is inactive are equal
    there: in the middle of the numbers, and at a corner of its own if it is a choice.

    Attributes
    ----------
    sites : Sites

    Examples
    --------
    >>> from dcmaes.space import Binary, Integer, Space
    >>> where = Coordinates(Space({"on": Binary(), "n": Integer(0, 4)}).sites)
    >>> where.of(np.array([[0.0, 4.0], [1.0, 1.0]])).round(2)
    array([[0.71, 0.  , 1.  ],
           [0.  , 0.71, 0.25]])
    >>> where.site
    array([0, 0, 1])
    """

    sites: Sites

    @cached_property
    def free(self) -> IntArray:
        """Sites with more than one value, shape (f,)."""
        return np.flatnonzero(self.sites.is_free)

    @cached_property
    def _parts(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Numbers, periodic numbers, and the site and state of each corner."""
        sites = self.sites
        lines, circles = (
            np.flatnonzero(sites.is_line & ~sites.periodic),
            np.flatnonzero(sites.is_line & sites.periodic),
        )
        choices = np.flatnonzero(sites.is_choice)
        # To be inactive is one state more.
        first = -1 if sites.has_conditions else 0
        site = np.repeat(choices, sites.n_states[choices] - first)
        state = (
            np.concatenate([np.arange(first, n) for n in sites.n_states[choices]]) if len(choices) else site
        )
        return lines, circles, site, state

    @cached_property
    def site(self) -> IntArray:
        """Position of the site of each coordinate among the free ones, shape (m,)."""
        lines, circles, corners, _ = self._parts
        return np.searchsorted(self.free, np.concatenate([corners, lines, circles, circles]))

    def of(self, x: FloatArray) -> FloatArray:
        """Return the coordinates of coded points, shape (n, d) to (n, m)."""
        lines, circles, site, state = self._parts
        u, radius = self.sites.coordinate(x), np.ones((len(x), len(circles)))
        if self.sites.has_conditions:
            is_active = self.sites.active(x)
            x, u, radius = (
                np.where(is_active, x, -1.0),
                np.where(is_active, u, 0.5),
                radius * is_active[:, circles],
            )
        corners = (x[:, site] == state) / np.sqrt(2)
        around = radius[:, :, None] * _circle(2 * np.pi * u[:, circles])
        return np.concatenate([corners, u[:, lines], around[:, :, 0], around[:, :, 1]], axis=1)

    @cached_property
    def effect_site(self) -> IntArray:
        """Position of the site of each function of `effects` among the free ones, shape (e,)."""
        lines, circles, corners, _ = self._parts
        numbers = np.repeat(np.concatenate([lines, circles]), N_BUMPS)
        return np.searchsorted(self.free, np.concatenate([corners, numbers]))

    def effects(self, at: FloatArray) -> FloatArray:
        """Return what main effects are made of, shape (n, m) to (n, e): of each site a unit vector.

        A choice has one function for each state, a number bumps at even distances, combined so that the
        product of two points is the covariance of their main effects (R2).
        """
        lines, _, corners, _ = self._parts
        c, q = len(corners), len(lines)
        around = np.stack(np.split(at[:, c + q :], 2, axis=1), axis=2)
        parts = [at[:, :c] * np.sqrt(2)]
        for place, (nodes, whitening) in zip((at[:, c : c + q, None], around), _bases(), strict=True):
            bumps = _bump(place[:, :, None] - nodes) @ whitening
            bumps /= np.sqrt((bumps**2).sum(axis=2, keepdims=True))
            parts.append(bumps.reshape(len(at), bumps.shape[1] * N_BUMPS))
        return np.concatenate(parts, axis=1)


class Scales(NamedTuple):
    """Hyper-parameters of the process.

    Attributes
    ----------
    relevance : array of shape (f,)
        Logarithm of the squared inverse length of each free site.
    main_share : float
        Log-odds of the share of the variance that main effects have.
    noise : float
        Logarithm of the variance of the noise, in units of that of the function.
    """

    relevance: FloatArray
    main_share: float
    noise: float

    @staticmethod
    def expected(sites: Sites) -> Scales:
        """Return what is expected before anything is known."""
        free = np.flatnonzero(sites.is_free)
        length = np.where(sites.is_choice[free], LENGTH_OF_CHOICES, LENGTH_OF_NUMBERS)
        # Each site matters less the more there are: (R3)
        return Scales(-np.log(length**2 * max(len(free), 1)), MAIN_SHARE, float(NOISE))

    def vector(self) -> FloatArray:
        """Return them as one array, shape (f + 2,)."""
        return np.append(self.relevance, [self.main_share, self.noise])

    @staticmethod
    def of_vector(vector: FloatArray) -> Scales:
        """Return the scales that `vector` described."""
        return Scales(vector[:-2], float(vector[-2]), float(vector[-1]))


@dataclass(frozen=True, eq=False)
class Process:
    """Values of points explained by one random function and noise (R1).

    Its covariance is that of main effects, one function of each variable, plus that of a function of all
    variables together, in which each counts by its relevance.

    Attributes
    ----------
    sites : Sites
    x : array of shape (n, d)
        Coded points.
    targets : array of shape (n,)
        Values, in any unit; best with mean 0 and variance 1.
    count : array of shape (n,)
        Of how many values each target is the mean.
    scales : Scales

    Examples
    --------
    >>> from dcmaes.space import Space
    >>> sites = Space.integers(1, 0, 10).sites
    >>> x, targets = np.array([[0.0], [5.0], [10.0]]), np.array([1.0, -1.0, 1.0])
    >>> process = Process(sites, x, targets, np.ones(3), Scales.expected(sites))
    >>> mean, deviation = process.predict(np.array([[5.0], [7.0]]))
    >>> mean.round(2), deviation.round(2)
    (array([-1.  , -0.39]), array([0.04, 0.56]))
    """

    sites: Sites
    x: FloatArray
    targets: FloatArray
    count: FloatArray
    scales: Scales

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the function at coded points, shape (n, d) to (n,) each."""
        covariance = self._covariance(self._where.of(x))
        half = scipy.linalg.solve_triangular(self._factor, covariance.T, lower=True, check_finite=False)
        left = np.maximum(1 - np.einsum("nm,nm->m", half, half), 1e-12)
        return covariance @ self._alpha, np.sqrt(self.variance * left)

    def at_data(self) -> FloatArray:
        """Return the mean of the function at the points that it is of, shape (n,)."""
        mean: FloatArray = self.targets - np.exp(self.scales.noise) / self.count * self._alpha
        return mean

    @property
    def variance(self) -> float:
        """Variance of the function: the likeliest, if one value more had it as its square (R4)."""
        return (float(self.targets @ self._alpha) + 1.0) / (len(self.targets) + 1.0)

    def fitted(self, n_steps: int) -> Process:
        """Return the process with likelier scales, by at most so many quasi-Newton steps."""
        from scipy.optimize import Bounds, minimize  # takes a tenth of a second to load

        expected, _ = self._prior
        first = self.scales.vector()
        reach = np.append(np.full(len(first) - 2, FARTHEST), [4.0, 0.0])
        low, high = expected - reach, expected + reach
        low[-1], high[-1] = SMALLEST_NOISE, LARGEST_NOISE
        options: Any = {"maxiter": n_steps, "maxfun": n_steps + 4}
        found = minimize(
            self.loss, first, jac=True, method="L-BFGS-B", bounds=Bounds(low, high), options=options
        )
        return replace(self, scales=Scales.of_vector(np.round(found.x, N_DIGITS)))

    def with_beliefs(self, x: FloatArray) -> Process:
        """Return the process after values as expected at more coded points, shape (k, d)."""
        if len(x) == 0:
            return self
        mean, _ = self.predict(x)
        return replace(
            self,
            x=np.concatenate([self.x, x]),
            targets=np.concatenate([self.targets, mean]),
            count=np.concatenate([self.count, np.ones(len(x))]),
        )

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each target, given all the others, both of shape (n,)."""
        inverse = inverse_of(self._factor)
        precision = np.diag(inverse)
        return self.targets - self._alpha / precision, np.sqrt(self.variance / precision)

    def log_densities(self) -> FloatArray:
        """Return the logarithm of the density of each target, given all the others, shape (n,)."""
        return normal_log_density(self.targets, *self.left_out())

    def loss(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log posterior density of scales, shape (f + 2,), and its gradient (R4)."""
        at, effects, site, effect_site = self._at, self._effects, self._where.site, self._where.effect_site
        n, f = len(self.targets), len(vector) - 2
        relevance, share = np.exp(vector[:f]), 1 / (1 + np.exp(-vector[f]))
        noise, weights = np.exp(vector[-1]), relevance / relevance.sum()
        scaled = at * np.sqrt(relevance)[site]
        together, slope = _matern(_squares(scaled, scaled))
        alone = (effects * weights[effect_site]) @ effects.T
        noisy = share * alone + (1 - share) * together
        noisy[np.diag_indices(n)] += noise / self.count
        factor = cholesky(noisy)
        alpha = scipy.linalg.cho_solve((factor, True), self.targets, check_finite=False)
        variance = (float(self.targets @ alpha) + 1.0) / (n + 1.0)
        value = (n + 1) / 2 * np.log(variance) + np.log(np.diag(factor)).sum()
        # Derivative of the value by the covariance of the data.
        outer = (inverse_of(factor) - np.outer(alpha, alpha) / variance) / 2
        by_distance = (1 - share) * (outer * slope)
        # The sum over pairs of what a pair counts times its squared distance, coordinate by coordinate.
        by_column = 2 * (by_distance.sum(axis=1) @ at**2 - (at * (by_distance @ at)).sum(axis=0))
        by_main = np.bincount(effect_site, share * (effects * (outer @ effects)).sum(axis=0), minlength=f)
        gradient = np.empty_like(vector)
        gradient[:f] = relevance * np.bincount(site, by_column, minlength=f)
        gradient[:f] += weights * (by_main - weights @ by_main)
        gradient[f] = share * (1 - share) * np.vdot(outer, alone - together)
        gradient[-1] = noise * (np.diag(outer) / self.count).sum()
        expected, spread = self._prior
        z = (vector - expected) / spread
        return float(value + (z @ z) / 2), gradient + z / spread

    @cached_property
    def _prior(self) -> tuple[FloatArray, FloatArray]:
        expected = Scales.expected(self.sites).vector()
        spread = np.full(len(expected), SPREAD)
        spread[-2:] = MAIN_SPREAD, NOISE_SPREAD
        return expected, spread

    @cached_property
    def _where(self) -> Coordinates:
        return Coordinates(self.sites)

    @cached_property
    def _at(self) -> FloatArray:
        return self._where.of(self.x)

    @cached_property
    def _effects(self) -> FloatArray:
        return self._where.effects(self._at)

    def _covariance(self, at: FloatArray) -> FloatArray:
        """Return the covariance of the function at coordinates, (k, m), with the data, in units of its
        variance, shape (k, n)."""
        relevance, share = np.exp(self.scales.relevance), 1 / (1 + np.exp(-self.scales.main_share))
        by_column = np.sqrt(relevance)[self._where.site]
        together, _ = _matern(_squares(at * by_column, self._at * by_column))
        weights = (relevance / relevance.sum())[self._where.effect_site]
        effects = self._effects if at is self._at else self._where.effects(at)
        covariance: FloatArray = (1 - share) * together
        covariance += (effects * (share * weights)) @ self._effects.T
        return covariance

    @cached_property
    def _factor(self) -> FloatArray:
        covariance = self._covariance(self._at)
        covariance[np.diag_indices_from(covariance)] += np.exp(self.scales.noise) / self.count
        return cholesky(covariance)

    @cached_property
    def _alpha(self) -> FloatArray:
        alpha: FloatArray = scipy.linalg.cho_solve((self._factor, True), self.targets, check_finite=False)
        return alpha


def log_improvement(mean: FloatArray, deviation: FloatArray, lowest: float) -> FloatArray:
    """Return the logarithm of the expected improvement on `lowest`, accurate where it is tiny (R7).

    >>> log_improvement(np.array([0.0, 40.0]), np.ones(2), 0.0).round(2)
    array([  -0.92, -808.3 ])
    """
    z = (lowest - mean) / deviation
    density = -(z**2) / 2 - np.log(2 * np.pi) / 2
    # phi + z Phi, as phi times a factor where both are tiny and as it is where they are not.
    low = np.minimum(z, -1.0)
    ratio = np.exp(log_ndtr(low) + low**2 / 2 + np.log(2 * np.pi) / 2)
    factor = np.where(z > -20, 1 + low * ratio, 1 / (low**2 + 3))
    tail = density + np.log(np.maximum(factor, 1e-300))
    high = np.maximum(z, -1.0)
    body = np.log(np.exp(-(high**2) / 2) / np.sqrt(2 * np.pi) + high * ndtr(high))
    value: FloatArray = np.where(z < -1, tail, body) + np.log(deviation)
    return value


def _bump(step: FloatArray) -> FloatArray:
    """Return the covariance of main effects of numbers for steps between them, shape (..., k) to (...)."""
    bump: FloatArray = np.exp((step**2).sum(axis=-1) / (-2 * MAIN_LENGTH**2))
    return bump


@cache
def _bases() -> list[tuple[FloatArray, FloatArray]]:
    """Return the middles of the bumps of numbers, shape (b, 1), and of periodic ones, shape (b, 2), each with
    what makes them independent, shape (b, b)."""
    angle = 2 * np.pi * np.arange(N_BUMPS) / N_BUMPS
    bases = []
    for nodes in (np.linspace(0, 1, N_BUMPS)[:, None], _circle(angle)):
        factor = cholesky(_bump(nodes[:, None] - nodes) + 1e-9 * np.eye(N_BUMPS))
        whitening: FloatArray = np.linalg.inv(factor).T.astype(np.float64)
        bases.append((nodes, whitening))
    return bases


def _circle(angle: FloatArray) -> FloatArray:
    """Return points on a circle of circumference one, shape (...) to (..., 2)."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1) / (2 * np.pi)


def _squares(at: FloatArray, other: FloatArray) -> FloatArray:
    """Return squared distances of coordinates, shapes (n, m) and (k, m) to (n, k)."""
    square = (at**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * at @ other.T
    squares: FloatArray = np.maximum(square, 0.0)
    return squares


def _matern(square: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Matern covariance (5/2) of squared distances, and its derivative by them (R2)."""
    distance = np.sqrt(5 * square)
    decay = np.exp(-distance)
    return (1 + distance + distance**2 / 3) * decay, -5 / 6 * (1 + distance) * decay
