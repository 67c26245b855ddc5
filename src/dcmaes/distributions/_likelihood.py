"""Maximum likelihood for families that are not exponential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.distributions._law import ParametricLaw

_IMPOSSIBLE = 800.0  # stands for minus the log of a probability that underflows


def maximise_likelihood(
    build: Callable[[FloatArray], ParametricLaw],
    start: FloatArray,
    data: FloatArray,
    counts: FloatArray,
    *,
    bounds: Sequence[tuple[float, float]],
) -> FloatArray:
    """Return parameters within `bounds` at which the likelihood of the data has a maximum.

    First without derivatives, which gets past places where the likelihood is not smooth or impossible, then
    by the gradient.
    """
    share = counts / counts.sum()
    seen = share > 0
    points, share = data[seen], share[seen]

    def value(theta: FloatArray) -> float:
        log_p = np.asarray(build(theta).log_pmf(points))
        return -float(share @ np.maximum(log_p, -_IMPOSSIBLE))

    def gradient(theta: FloatArray) -> FloatArray:
        law = build(theta)
        possible = np.isfinite(np.asarray(law.log_pmf(points)))
        return np.asarray(-share[possible] @ law.score(points[possible]))

    rough = start
    if start.size <= 3:
        simplex = {"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-14}
        rough = _minimize(value, start, method="Nelder-Mead", bounds=bounds, options=simplex)
    exact = {"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-11}
    fine = _minimize(value, rough, jac=gradient, method="L-BFGS-B", bounds=bounds, options=exact)
    return np.asarray(min((start, rough, fine), key=value))


def _minimize(value: Callable[[FloatArray], float], start: FloatArray, **options: Any) -> FloatArray:
    from scipy import optimize

    return np.asarray(optimize.minimize(value, start, **options).x)
