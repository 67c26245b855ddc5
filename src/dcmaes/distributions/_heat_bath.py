"""Simulation of laws exp(a.x + x'Bx/2) on {0..n_i}: the heat bath (Gibbs sampling) and population annealing.

All chains are moved at once: arrays of states are laid out (k, n_chains), so that one site of all chains is
one contiguous row. Population annealing leads a population from independent variables to the law. The
couplings are turned on by degrees; after each the population is weighted, resampled and moved by the heat
bath (Hukushima and Iba 2003). Wells keep the share of the population that is due to them, which chains that
start anywhere do not find out, and the weights estimate the log partition function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dcmaes._validation import FloatArray, IntArray, check_integer, readonly
from dcmaes.distributions._quadratic import Exponent

# Sites per matrix product: larger blocks spend more on the updates within a block, smaller ones more on
# calls. 8, 16 and 32 are within a third of one another at k = 100 and 1000 with 64 to 1024 chains; 64 and 128
# are slower.
_BLOCK = 16
# Groups of chains, or independent populations, whose scatter gives the standard errors: those are then known
# to about a fifth.
_GROUPS = 16
_EFFECTIVE_SHARE = 0.8  # share of an annealed population that the next degree leaves effective
_MOST_DEGREES = 1000


def sweep(states: FloatArray, uniforms: FloatArray, field: FloatArray, coupling: FloatArray) -> None:
    """Redraw every site in {0,1} in turn from its law given all others, in place, in every chain.

    Parameters
    ----------
    states : ndarray of zeros and ones, shape (k, n_chains)
    uniforms : ndarray in [0, 1), shape (k, n_chains)
        Site i becomes 1 where its uniform is below its conditional probability of 1.
    field, coupling : ndarray, shapes (k,) and (k, k), for states in {0,1}

    Examples
    --------
    >>> states = np.zeros((2, 1))
    >>> sweep(states, np.array([[0.6], [0.6]]), np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> states.tolist()
    [[1.0], [1.0]]
    """
    thresholds = special.logit(uniforms)  # u < expit(f) is logit(u) < f, and needs no expit per site  (I6)
    for start in range(0, field.size, _BLOCK):
        block = slice(start, min(start + _BLOCK, field.size))
        # The field of a whole block by one matrix product; changes within the block are added as they happen.
        local = field[block, np.newaxis] + coupling[block] @ states
        inside = coupling[block, block]
        for i, site in enumerate(range(block.start, block.stop)):
            drawn = thresholds[site] < local[i]
            change = drawn - states[site]
            states[site] = drawn
            local[i + 1 :] += inside[i + 1 :, i, np.newaxis] * change


def sweep_lattice(states: FloatArray, uniforms: FloatArray, exponent: Exponent) -> None:
    """Redraw every site in turn from its law given all others, in place, in every chain.

    Site i becomes the least state at which its conditional distribution function exceeds its uniform.

    Parameters
    ----------
    states : ndarray of whole numbers, shape (k, n_chains)
    uniforms : ndarray in [0, 1), shape (k, n_chains)
    exponent : Exponent

    Examples
    --------
    >>> states = np.zeros((1, 3))
    >>> uniform_law = Exponent(np.array([3]), np.zeros(1), np.zeros((1, 1)))
    >>> sweep_lattice(states, np.array([[0.1, 0.6, 0.9]]), uniform_law)
    >>> states.tolist()
    [[0.0, 2.0, 3.0]]
    """
    for i, n in enumerate(exponent.trials):
        couplings = exponent.quadratic[i].copy()
        couplings[i] = 0.0
        weights = np.arange(n + 1)[:, np.newaxis] * (couplings @ states) + exponent.own(i)[:, np.newaxis]
        sums = np.cumsum(np.exp(weights - weights.max(axis=0)), axis=0)
        states[i] = np.minimum((sums <= uniforms[i] * sums[-1]).sum(axis=0), n)  # (Y8)


def redraw(states: FloatArray, exponent: Exponent, rng: np.random.Generator) -> None:
    """Do one sweep over all sites of all chains, in place."""
    uniforms = rng.random(states.shape)
    if (exponent.trials == 1).all():
        sweep(states, uniforms, exponent.linear, exponent.quadratic)
    else:
        sweep_lattice(states, uniforms, exponent)


@dataclass(frozen=True)
class HeatBathSettings:
    """How long to simulate, in sweeps over all sites.

    Examples
    --------
    >>> HeatBathSettings(n_chains=8).n_sweeps(n_draws=3)
    110
    """

    n_chains: int
    burn_in: int = 100
    thinning: int = 5

    def __post_init__(self) -> None:
        check_integer("n_chains", self.n_chains, low=2)
        check_integer("burn_in", self.burn_in, low=1)
        check_integer("thinning", self.thinning, low=1)

    def n_sweeps(self, n_draws: int) -> int:
        """Return the number of sweeps that yield `n_draws` states of each chain."""
        return self.burn_in + self.thinning * (n_draws - 1)


@dataclass
class MixingMonitor:
    """Collects what the split R-hat of every site needs: sums of each chain over two halves of the run.

    Examples
    --------
    >>> monitor = MixingMonitor(first=0, n_sweeps=4)
    >>> for state in (0.0, 1.0, 0.0, 1.0):
    ...     monitor.observe(np.full((1, 2), state))
    >>> monitor.r_hat().round(4)
    array([0.7071])
    """

    first: int
    n_sweeps: int
    _n_seen: int = 0
    _sums: list[FloatArray] = field(default_factory=list)
    _squares: list[FloatArray] = field(default_factory=list)

    @property
    def _half(self) -> int:
        return (self.n_sweeps - self.first) // 2

    def observe(self, states: FloatArray) -> None:
        """Add the states (k, n_chains) after one more sweep."""
        if not self._sums:
            self._sums = [np.zeros(states.shape), np.zeros(states.shape)]
            self._squares = [np.zeros(states.shape), np.zeros(states.shape)]
        place = self._n_seen - self.first
        if 0 <= place < 2 * self._half:
            self._sums[place // self._half] += states
            self._squares[place // self._half] += states * states
        self._n_seen += 1

    def r_hat(self) -> FloatArray:
        """Return the split R-hat of each site, shape (k,); nan if the run is too short to tell."""
        n = self._half
        means = np.concatenate(self._sums, axis=1) / max(n, 1)
        if n < 2:
            return np.full(means.shape[0], np.nan)
        squares = np.concatenate(self._squares, axis=1) / n
        within = np.maximum(squares - means * means, 0.0).mean(axis=1) * n / (n - 1)
        between = means.var(axis=1, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sqrt((n - 1) / n + between / within)  # (I7)
        return np.where(between == 0.0, np.where(within == 0.0, 1.0, ratio), ratio)


def simulate(
    exponent: Exponent,
    n_draws: int,
    settings: HeatBathSettings,
    rng: np.random.Generator,
    monitor: MixingMonitor,
    states: FloatArray,
) -> Iterator[FloatArray]:
    """Move `states` (k, n_chains) in place, and yield it `n_draws` times, as often as the settings say.

    >>> settings = HeatBathSettings(n_chains=4)
    >>> monitor = MixingMonitor(settings.burn_in // 2, settings.n_sweeps(2))
    >>> exponent = Exponent(np.ones(3, dtype=np.int64), np.zeros(3), np.zeros((3, 3)))
    >>> draws = simulate(exponent, 2, settings, np.random.default_rng(0), monitor, np.zeros((3, 4)))
    >>> [states.shape for states in draws]
    [(3, 4), (3, 4)]
    """
    for number in range(1, settings.n_sweeps(n_draws) + 1):
        redraw(states, exponent, rng)
        monitor.observe(states)
        since = number - settings.burn_in
        if since >= 0 and since % settings.thinning == 0:
            yield states


@dataclass(frozen=True)
class HeatBathRun:
    """Points drawn by heat-bath simulation, and how well the chains that made them had mixed.

    Attributes
    ----------
    samples : ndarray of int64, shape (size, k)
        Consecutive rows come from different chains.
    r_hat : ndarray, shape (k,)
        Split R-hat of each variable, over all sweeps from the middle of the burn-in to the last draw; values
        near 1 (below 1.1, say) are good.
    settings : n_chains, burn_in and thinning as used

    Examples
    --------
    >>> run = HeatBathRun(np.zeros((1, 2), dtype=np.int64), np.array([1.0, 1.2]), HeatBathSettings(4))
    >>> run.max_r_hat
    1.2
    """

    samples: IntArray
    r_hat: FloatArray
    settings: HeatBathSettings

    @property
    def max_r_hat(self) -> float:
        """The worst R-hat over the variables."""
        return float(np.max(self.r_hat))


def run_heat_bath(
    exponent: Exponent,
    size: int,
    settings: HeatBathSettings,
    rng: np.random.Generator,
    start: FloatArray,
) -> HeatBathRun:
    """Draw `size` points of the law with this exponent, by chains that start at `start` (k, n_chains).

    >>> exponent = Exponent(np.ones(3, dtype=np.int64), np.zeros(3), np.zeros((3, 3)))
    >>> run = run_heat_bath(exponent, 10, HeatBathSettings(4), np.random.default_rng(0), np.zeros((3, 4)))
    >>> run.samples.shape, run.r_hat.shape
    ((10, 3), (3,))
    """
    n_draws = max(1, -(-size // settings.n_chains))
    monitor = MixingMonitor(settings.burn_in // 2, settings.n_sweeps(n_draws))
    k = exponent.trials.size
    draws: NDArray[np.int64] = np.empty((n_draws, settings.n_chains, k), dtype=np.int64)
    for i, states in enumerate(simulate(exponent, n_draws, settings, rng, monitor, start)):
        draws[i] = states.T
    return HeatBathRun(draws.reshape(-1, k)[:size], monitor.r_hat(), settings)


@dataclass(frozen=True)
class MomentEstimate:
    """Mean and covariance of some variables, with what is known of their errors.

    Attributes
    ----------
    mean, covariance : ndarray, shapes (k,) and (k, k)
    mean_error, covariance_error : ndarray, same shapes
        Standard errors; 0 when exact.
    r_hat : ndarray, shape (k,)
        Split R-hat of each variable; 1 when exact.
    method : "exact" or "gibbs"

    Examples
    --------
    >>> MomentEstimate.exact(np.array([0.5]), np.array([[0.25]])).mean_error
    array([0.])
    """

    mean: FloatArray
    covariance: FloatArray
    mean_error: FloatArray
    covariance_error: FloatArray
    r_hat: FloatArray
    method: str

    @classmethod
    def exact(cls, mean: FloatArray, covariance: FloatArray) -> Self:
        """Wrap moments that are known without error."""
        zeros, ones = np.zeros_like(mean), np.ones_like(mean)
        return cls(
            mean, covariance, readonly(zeros), readonly(np.zeros_like(covariance)), readonly(ones), "exact"
        )


def estimate_moments(
    exponent: Exponent,
    n_draws: int,
    settings: HeatBathSettings,
    rng: np.random.Generator,
    start: FloatArray,
) -> MomentEstimate:
    """Estimate the moments of the law with this exponent, by chains that start at `start` (k, n_chains).

    >>> settings = HeatBathSettings(n_chains=64)
    >>> exponent = Exponent(np.ones(2, dtype=np.int64), np.zeros(2), np.zeros((2, 2)))
    >>> estimate_moments(exponent, 50, settings, np.random.default_rng(0), np.zeros((2, 64))).mean.round(1)
    array([0.5, 0.5])
    """
    k = exponent.trials.size
    if settings.n_chains < _GROUPS:
        raise ValueError(f"n_chains must be at least {_GROUPS} to tell the error, got {settings.n_chains}")
    groups = [slice(group, None, _GROUPS) for group in range(_GROUPS)]
    sizes = np.array([len(range(settings.n_chains)[group]) for group in groups]) * n_draws
    first = np.zeros((_GROUPS, k))
    second = np.zeros((_GROUPS, k, k))
    monitor = MixingMonitor(settings.burn_in // 2, settings.n_sweeps(n_draws))
    for states in simulate(exponent, n_draws, settings, rng, monitor, start):
        for number, group in enumerate(groups):
            part = states[:, group]
            first[number] += part.sum(axis=1)
            second[number] += part @ part.T
    first /= sizes[:, np.newaxis]
    second /= sizes[:, np.newaxis, np.newaxis]
    weights = sizes / sizes.sum()
    mean = weights @ first
    # Products around the common mean: their average is the covariance, their scatter its error (delta
    # method).
    second -= mean[:, np.newaxis] * first[:, np.newaxis, :]
    second -= mean * first[:, :, np.newaxis]
    second += np.outer(mean, mean)
    covariance = np.tensordot(weights, second, axes=1)
    return MomentEstimate(
        mean=readonly(mean),
        covariance=readonly(covariance),
        mean_error=readonly(first.std(axis=0, ddof=1) / np.sqrt(_GROUPS)),  # (I5)
        covariance_error=readonly(second.std(axis=0, ddof=1) / np.sqrt(_GROUPS)),
        r_hat=readonly(monitor.r_hat()),
        method="gibbs",
    )


class AnnealedPopulation(NamedTuple):
    """States drawn from a law, and its log partition function with a standard error."""

    states: FloatArray  # (k, n_chains)
    log_partition: float
    error: float


def anneal(
    exponent: Exponent, n_chains: int, rng: np.random.Generator, n_sweeps: int = 1
) -> AnnealedPopulation:
    """Lead `n_chains` chains, in groups, from independent variables to the law.

    >>> exponent = Exponent(np.ones(3, dtype=np.int64), np.zeros(3), np.zeros((3, 3)))
    >>> population = anneal(exponent, 64, np.random.default_rng(0))
    >>> round(float(population.log_partition / np.log(2)), 12), population.error
    (3.0, 0.0)
    """
    n_groups = min(_GROUPS, n_chains)
    group = np.arange(n_chains) % n_groups
    coupling = exponent.quadratic - np.diag(exponent.quadratic.diagonal())
    centre = exponent.trials / 2.0  # feels no well more than another
    independent = Exponent(
        exponent.trials, exponent.linear + coupling @ centre, exponent.quadratic - coupling
    )
    states, start = _sample_independent(independent, n_chains, rng)
    log_means = np.full(n_groups, start)
    degree = 0.0
    for _ in range(_MOST_DEGREES):
        gain = 0.5 * ((coupling @ states) * states).sum(axis=0) - (coupling @ centre) @ states
        step = _next_step(gain, 1.0 - degree)
        degree = 1.0 if step >= 1.0 - degree else degree + step
        states = _resample(states, step * gain, group, log_means, rng)  # (Y9)
        at = Exponent(
            exponent.trials,
            exponent.linear + (1.0 - degree) * (coupling @ centre),
            exponent.quadratic - (1.0 - degree) * coupling,
        )
        for _ in range(n_sweeps):
            redraw(states, at, rng)
        if degree == 1.0:
            break
    top = float(log_means.max())
    shares = np.exp(log_means - top)
    error = float(shares.std(ddof=1) / shares.mean() / np.sqrt(n_groups)) if n_groups > 1 else np.inf
    return AnnealedPopulation(states, top + float(np.log(shares.mean())), error)


def _sample_independent(exponent: Exponent, n: int, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Return states (k, n) of independent variables and their log partition function."""
    states = np.empty((exponent.trials.size, n))
    total = 0.0
    for i in range(exponent.trials.size):
        weights = exponent.own(i)
        total += float(special.logsumexp(weights))
        states[i] = rng.choice(weights.size, size=n, p=special.softmax(weights))
    return states, total


def _next_step(gain: FloatArray, rest: float) -> float:
    """Return how far to go so that the share `_EFFECTIVE_SHARE` of the population stays effective."""

    def effective(step: float) -> float:
        weights = special.softmax(step * gain)
        return float(1.0 / (weights @ weights) / gain.size)

    if effective(rest) >= _EFFECTIVE_SHARE:
        return rest
    from scipy import optimize

    return max(
        float(optimize.brentq(lambda step: effective(step) - _EFFECTIVE_SHARE, 0.0, rest, rtol=1e-12)), 1e-6
    )


def _resample(
    states: FloatArray,
    log_weights: FloatArray,
    group: IntArray,
    log_means: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return states drawn by weight within each group, adding the log mean weights to `log_means`."""
    chosen = np.empty(states.shape[1], dtype=np.int64)
    for number in range(log_means.size):
        members = np.flatnonzero(group == number)
        own = log_weights[members]
        log_means[number] += float(special.logsumexp(own)) - np.log(members.size)
        chosen[members] = members[resample(special.softmax(own), rng)]
    return states[:, chosen]


def resample(probabilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw as many of n items, by their probabilities (n,), with one uniform number: the least scatter.

    >>> resample(np.array([0.5, 0.0, 0.25, 0.25]), np.random.default_rng(0))
    array([0, 0, 2, 3])
    """
    n = probabilities.size
    quantiles = (rng.random() + np.arange(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(probabilities), quantiles), n - 1)
