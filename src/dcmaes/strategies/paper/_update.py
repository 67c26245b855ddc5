"""One generation of Algorithm 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies.paper._constants import constants
from dcmaes.strategies.paper._state import PaperState

# Results that were never sampled may lie any number of deviations away: nothing may overflow.
STEP_SIZE_LIMITS = (1e-20, 1e20)
LARGEST_CONDITION = 1e14
# With a population so large that C forgets everything at once, a variable that did not move would have none.
SMALLEST_VARIANCE = 1e-20


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
