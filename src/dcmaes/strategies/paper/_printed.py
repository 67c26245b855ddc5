"""Algorithm 1 of the paper as printed: constants, the law of correlated binomial steps, one generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import bdtrik, ndtr

from dcmaes._validation import FloatArray, IntArray, readonly
from dcmaes.distributions import MultivariateBinomial
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._protocol import Summary

# Up to here trials are drawn and summed: 20 ms for 10 points in 10 variables of so many trials each. Beyond,
# the time would grow without bound.
LARGEST_SUM = 4096
# Results that were never sampled may lie any number of deviations away: nothing may overflow.
STEP_SIZE_LIMITS = (1e-20, 1e20)
LARGEST_CONDITION = 1e14
# With a population so large that C forgets everything at once, a variable that did not move would have none.
SMALLEST_VARIANCE = 1e-20


@dataclass(frozen=True, eq=False)
class Constants:
    """Weights and rates for a number of variables and a population size.

    Attributes
    ----------
    weights : array of shape (population_size // 2,)
        Recombination weights of the better half, best first; they sum to 1.
    effective_size : float
        1 / sum of squared weights.
    sigma_rate, sigma_damping : float
        Cumulation and damping of the step size.
    c_rate : float
        Cumulation of the path of C.
    rank_one, rank_mu : float
        Learning rates of C from its path and from the population.
    expected_length : float
        Expected length of a standard normal vector.
    """

    weights: FloatArray
    effective_size: float
    sigma_rate: float
    sigma_damping: float
    c_rate: float
    rank_one: float
    rank_mu: float
    expected_length: float


def default_population_size(n_variables: int) -> int:
    """Return 4 + 3 log d, rounded down.

    >>> default_population_size(10)
    10
    """
    return 4 + int(3 * np.log(max(n_variables, 1)))


@lru_cache(maxsize=64)
def constants(n_variables: int, population_size: int) -> Constants:
    """Return the constants (A6).

    >>> constants(10, 10).effective_size.__round__(3)
    3.167
    """
    d, half = max(n_variables, 1), population_size // 2
    weights = np.log(population_size / 2 + 0.5) - np.log(np.arange(1, half + 1))
    weights /= weights.sum()
    mu = float(1 / (weights**2).sum())
    sigma_rate = (mu + 2) / (d + mu + 5)
    rank_one = 2 / ((d + 1.3) ** 2 + mu)
    return Constants(
        weights=readonly(weights),
        effective_size=mu,
        sigma_rate=sigma_rate,
        sigma_damping=1 + 2 * max(0.0, float(np.sqrt((mu - 1) / (d + 1))) - 1) + sigma_rate,
        c_rate=(4 + mu / d) / (d + 4 + 2 * mu / d),
        rank_one=rank_one,
        rank_mu=min(1 - rank_one, 2 * (mu - 2 + 1 / mu) / ((d + 2) ** 2 + mu)),
        expected_length=float(np.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d**2))),
    )


class BinomialSteps:
    """Binomial variables with the variances and, as far as they can have them, the covariances asked for.

    Parameters
    ----------
    trials : int64 array of shape (k,)
        Number of trials of each variable.
    covariance : array of shape (k, k)
        Positive definite. Variances above trials / 4 are cut down to that, correlations kept; covariances
        beyond the Frechet bounds are moved onto them.

    Examples
    --------
    >>> steps = BinomialSteps(np.array([4, 4]), np.array([[0.75, 0.2], [0.2, 9.0]]))
    >>> steps.variance, steps.p
    (array([0.75, 1.  ]), array([0.25, 0.5 ]))
    >>> steps.sample(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    def __init__(self, trials: IntArray, covariance: FloatArray) -> None:
        self.trials = trials
        self.covariance = covariance
        asked = covariance.diagonal()
        self.variance: FloatArray = np.minimum(asked, trials / 4)  # (A2)
        fraction = self.variance / trials
        self.p: FloatArray = 2 * fraction / (1 + np.sqrt(1 - 4 * fraction))  # (A3), without its cancellation

    @property
    def mean(self) -> FloatArray:
        """Expectation, shape (k,)."""
        return self.trials * self.p

    @cached_property
    def correlation(self) -> FloatArray:
        """The correlations asked for, shape (k, k), each pair moved into its Frechet bounds."""
        p, n = self.p, self.trials
        deviation = np.sqrt(self.covariance.diagonal())
        shared = np.minimum.outer(n, n) / np.sqrt(np.outer(n, n))
        unit = shared / np.sqrt(np.outer(p * (1 - p), p * (1 - p)))
        lower = (np.maximum(0.0, np.add.outer(p, p) - 1) - np.outer(p, p)) * unit
        upper = (np.minimum.outer(p, p) - np.outer(p, p)) * unit
        result: FloatArray = np.clip(self.covariance / np.outer(deviation, deviation), lower, upper)  # (A4)
        np.fill_diagonal(result, 1.0)
        return result

    @cached_property
    def sums(self) -> MultivariateBinomial | None:
        """The joint law of the variables of few trials: sums of thresholded normal vectors."""
        few = np.flatnonzero(self.trials <= LARGEST_SUM)
        if few.size == 0:
            return None
        trials, p = self.trials[few], self.p[few]
        deviation = np.sqrt(trials * p * (1 - p))
        covariance = self.correlation[np.ix_(few, few)] * np.outer(deviation, deviation)
        return MultivariateBinomial.from_moments(trials, trials * p, covariance)  # (A4)

    @cached_property
    def delivered(self) -> FloatArray:
        """The covariance of what `sample` draws, shape (k, k).

        Variables of few trials and of many are drawn independently of one another, and either may have been
        repaired.
        """
        is_many = self.trials > LARGEST_SUM
        result: FloatArray = np.zeros(self.correlation.shape)
        if self.sums is not None:
            result[np.ix_(~is_many, ~is_many)] = self.sums.covariance
        if is_many.any():
            factor = self._quantile_factor(np.flatnonzero(is_many))
            deviation = np.sqrt(self.variance[is_many])
            result[np.ix_(is_many, is_many)] = factor @ factor.T * np.outer(deviation, deviation)
        return result

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` vectors, whole numbers, shape (n, k)."""
        is_many = self.trials > LARGEST_SUM
        result = np.empty((n, len(self.trials)))
        if self.sums is not None:
            result[:, ~is_many] = self.sums.sample(n, rng)
        if is_many.any():
            result[:, is_many] = self._sample_quantiles(np.flatnonzero(is_many), n, rng)
        return result

    def _sample_quantiles(self, many: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw variables of many trials: binomial quantiles of correlated normals (A5)."""
        normals = rng.standard_normal((n, len(many))) @ self._quantile_factor(many).T
        trials = self.trials[many].astype(np.float64)
        quantiles = np.ceil(bdtrik(ndtr(normals), trials, self.p[many]))
        result: FloatArray = np.clip(np.nan_to_num(quantiles), 0.0, trials)
        return result

    def _quantile_factor(self, many: IntArray) -> FloatArray:
        """Return a factor of the correlation of the normals behind the variables of many trials."""
        values, vectors = np.linalg.eigh(self.correlation[np.ix_(many, many)])
        factor: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
        # Bounds met pair by pair may leave no correlation matrix: rows of length one make it one again.
        return np.asarray(factor / np.linalg.norm(factor, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Generations:
    """What either update knows of its generations. Its k variables are the sites with more than one state.

    Attributes
    ----------
    sites : Sites
        All d sites.
    population_size : int
        Points in a generation.
    generation : int
        Generations so far.
    waiting : Evaluations
        Results that wait for a full population.
    """

    sites: Sites
    population_size: int
    generation: int
    waiting: Evaluations

    @cached_property
    def free(self) -> IntArray:
        """Indices of the sites with more than one state, shape (k,)."""
        return np.flatnonzero(self.sites.n_states > 1)

    @cached_property
    def trials(self) -> IntArray:
        """Largest state of each variable, shape (k,)."""
        return self.sites.n_states[self.free] - 1


@dataclass(frozen=True, eq=False)
class PaperState(Generations):
    """State of the `paper` strategy.

    Attributes
    ----------
    mean : array of shape (k,)
        The centre m, in states.
    step_size : float
        sigma, in states.
    covariance : array of shape (k, k)
        C.
    sigma_path, c_path : arrays of shape (k,)
        The evolution paths of the step size and of C.
    mean_step : float
        Length of the last step of the mean; infinite before the first.
    """

    mean: FloatArray
    step_size: float
    covariance: FloatArray
    sigma_path: FloatArray
    c_path: FloatArray
    mean_step: float

    @cached_property
    def steps(self) -> BinomialSteps:
        """The law B(sigma^2 C) of a step before it is centred (A1)."""
        return BinomialSteps(self.trials, self.step_size**2 * self.covariance)


def advance(state: PaperState, x: FloatArray, *, round_mean: bool) -> PaperState:
    """Return the state after a population `x` of coded points, best first, shape (population_size, d)."""
    m, sigma, C = state.mean, state.step_size, state.covariance
    k = constants(len(m), state.population_size)
    states = x[:, state.free]
    half = states[: len(k.weights)]
    moved = k.weights @ half  # (A7)
    moved = np.rint(moved) if round_mean else moved
    step = (moved - m) / sigma
    gain = np.sqrt(k.sigma_rate * (2 - k.sigma_rate) * k.effective_size)
    p_sigma = (1 - k.sigma_rate) * state.sigma_path + gain * whiten(C, step)  # (A8)
    length = float(np.linalg.norm(p_sigma))
    is_open = length <= 1.5 * np.sqrt(len(m))
    gain = np.sqrt(k.c_rate * (2 - k.c_rate) * k.effective_size)
    p_c = (1 - k.c_rate) * state.c_path + is_open * gain * step  # (A9)
    residuals = (half - m) / sigma
    spread = (residuals.T * k.weights) @ residuals
    decayed = (1 - k.rank_one - k.rank_mu) * C
    updated = decayed + k.rank_one * np.outer(p_c, p_c) + k.rank_mu * spread  # (A10)
    np.fill_diagonal(updated, np.maximum(updated.diagonal(), SMALLEST_VARIANCE))
    change = k.sigma_rate / k.sigma_damping * (length / k.expected_length - 1)
    return replace(
        state,
        mean=moved,
        # One generation never multiplies the step size by more than e, as in other implementations.
        step_size=float(np.clip(sigma * np.exp(min(change, 1.0)), *STEP_SIZE_LIMITS)),  # (A11)
        covariance=(updated + updated.T) / 2,
        sigma_path=p_sigma,
        c_path=p_c,
        mean_step=float(np.linalg.norm(moved - m)),
        generation=state.generation + 1,
    )


def whiten(covariance: FloatArray, step: FloatArray) -> FloatArray:
    """Return C^(-1/2) times `step`.

    >>> whiten(np.diag([4.0, 9.0]), np.array([2.0, 3.0]))
    array([1., 1.])
    """
    if len(step) == 0:
        return step
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, values[-1] / LARGEST_CONDITION)
    white: FloatArray = vectors @ ((vectors.T @ step) / np.sqrt(values))
    return white


def summarise(
    state: Generations,
    mean: FloatArray,
    deviation: FloatArray,
    probabilities: Sequence[FloatArray],
    correlation: FloatArray,
) -> Summary:
    """Return a law of the k variables, in states, as one of all sites; those with one state stay there."""
    sites, free = state.sites, state.free
    centre, spread = np.zeros((2, sites.dimension))
    centre[free], spread[free] = mean, deviation
    u = sites.coordinate(centre)
    spread *= sites.spacing(u)
    marginals = [np.ones(1)] * sites.dimension
    for site, p in zip(free.tolist(), probabilities, strict=True):
        marginals[site] = p
    between = between_sites(state, correlation, diagonal=1.0)
    return Summary(u, spread, tuple(marginals), between, float(np.sqrt((spread**2).mean())))


def between_sites(state: Generations, matrix: FloatArray, *, diagonal: float) -> FloatArray:
    """Return a matrix of the k variables, (k, k), as one of all sites, (d, d), with this diagonal."""
    result = np.zeros((state.sites.dimension, state.sites.dimension))
    result[np.ix_(state.free, state.free)] = matrix
    np.fill_diagonal(result, diagonal)
    return result
