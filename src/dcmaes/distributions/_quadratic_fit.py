"""Parameters of a law exp(a.x + x'Bx/2) on {0..n_i}: from its moments by enumeration, from data at any size.

From moments by Newton's method on the dual of the maximum-entropy problem, which is convex. Moments on the
boundary of what is possible have no finite parameters: those returned then are large, and give the moments up
to rounding. From data by pseudo-likelihood: each variable given all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dcmaes._validation import FloatArray, IntArray
from dcmaes.distributions._quadratic import Exponent, Statistics
from dcmaes.distributions._table import normalise, sum_supersets

_EPSILON = float(np.finfo(np.float64).eps)
# Every probability of a pair is matched to this, relatively, or to the rounding of the moments given.
_RELATIVE_TOLERANCE = 1e-10
_ROUNDINGS = 4.0  # in units of the rounding of one number: sums over all states collect some
# Where rounding ends the search before that, moments off by more than this share of a
# variance, and more than rounding, are refused.
_ACCEPTABLE = 1e-9
_ROUNDED = 1e-12
_MAX_STEPS = 100
_SUFFICIENT_DECREASE = 1e-4  # Armijo's constant, Nocedal & Wright, Numerical Optimization, section 3.1
_LARGEST_MOVE = 20.0  # of a parameter in one step: some probability changes by a factor of e^20
_DAMPINGS = (0.0, 1e-6, 1e-3, 1.0)  # of Newton's step, where the undamped one does not help
_RIDGES = (1e-15, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
_SCALING_WORK = 2e6  # cells of tables to go through: about a second, and more beyond fifteen variables
_TINY = float(np.finfo(np.float64).tiny)
_ZERO = 1e-18  # stands for a probability of zero
# In variables of variance 1: data that some variables separate perfectly would ask for infinite parameters.
_LARGEST_PARAMETER = 50.0


class NotConvergedError(ArithmeticError):
    """Newton's method could not match the moments; carries the last parameters and the mismatch left."""

    def __init__(self, linear: FloatArray, quadratic: FloatArray, mismatch: FloatArray) -> None:
        super().__init__(f"moments still off by {np.abs(mismatch).max():.3g}")
        self.linear, self.quadratic, self.mismatch = linear, quadratic, mismatch


class Dual(NamedTuple):
    """The convex dual A(theta) - <theta, target>, its gradient and its Hessian."""

    value: float
    gradient: FloatArray
    hessian: FloatArray


