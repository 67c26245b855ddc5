"""The update as maximum likelihood: a lattice Gaussian law, moved within a trust region."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.distributions import LatticeGaussian
from dcmaes.distributions._heat_bath import resample
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.paper._printed import Generations, between_sites, constants, summarise

N_CHAINS = 256
MOST_STATES = 1024  # of a variable
SWEEPS = 3  # of the chains after each update, and again for each point that is asked for
# The law stops contracting along a direction where its variance, in states, falls below this: a step to the
# next state keeps a probability of about as much.
SMALLEST_VARIANCE = 0.04
LEAST_WIDTH = 0.15  # variance of the narrowest direction of the law, in states
LEARNING_RATE = 0.4
LARGEST_DIVERGENCE = 1.0  # nats between one law and the next
_DRAWN = 4  # points drawn for each that is asked for
CONVERGED_SHARE = 0.5  # of the chains on one point


@dataclass(frozen=True, eq=False)
class LawState(Generations):
    """State of `paper` with update="likelihood".

    Attributes
    ----------
    linear, quadratic : arrays of shapes (k,) and (k, k)
        The parameters of the law.
    chains : array of shape (k, N_CHAINS)
        Draws of the law, which give its moments and start the next draws.
    seed : int
        Of the generators that move the chains.
    """

    linear: FloatArray
    quadratic: FloatArray
    chains: FloatArray
    seed: int

    @cached_property
    def law(self) -> LatticeGaussian:
        """The search distribution on the k variables."""
        return LatticeGaussian(self.trials, self.linear, self.quadratic)

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of the chains, shape (k,)."""
        return np.asarray(self.chains.mean(axis=1))

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the chains, shape (k, k), with the least variance added."""
        centred = self.chains - self.mean[:, np.newaxis]
        covariance = centred @ centred.T / self.chains.shape[1]
        return np.asarray(covariance + SMALLEST_VARIANCE * np.eye(len(covariance)))


def start_law(
    sites: Sites,
    population_size: int,
    centre: FloatArray | None,
    step_size: float | None,
    rng: np.random.Generator,
) -> LawState:
    """Return the first state: all points alike, or a law around `centre`, shape (k,), in states."""
    for i in np.flatnonzero(sites.n_states > MOST_STATES)[:1]:
        raise ValueError(
            f'update="likelihood" draws from all states of a variable, at most {MOST_STATES}, '
            f'but variable {i} has {sites.n_states[i]}; use update="printed"'
        )
    trials = sites.n_states[sites.n_states > 1] - 1
    k = len(trials)
    linear, quadratic = np.zeros(k), np.zeros((k, k))
    if centre is not None or step_size is not None:
        precision = 1.0 / (np.full(k, step_size**2) if step_size else (trials / 4.0) ** 2 + SMALLEST_VARIANCE)
        linear = precision * (trials / 2.0 if centre is None else centre)
        quadratic = -np.diag(precision)
    chains = np.zeros((0, N_CHAINS))
    if k:
        chains = LatticeGaussian(trials, linear, quadratic).sample(N_CHAINS, rng).T.astype(np.float64)
    seed = int(rng.integers(2**31))
    return LawState(
        sites=sites,
        population_size=population_size,
        generation=0,
        waiting=Evaluations.empty(sites.dimension),
        linear=linear,
        quadratic=quadratic,
        chains=chains,
        seed=seed,
    )


def sample_law(state: LawState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
    """Return `n` coded points, shape (n, d): chains taken at random and moved by the heat bath.

    More are drawn than needed, and those that were not evaluated before are taken first: a repeat teaches
    nothing.
    """
    x = np.zeros((_DRAWN * n, state.sites.dimension))
    if state.free.size:
        start = state.chains[:, rng.integers(N_CHAINS, size=len(x))]
        x[:, state.free] = state.law.continue_chains(start, SWEEPS, rng).T
    return x[np.argsort(memory.contains(x), kind="stable")[:n]]


def advance_law(state: LawState, x: FloatArray) -> LawState:
    """Return the state after a population `x` of coded points, best first, shape (population_size, d).

    The law goes a share of the way to that of maximum likelihood of the better half, weighted: mean and
    second moments are mixed, as by a step along the natural gradient, and the parameters change as those of a
    normal law would. The share is the learning rate, or less where that would leave the trust region.
    """
    if state.free.size == 0:
        return replace(state, generation=state.generation + 1)
    weights = constants(len(state.mean), state.population_size).weights
    half = x[: len(weights), state.free]
    m, covariance = state.mean, state.covariance
    off: FloatArray = np.asarray(weights @ half - m, dtype=np.float64)
    spread = (half - m - off).T * weights @ (half - m - off) + SMALLEST_VARIANCE * np.eye(len(m))
    precision: FloatArray = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    share = LEARNING_RATE
    new_mean, new_covariance = _mix(m, covariance, off, spread, share)
    while _divergence(precision, new_mean - m, new_covariance) > LARGEST_DIVERGENCE:
        share *= 0.8
        new_mean, new_covariance = _mix(m, covariance, off, spread, share)
    new_precision = np.linalg.inv(new_covariance)
    linear = state.linear + new_precision @ new_mean - precision @ m
    quadratic = state.quadratic + precision - new_precision
    return _move(state, *_widen(linear, quadratic, new_mean))


def _mix(
    mean: FloatArray, covariance: FloatArray, off: FloatArray, spread: FloatArray, share: float
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of a mixture of two laws whose means are `off` apart (A13)."""
    between = share * (1 - share) * np.outer(off, off)
    return mean + share * off, (1 - share) * covariance + share * spread + between


