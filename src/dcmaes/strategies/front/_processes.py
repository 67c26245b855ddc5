"""New points from few evaluations: the largest gains of hypervolume that Gaussian processes expect."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from dcmaes._validation import FloatArray
from dcmaes.models import Process, Scales, log_improvement
from dcmaes.pareto import is_nondominated, spread_points
from dcmaes.space import Sites
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.front._observations import Observations
from dcmaes.strategies.gaussian_process import changed, climbed

# Steps of each refit of the scales.
_N_FIT_STEPS = 10
# Where expected gains are sought: at so many points anywhere and so many changes of points of the front, then
# by walkers from the most promising of them, which try as many changes in each of their steps as they are; a
# batch is chosen from so many points as well.
_N_POINTS, _N_WALKERS = 200, 8
# Expected gains of more than two objectives are estimated from so many points, which reach beyond the best
# values by this, in units of the front.
N_EXPECTED, _BEYOND = 600, 0.25


@dataclass(frozen=True, eq=False)
class Processes:
    """A Gaussian process of each objective.

    Attributes
    ----------
    each : tuple of m Process
        Of standardized values.
    mean, scale : arrays of shape (m,)
        What was taken off values, and by what they were divided then.
    """

    each: tuple[Process, ...]
    mean: FloatArray
    scale: FloatArray

    @staticmethod
    def of(observed: Observations, sites: Sites, scales: FloatArray) -> Processes:
        """Return the processes of what is known; `scales` have the shape (m, f + 2)."""
        values = observed.values
        mean, scale = values.mean(axis=0), values.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        targets, count = (values - mean) / scale, np.ones(len(values))
        each = tuple(
            Process(sites, observed.x, targets[:, k], count, Scales.of_vector(scales[k]))
            for k in range(values.shape[1])
        )
        return Processes(each, mean, scale)

    def with_beliefs(self, x: FloatArray) -> Processes:
        """Return them after values as expected at more coded points, shape (k, d)."""
        return replace(self, each=tuple(one.with_beliefs(x) for one in self.each))

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations of the values of coded points, (n, d) to (n, m) each."""
        found = [one.predict(x) for one in self.each]
        mean = self.mean + self.scale * np.stack([centre for centre, _ in found], axis=1)
        deviation: FloatArray = self.scale * np.stack([spread for _, spread in found], axis=1)
        return mean, deviation


def refitted_scales(observed: Observations, sites: Sites, scales: FloatArray) -> FloatArray:
    """Return likelier scales of the processes, shape (m, f + 2).

    While there is one value only, the violation, the first row is of that.
    """
    found = scales.copy()
    for k, one in enumerate(Processes.of(observed, sites, scales).each):
        found[k] = one.fitted(_N_FIT_STEPS).scales.vector()
    return found


def promising(
    scales: FloatArray, observed: Observations, n: int, sites: Sites, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return up to `n` new coded points, shape (d,) each, as if those before had their expected values."""
    processes, front = Processes.of(observed, sites, scales), observed.front_values
    if len(pending := memory.pending):
        processes = processes.with_beliefs(pending)
        front = _joined(front, processes.predict(pending)[0])
    pool = _passed_through(processes, observed, front, rng)
    pool = pool[~memory.contains(pool)]
    chosen: list[FloatArray] = []
    while len(pool) and len(chosen) < n:
        mean, deviation = processes.predict(pool)
        best = int(expected_gains(mean, deviation, front, observed.limit).argmax())
        chosen.append(pool[best])
        processes = processes.with_beliefs(pool[best][None])
        front = _joined(front, mean[best][None])
        pool = np.delete(pool, best, axis=0)
    return chosen


def _joined(front: FloatArray, values: FloatArray) -> FloatArray:
    """Return the front with more points, shape (k, m)."""
    joined = np.vstack([front, values])
    return joined[is_nondominated(joined)]


def _passed_through(
    processes: Processes, observed: Observations, front: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return the most promising of all points that a search passes through, best first, shape (k, d)."""
    sites = processes.each[0].sites
    d = sites.dimension

    def promise(x: FloatArray) -> FloatArray:
        return expected_gains(*processes.predict(x), front, observed.limit)

    parents = observed.x[observed.front[rng.integers(len(observed.front), size=_N_POINTS)]]
    anywhere = sites.canonical(sites.uniform(rng.random((_N_POINTS, d))))
    points = np.concatenate([anywhere, changed(sites, parents, rng, several=True)])
    points, promised = climbed(promise, points, sites, rng, (_N_WALKERS, _N_WALKERS))
    points, first = np.unique(points, axis=0, return_index=True)
    best: FloatArray = points[np.argsort(-promised[first], kind="stable")[:_N_POINTS]]
    return best


def expected_gains(
    mean: FloatArray, deviation: FloatArray, front: FloatArray, limit: FloatArray
) -> FloatArray:
    """Return by how much points with normal values are expected to enlarge the hypervolume (O7).

    Exact for one and two objectives; for more, estimated from points that are evenly spread.

    Parameters
    ----------
    mean, deviation : arrays of shape (n, m)
        Of the values of each point, which are independent.
    front : array of shape (k, m)
        Points that are there already; none of them dominates another one.
    limit : array of shape (m,)
        Where the hypervolume counts from.

    Returns
    -------
    array of shape (n,)

    >>> expected_gains(np.array([[0.0, 3.0]]), np.full((1, 2), 1e-9), np.array([[1.0, 2.0]]), np.full(2, 4.0))
    array([1.])
    """
    front = front[(front < limit).all(axis=1)]
    if len(limit) == 1:
        lowest = min(float(front.min(initial=np.inf)), float(limit[0]))
        return np.exp(log_improvement(mean[:, 0], deviation[:, 0], lowest))
    if len(limit) == 2:
        front = front[np.argsort(front[:, 0])]
        right, above = np.append(front[:, 0], limit[0]), np.append(limit[1], front[:, 1])
        width = np.diff(_below(mean[:, :1], deviation[:, :1], right), axis=1, prepend=0.0)
        strips = np.maximum(width, 0.0) * _below(mean[:, 1:], deviation[:, 1:], above)
        total: FloatArray = strips.sum(axis=1)
        return total
    low = np.minimum(front.min(axis=0, initial=np.inf), 0.0) - _BEYOND
    spread = low + (limit - low) * spread_points(N_EXPECTED, len(limit))
    free = spread[~(front[:, None] <= spread).all(axis=2).any(axis=0)]
    is_below = ndtr((free - mean[:, None]) / deviation[:, None]).prod(axis=2)
    volume: FloatArray = is_below.sum(axis=1) / N_EXPECTED * np.prod(limit - low)
    return volume


def _below(mean: FloatArray, deviation: FloatArray, limits: FloatArray) -> FloatArray:
    """Return how far normal values are expected to be below limits, (n, 1) and (k,) to (n, k)."""
    z = (limits - mean) / deviation
    expected = deviation * (z * ndtr(z) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
    below: FloatArray = np.maximum(expected, 0.0)
    return below