def fit_binary_moments(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return field and coupling, for states in {0,1}, of the Ising model with this mean and covariance.

    Zeros and ones are exchanged where ones are the rule, so that all that is matched is a probability of
    rare events, which has its digits.

    Parameters
    ----------
    mean : ndarray, shape (k,), in [0, 1]
    covariance : ndarray, shape (k, k)

    Raises
    ------
    NotConvergedError
        If no parameters give the moments.

    Examples
    --------
    >>> field, coupling = fit_binary_moments(np.array([0.5, 0.5]), np.array([[0.25, 0.05], [0.05, 0.25]]))
    >>> round(float(coupling[0, 1]), 6), round(float(np.log(0.3 * 0.3 / (0.2 * 0.2))), 6)
    (0.81093, 0.81093)
    """
    statistics = Statistics.of(np.ones(mean.size, dtype=np.int64))
    flipped = mean > 0.5
    sign = np.where(flipped, -1.0, 1.0)
    rare = np.where(flipped, 1.0 - mean, mean)
    second = covariance * np.outer(sign, sign) + np.outer(rare, rare)
    pairs = np.maximum(second[statistics.first, statistics.second], 0.0)
    target = np.concatenate([rare, pairs])
    masks = _subset_masks(statistics)

    def evaluate(theta: FloatArray) -> Dual:
        law = normalise(Exponent(statistics.trials, *statistics.unpack(theta)).table())
        mixed = sum_supersets(np.exp(law.log_probabilities)).reshape(-1)  # every E[prod x_i over A]  (B7)
        expected = mixed[masks]  # (E3)
        hessian = mixed[masks[:, np.newaxis] | masks] - np.outer(expected, expected)  # (E4)
        return Dual(law.log_partition - float(theta @ target), expected - target, hessian)  # (I8)

    inside = np.where(rare > 0, rare, _ZERO)
    start = np.concatenate([np.log(inside) - np.log1p(-inside), np.zeros(pairs.size)])
    tolerance = _binary_tolerance(rare, np.where(flipped, 1.0, rare), pairs, statistics)
    try:
        theta = _minimise(evaluate, start, target, tolerance, statistics)
    except NotConvergedError:
        start = _fit_proportionally(rare, pairs, statistics)
        theta = _minimise(evaluate, start, target, tolerance, statistics)
    field, coupling = statistics.unpack(theta)
    return sign * (field + coupling @ flipped), coupling * np.outer(sign, sign)


def _fit_proportionally(rare: FloatArray, pairs: FloatArray, statistics: Statistics) -> FloatArray:
    """Return parameters that nearly match the moments, by iterative proportional fitting.

    One pair of variables after the other is given its four probabilities exactly, each time multiplying the
    whole table. It is slow to converge, but goes on where probabilities of very different sizes defeat
    Newton.
    """
    k = rare.size
    table = np.zeros((2,) * k)
    n_cycles = int(np.clip(_SCALING_WORK / (pairs.size * table.size), 20, 2000))
    for _ in range(n_cycles):
        for i, j, both in zip(statistics.first, statistics.second, pairs, strict=True):
            cells = np.array([[1.0 - rare[i] - rare[j] + both, rare[j] - both], [rare[i] - both, both]])
            others = tuple(axis for axis in range(k) if axis not in (i, j))
            reached = np.logaddexp.reduce(table, axis=others) if others else table
            change = np.log(np.maximum(cells, _ZERO)) - reached  # (I14)
            table = table + np.expand_dims(change, others)
    flat = table.reshape(-1)
    masks = _subset_masks(statistics)
    field = flat[masks[:k]] - flat[0]
    coupling = flat[masks[k:]] - flat[0] - field[statistics.first] - field[statistics.second]
    return np.concatenate([field, coupling])


def _subset_masks(statistics: Statistics) -> IntArray:
    """Return where the statistics x_i and x_i x_j sit in tables over {0,1}^k."""
    bits = 2 ** np.arange(statistics.trials.size - 1, -1, -1)
    return np.concatenate([bits, bits[statistics.first] | bits[statistics.second]])


def _binary_tolerance(
    rare: FloatArray, given: FloatArray, pairs: FloatArray, statistics: Statistics
) -> FloatArray:
    """Return how closely each moment is matched: to some digits of the least probable state of a pair.

    No closer than the rounding of the moments allows; `given` is the size of the means that were rounded.
    """
    i, j = statistics.first, statistics.second
    one, other = rare[i], rare[j]
    least = np.minimum(np.minimum(pairs, one - pairs), np.minimum(other - pairs, 1.0 - one - other + pairs))
    rounded = np.concatenate([given, np.minimum(one, other) + given[i] * other + given[j] * one])
    wanted = np.maximum(_RELATIVE_TOLERANCE * np.concatenate([rare, least]), _ROUNDINGS * _EPSILON * rounded)
    return np.where(wanted > 0, wanted, _ZERO)


def fit_lattice_moments(
    trials: IntArray, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return linear and quadratic parameters of the law on {0..n_i} with this mean and covariance.

    The search is done in variables of mean 0 and variance 1, in which the parameters of a normal law are
    those of its correlation matrix.

    Raises
    ------
    NotConvergedError
        If no parameters give the moments.

    Examples
    --------
    >>> linear, quadratic = fit_lattice_moments(np.array([4]), np.array([2.0]), np.array([[2.0]]))
    >>> bool(np.abs([linear[0], quadratic[0, 0]]).max() < 1e-9)     # the uniform law on five states
    True
    """
    statistics = Statistics.of(trials)
    scale = np.sqrt(np.diag(covariance))
    states = [(np.arange(n + 1) - m) / s for n, m, s in zip(trials, mean, scale, strict=True)]
    table = statistics.at(np.stack(np.meshgrid(*states, indexing="ij"), axis=-1).reshape(-1, trials.size))
    correlation = covariance / np.outer(scale, scale)
    target = statistics.pack(np.zeros(trials.size), correlation / (1.0 + np.eye(trials.size)))

    def evaluate(theta: FloatArray) -> Dual:
        law = normalise(table @ theta)
        p = np.exp(law.log_probabilities)
        expected = p @ table  # (E3)
        centred = table - expected
        return Dual(law.log_partition - float(theta @ target), expected - target, (centred.T * p) @ centred)

    precision = np.asarray(linalg.pinvh(correlation + 1e-6 * np.eye(trials.size)))
    start = statistics.pack(np.zeros(trials.size), -np.diag(precision.diagonal()))
    tolerance = np.full(target.size, _RELATIVE_TOLERANCE)
    theta = _minimise(evaluate, start, target, tolerance, statistics)
    standard, curvature = statistics.unpack(theta)
    quadratic = curvature / np.outer(scale, scale)  # (Y4)
    linear = standard / scale - quadratic @ mean
    return statistics.fold(linear, quadratic)


def _minimise(
    evaluate: Callable[[FloatArray], Dual],
    start: FloatArray,
    target: FloatArray,
    tolerance: FloatArray,
    statistics: Statistics,
) -> FloatArray:
    """Return the parameters at which the gradient of the dual is within `tolerance`, by Newton's method."""
    theta, now = start, evaluate(start)
    for _ in range(_MAX_STEPS):
        if (np.abs(now.gradient) <= tolerance).all():
            return theta
        found = _line_search(evaluate, theta, now, target, tolerance)
        if found is None:
            break
        theta, now = found
    scale = np.sqrt(np.maximum(now.hessian.diagonal(), tolerance))
    if (np.abs(now.gradient) <= np.maximum(tolerance, np.maximum(_ACCEPTABLE * scale, _ROUNDED))).all():
        return theta
    raise NotConvergedError(*statistics.unpack(theta), now.gradient)


def _line_search(
    evaluate: Callable[[FloatArray], Dual],
    theta: FloatArray,
    now: Dual,
    target: FloatArray,
    tolerance: FloatArray,
) -> tuple[FloatArray, Dual] | None:
    """Return where a step, or a half, a quarter, ... of it, lowers the dual or halves the mismatch.

    The first step tried is Newton's in the logarithms of the moments, which is right at once where they are
    probabilities of rare events, however far they are from the wanted ones; the other is Newton's own.
    """
    mismatch = float(np.max(np.abs(now.gradient) / tolerance))
    trials = [(_log_mismatch(now, target), 0.0, 3)] + [(now.gradient, damping, 12) for damping in _DAMPINGS]
    for residual, damping, n_halvings in trials:
        step = _solve(now.hessian, residual, damping)
        slope = float(now.gradient @ step)
        for halvings in range(n_halvings):
            there = theta + 0.5**halvings * step
            then = evaluate(there)
            lower = slope < 0 and then.value < now.value + _SUFFICIENT_DECREASE * 0.5**halvings * slope
            if lower or np.max(np.abs(then.gradient) / tolerance) < 0.5 * mismatch:
                return there, then
    return None


def _log_mismatch(now: Dual, target: FloatArray) -> FloatArray:
    """Return E log(E / target) of the positive moments E, which is E - target to first order, else that."""
    expected = now.gradient + target
    positive = (expected > 0) & (target > 0)
    ratio = np.divide(expected, target, out=np.ones_like(target), where=positive)
    return np.where(positive, expected * np.log(ratio), now.gradient)


def _solve(hessian: FloatArray, residual: FloatArray, damping: float) -> FloatArray:
    """Solve for a step in statistics of unit variance, with a ridge of `damping` or more."""
    scale = np.sqrt(np.maximum(hessian.diagonal(), _TINY))
    scaled = hessian / np.outer(scale, scale)
    identity = np.eye(scale.size)
    step = -residual / scale
    for ridge in (damping, *(damping + extra for extra in _RIDGES)):
        try:
            factor = linalg.cho_factor(scaled + ridge * identity, lower=True)
        except linalg.LinAlgError:
            continue
        step = np.asarray(linalg.cho_solve(factor, step))
        break
    step = np.asarray(step / scale)
    return step * min(1.0, _LARGEST_MOVE / max(float(np.abs(step).max()), 1.0))


class _Data(NamedTuple):
    """Observations in variables of mean 0 and variance 1, and the states of each variable in them."""

    y: FloatArray  # (n, k)
    weights: FloatArray  # (n,), summing to one
    states: list[FloatArray]
    centre: FloatArray
    scale: FloatArray


def fit_pseudo_likelihood(
    trials: IntArray, data: FloatArray, weights: FloatArray, *, l1: float, l2: float
) -> Exponent:
    """Return the exponent that maximises the mean log probability of each variable given the others.

    Less l1 times the sum of the sizes, and l2 / 2 times the sum of the squares, of the couplings of variables
    scaled to variance 1. The problem is convex, and solved by L-BFGS-B with couplings split by sign for l1.

    Parameters
    ----------
    trials : ndarray of int64, shape (k,)
    data : ndarray, shape (n, k)
    weights : ndarray, shape (n,)
    l1, l2 : float

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> fit = fit_pseudo_likelihood(np.array([1, 1]), x, np.array([3.0, 3.0, 1.0, 1.0]), l1=0.0, l2=0.0)
    >>> round(float(fit.quadratic[0, 1]), 3), round(float(np.log(9.0)), 3)
    (2.197, 2.197)
    """
    from scipy import optimize

    statistics = Statistics.of(trials)
    scaled = _standardise(trials, data, weights / weights.sum())
    n_own = trials.size + statistics.squared.size
    n_pairs = statistics.first.size

    def objective(split: FloatArray) -> tuple[float, FloatArray]:
        up, down = split[n_own : n_own + n_pairs], split[n_own + n_pairs :]
        theta = np.concatenate([split[:n_own], up - down])
        value, gradient = _negative_log(statistics, scaled, theta)
        pairs = theta[n_own:]
        value += l1 * float(split[n_own:].sum()) + 0.5 * l2 * float(pairs @ pairs)
        slope = gradient[n_own:] + l2 * pairs
        return value, np.concatenate([gradient[:n_own], l1 + slope, l1 - slope])

    bound = _LARGEST_PARAMETER
    found = optimize.minimize(
        objective,
        np.zeros(n_own + 2 * n_pairs),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * n_own + [(0.0, bound)] * (2 * n_pairs),
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30},
    ).x
    pairs = found[n_own : n_own + n_pairs] - found[n_own + n_pairs :]
    slope, curvature = statistics.unpack(np.concatenate([found[:n_own], pairs]))
    quadratic = curvature / np.outer(scaled.scale, scaled.scale)  # (Y4)
    return Exponent.of(trials, slope / scaled.scale - quadratic @ scaled.centre, quadratic)