def _divergence(precision: FloatArray, off: FloatArray, covariance: FloatArray) -> float:
    """Return the divergence of the old normal law, by its precision, from a new one `off` away."""
    ratio = precision @ covariance
    _, log_determinant = np.linalg.slogdet(ratio)
    return 0.5 * float(np.trace(ratio) - len(off) - log_determinant + off @ precision @ off)


def _widen(linear: FloatArray, quadratic: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return parameters with no direction narrower than the least width, and the same slope at the mean."""
    values, vectors = np.linalg.eigh(quadratic)
    wide = (vectors * np.maximum(values, -1.0 / LEAST_WIDTH)) @ vectors.T
    slope = linear + quadratic @ mean
    limit = np.log(10.0 * len(mean) + 10.0)
    return np.clip(slope, -limit, limit) - wide @ mean, wide


def _move(state: LawState, linear: FloatArray, quadratic: FloatArray) -> LawState:
    """Return the state with the law of these parameters: its chains are weighted, resampled and moved."""
    moved = LatticeGaussian(state.trials, linear, quadratic)
    rng = np.random.default_rng([state.seed, state.generation])
    gain = np.asarray(moved.log_weight(state.chains.T)) - np.asarray(state.law.log_weight(state.chains.T))
    weights = np.exp(gain - gain.max())
    chosen = resample(weights / weights.sum(), rng)
    return replace(
        state,
        linear=moved.linear.copy(),
        quadratic=moved.quadratic.copy(),
        chains=moved.continue_chains(state.chains[:, chosen], SWEEPS, rng),
        generation=state.generation + 1,
    )


def law_convergence(state: LawState) -> str | None:
    """Return that most of the law is on one point, or None."""
    _, counts = (
        np.unique(state.chains.T, axis=0, return_counts=True) if state.free.size else (None, [N_CHAINS])
    )
    share = float(np.max(counts)) / N_CHAINS
    if share < CONVERGED_SHARE:
        return None
    return f"{share:.0%} of the law is on one point in generation {state.generation}"


def summarise_law(state: LawState) -> Summary:
    """Return the present search distribution, as its chains show it."""
    probabilities = [
        np.bincount(row, minlength=n + 1) / N_CHAINS if n < N_CHAINS else np.empty(0)
        for row, n in zip(state.chains.astype(np.int64), state.trials.tolist(), strict=True)
    ]
    scale = np.sqrt(state.covariance.diagonal())
    correlation = state.covariance / np.outer(scale, scale)
    return summarise(state, state.mean, state.chains.std(axis=1), probabilities, correlation)


def law_interactions(state: LawState) -> FloatArray:
    """Return the absolute couplings of the law, for variables scaled to variance 1, shape (d, d)."""
    scale = np.sqrt(state.covariance.diagonal())
    return between_sites(state, np.abs(state.quadratic) * np.outer(scale, scale), diagonal=0.0)
