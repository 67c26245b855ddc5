"""A Gaussian process with all orders and a relevance for each variable; see docs/maths.md, section R."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models._regression import cholesky, inverse_of
from dcmaes.space import Sites

# Lengths expected before anything is known: this much of the range of a number, and one change in this many
# choices, both times the square root of the number of sites; with this standard deviation of the logarithm of
# a squared inverse length.
LENGTH_OF_NUMBERS, LENGTH_OF_CHOICES, SPREAD = 0.35, 0.6, 1.6
# The share of main effects as log-odds and the logarithm of the noise: expected, and standard deviations.
MAIN_SHARE, MAIN_SPREAD = -1.0, 1.5
NOISE, NOISE_SPREAD = np.log(1e-3), 2.0
SMALLEST_NOISE, LARGEST_NOISE = np.log(1e-6), np.log(0.5)
# How far the logarithms of relevances may go from what is expected.
FARTHEST = 6.0
# Length of the main effects of numbers, as a share of the range.
MAIN_LENGTH = 0.3


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
        angle = 2 * np.pi * u[:, circles]
        corners = (x[:, site] == state) / np.sqrt(2)
        around = [radius * np.cos(angle) / (2 * np.pi), radius * np.sin(angle) / (2 * np.pi)]
        return np.concatenate([corners, u[:, lines], *around], axis=1)

    def squares(self, x: FloatArray) -> FloatArray:
        """Return the squared distance of each pair of coded points along each free site, shape (f, n, n)."""
        at = self.of(x)
        squares = np.zeros((len(self.free), len(x), len(x)))
        for column, site in zip(at.T, self.site, strict=True):
            squares[site] += np.subtract.outer(column, column) ** 2
        return squares


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
        covariance = self._covariance(self._where.of(x), self._at)
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

        expected, spread = self._prior
        first = self.scales.vector()
        reach = np.append(np.full(len(first) - 2, FARTHEST), [4.0, 0.0])
        low, high = expected - reach, expected + reach
        low[-1], high[-1] = SMALLEST_NOISE, LARGEST_NOISE
        squares = self._where.squares(self.x)
        mains = _main_effects(squares, self.sites.is_choice[self._where.free])
        options: Any = {"maxiter": n_steps, "maxfun": n_steps + 4}
        found = minimize(  # type: ignore[call-overload]  # the stubs know no gradient beside the value
            lambda vector: self._loss(vector, squares, mains, expected, spread),
            first,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options=options,
        )
        return replace(self, scales=Scales.of_vector(found.x))

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

    def _loss(
        self,
        vector: FloatArray,
        squares: FloatArray,
        mains: FloatArray,
        expected: FloatArray,
        spread: FloatArray,
    ) -> tuple[float, FloatArray]:
        """Return the negative log posterior density of scales and its gradient (R4)."""
        n, (f, _, _) = len(self.targets), squares.shape
        relevance, share = np.exp(vector[:f]), 1 / (1 + np.exp(-vector[f]))
        noise = np.exp(vector[-1])
        weights = relevance / relevance.sum()
        together, slope = _matern(np.tensordot(relevance, squares, axes=1))
        alone = np.tensordot(weights, mains, axes=1)
        covariance = share * alone + (1 - share) * together
        noisy = covariance.copy()
        noisy[np.diag_indices(n)] += noise / self.count
        factor = cholesky(noisy)
        alpha = scipy.linalg.cho_solve((factor, True), self.targets, check_finite=False)
        variance = (float(self.targets @ alpha) + 1.0) / (n + 1.0)
        value = (n + 1) / 2 * np.log(variance) + np.log(np.diag(factor)).sum()
        # Derivative of the value by the covariance of the data.
        outer = (inverse_of(factor) - np.outer(alpha, alpha) / variance) / 2
        gradient = np.empty_like(vector)
        by_distance = (1 - share) * (outer * slope).ravel()
        by_main = share * (mains.reshape(f, -1) @ outer.ravel())
        gradient[:f] = relevance * (squares.reshape(f, -1) @ by_distance)
        gradient[:f] += weights * (by_main - weights @ by_main)
        gradient[f] = share * (1 - share) * np.vdot(outer, alone - together)
        gradient[-1] = noise * (np.diag(outer) / self.count).sum()
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

    def _covariance(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the covariance of the function at two sets of coordinates, in units of its variance."""
        relevance, share = np.exp(self.scales.relevance), 1 / (1 + np.exp(-self.scales.main_share))
        site, is_choice = self._where.site, self.sites.is_choice[self._where.free]
        by_column = np.sqrt(relevance)[site]
        scaled, other = left * by_column, right * by_column
        square = (scaled**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * scaled @ other.T
        together, _ = _matern(np.maximum(square, 0.0))
        weights = relevance / relevance.sum()
        # Corners of different states have no main effect in common; two of the same state have it all.
        corners = self._n_corners
        alone = (left[:, :corners] * (2 * weights[site[:corners]])) @ right[:, :corners].T
        for i in np.flatnonzero(~is_choice):
            own = np.flatnonzero(site == i)
            step = left[:, own[0], None] - right[:, own[0]]
            distance = step * step
            for column in own[1:]:
                distance += (left[:, column, None] - right[:, column]) ** 2
            alone += weights[i] * np.exp(distance / (-2 * MAIN_LENGTH**2))
        covariance: FloatArray = share * alone + (1 - share) * together
        return covariance

    @cached_property
    def _n_corners(self) -> int:
        """How many coordinates are those of choices; they come first."""
        return int(self.sites.is_choice[self._where.free][self._where.site].sum())

    @cached_property
    def _factor(self) -> FloatArray:
        covariance = self._covariance(self._at, self._at)
        covariance[np.diag_indices_from(covariance)] += np.exp(self.scales.noise) / self.count
        return cholesky(covariance)

    @cached_property
    def _alpha(self) -> FloatArray:
        alpha: FloatArray = scipy.linalg.cho_solve((self._factor, True), self.targets, check_finite=False)
        return alpha


def _main_effects(squares: FloatArray, is_choice: NDArray[np.bool_]) -> FloatArray:
    """Return the covariances of the main effects of each free site, shape (f, n, n)."""
    mains = 1 - squares
    mains[~is_choice] = np.exp(squares[~is_choice] / (-2 * MAIN_LENGTH**2))
    return mains


def _matern(square: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Matern covariance (5/2) of squared distances, and its derivative by them (R2)."""
    distance = np.sqrt(5 * square)
    decay = np.exp(-distance)
    return (1 + distance + distance**2 / 3) * decay, -5 / 6 * (1 + distance) * decay