def _standardise(trials: IntArray, data: FloatArray, weights: FloatArray) -> _Data:
    centre = weights @ data
    deviation = np.sqrt(weights @ (data - centre) ** 2)
    scale = np.where(deviation > 1e-9 * trials, deviation, 1.0)  # rounding may leave a constant some
    states = [(np.arange(n + 1) - c) / s for n, c, s in zip(trials, centre, scale, strict=True)]
    return _Data((data - centre) / scale, weights, states, centre, scale)


def _negative_log(statistics: Statistics, data: _Data, theta: FloatArray) -> tuple[float, FloatArray]:
    """Return minus the mean log pseudo-likelihood and its gradient in the parameters."""
    slope, curvature = statistics.unpack(theta)
    own = curvature.diagonal().copy()
    couplings = curvature - np.diag(own)
    local = slope + data.y @ couplings
    value = 0.0
    off = np.empty_like(data.y)  # expectation given the others, less what was seen
    off_square = np.zeros(own.size)
    for i, states in enumerate(data.states):
        exponents = local[:, i, np.newaxis] * states + 0.5 * own[i] * states**2
        top = exponents.max(axis=1, keepdims=True)
        p = np.exp(exponents - top)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        seen = data.y[:, i]
        log_p = local[:, i] * seen + 0.5 * own[i] * seen**2 - top[:, 0] - np.log(total[:, 0])
        value -= float(data.weights @ log_p)  # (Y10)
        off[:, i] = p @ states - seen
        off_square[i] = data.weights @ (p @ states**2 - seen**2) / 2.0
    weighted = off * data.weights[:, np.newaxis]
    products = weighted.T @ data.y
    pairs = (products + products.T)[statistics.first, statistics.second]
    return value, np.concatenate([weighted.sum(axis=0), off_square[statistics.squared], pairs])
