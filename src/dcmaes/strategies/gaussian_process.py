"""Expected improvement under a Gaussian process, for few evaluations; see docs/maths.md, section R."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Process, Scales, log_improvement
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._labels import low_rise, rises
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Part

# Points proposed for each update.
BATCH = 2
# Evaluations that the process is of, at most: its time grows with the cube, and with the square times the
# number of sites, which is at most the second number.
MOST, MOST_NUMBERS = 300, 4_000_000
# The first proposal comes after as many evaluations as there are sites, between these limits.
FEWEST_FIRST, MOST_FIRST = 4, 8
# Scales are refitted whenever the number of evaluations has grown by this share, by so many steps.
REFIT_SHARE, N_STEPS = 0.08, 40
# Shares of the rises above the best value: up to such a quantile values are taken nearly as they are, higher
# ones as their logarithm (R5). The last stands for no logarithm at all.
SHARES = (0.1, 0.3, 0.6, 0.9, np.inf)
FIRST_SHARE = 1
# Where expected improvement is sought: at points anywhere and at changes of each of the best points, then by
# walkers from the most promising of them, which try so many changes in each of their steps.
N_ANYWHERE, N_BEST, N_CHILDREN = 200, 5, 40
N_WALKERS, N_TRIES, N_MOVES = 4, 16, 12
# So many digits of what a point promises count, so that points that are alike by symmetry are alike on any
# processor.
N_DIGITS = 6
# The largest share of the sites that a change of one of the best points has in it.
LARGEST_CHANGE = 0.5
# Numbers change by normal steps of ten to a power between these, in units of the range; or go anywhere, with
# this probability.
STEP_EXPONENTS, JUMP = (-2.5, -0.3), 0.2


@dataclass(frozen=True, eq=False)
class ProcessState:
    """State of the search with a Gaussian process.

    Attributes
    ----------
    sites : Sites
    scales : array of shape (f + 2,)
        Hyper-parameters of the process.
    share : int
        Which of `SHARES` says what values are taken as they are.
    n_fitted, n_fits : int
        Evaluations at the last refit, and refits in all.
    """

    sites: Sites
    scales: FloatArray
    share: int
    n_fitted: int
    n_fits: int


class GaussianProcess(Part[ProcessState]):
    """Propose the points of largest expected improvement under a Gaussian process of all values.

    Meant for the first few hundred evaluations of anything: one of the proposers of `auto`.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space({"n": dc.Integer(0, 99), "how": dc.Categorical(["a", "b", "c"])})
    >>> def cost(point):
    ...     return abs(point["n"] - 70) + 20 * (point["how"] != "b")
    >>> dc.minimize(cost, space, budget=40, seed=0, strategy=GaussianProcess(), target=0).fun
    0.0
    """

    state_type = ProcessState

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return "process"

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> ProcessState:
        """Return the first state, with the scales that are expected of any function."""
        return ProcessState(sites, Scales.expected(sites).vector(), FIRST_SHARE, 0, 0)

    def batch_size(self, state: ProcessState) -> int:
        """Return how many points are proposed at a time."""
        return BATCH

    def sample(self, state: ProcessState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d), each as if those before had their expected values."""
        told = memory.recall(most_values(state.sites))
        if len(memory) < first_values(state.sites) or not np.isfinite(told.violation).any():
            return state.sites.uniform(rng.random((n, state.sites.dimension)))
        process = _process(state, told)[0].with_beliefs(memory.pending)
        chosen: list[FloatArray] = []
        for _ in range(n):
            x = most_promising(process, told, rng, partial(_is_known, memory, chosen))
            chosen.append(x)
            process = process.with_beliefs(x[None])
        return np.array(chosen)

    def update(self, state: ProcessState, told: Evaluations, memory: Memory) -> ProcessState:
        """Return the state after learning from the memory."""
        return self.join(state, memory)

    def join(self, state: ProcessState, memory: Memory) -> ProcessState:
        """Return the state with its scales refitted, if there are enough new evaluations of anybody."""
        n = memory.n_seen
        is_due = n >= max(first_values(state.sites), (1 + REFIT_SHARE) * state.n_fitted)
        return refitted(state, memory) if is_due and memory.best is not None else state

    def is_useful(self, memory: Memory) -> bool:
        """Tell whether there are enough evaluations to learn from, and not too many."""
        sites = memory.sites
        return bool(sites.is_free.any()) and first_values(sites) <= len(memory) <= most_values(sites)

    def convergence(self, state: ProcessState, memory: Memory) -> str | None:
        """Return None: there is always a most promising point."""
        return None

    def interactions(self, state: ProcessState, memory: Memory) -> FloatArray:
        """Return zeros, shape (d, d): relevances are of single sites."""
        return np.zeros((state.sites.dimension, state.sites.dimension))


def first_values(sites: Sites) -> int:
    """Return after how many evaluations the process proposes points."""
    return int(np.clip(sites.is_free.sum(), FEWEST_FIRST, MOST_FIRST))


def most_values(sites: Sites) -> int:
    """Return how many evaluations the process is of, at most.

    >>> from dcmaes.space import Space
    >>> [most_values(Space.binary(d).sites) for d in (10, 1000)]
    [300, 63]
    """
    return int(min(MOST, np.sqrt(MOST_NUMBERS / max(int(sites.is_free.sum()), 1))))


def _is_known(memory: Memory, chosen: list[FloatArray], x: FloatArray) -> bool:
    """Tell whether a coded point is known, or chosen already."""
    return bool(memory.contains(x)[0]) or any(np.array_equal(x, other) for other in chosen)


def refitted(state: ProcessState, memory: Memory) -> ProcessState:
    """Return the state with likelier scales, and with a larger or smaller share if that predicts better."""
    told = memory.recall(most_values(state.sites))
    state = replace(state, n_fitted=memory.n_seen, n_fits=state.n_fits + 1)
    process, log_slope = _process(state, told)
    # From the scales so far and from those expected of any function: a fit may be stuck at either.
    starts = (process, replace(process, scales=Scales.expected(state.sites)))
    fits = [start.fitted(N_STEPS) for start in starts]
    process = min(fits, key=lambda fit: fit.loss(fit.scales.vector())[0])
    state = replace(state, scales=process.scales.vector())
    share = state.share + (-1 if state.n_fits % 2 else 1)
    if not 0 <= share < len(SHARES):
        return state
    other, log_slope_of_other = _process(replace(state, share=share), told)
    other = other.fitted(N_STEPS)
    if _foresight(other, log_slope_of_other) <= _foresight(process, log_slope):
        return state
    return replace(state, share=share, scales=other.scales.vector())


def _foresight(process: Process, log_slope: FloatArray) -> float:
    """Return the mean log density of the lower half of the values, each given all others (R6)."""
    densities = process.log_densities() + log_slope
    lower = process.targets <= np.median(process.targets)
    return float(densities[lower].mean())


def _process(state: ProcessState, told: Evaluations) -> tuple[Process, FloatArray]:
    """Return the process of the values, and the log derivative of its targets by the values, shape (n,)."""
    rise = rises(told)
    share = SHARES[state.share]
    unit = low_rise(rise, min(share, 1.0), float(rise.max()))
    targets = np.log1p(rise / unit) if share < np.inf else rise / unit
    scale = float(targets.std()) or 1.0
    # The derivative itself overflows where all values are near the smallest numbers.
    log_slope = -np.log(unit + rise if share < np.inf else np.full(len(rise), unit)) - np.log(scale)
    targets = (targets - targets.mean()) / scale
    count = told.count.astype(np.float64)
    return Process(state.sites, told.x, targets, count, Scales.of_vector(state.scales)), log_slope


def most_promising(
    process: Process, told: Evaluations, rng: np.random.Generator, is_known: Callable[[FloatArray], bool]
) -> FloatArray:
    """Return the new coded point of largest expected improvement that a search finds, shape (d,)."""
    sites, d = process.sites, process.sites.dimension
    lowest = float(process.at_data().min())

    def promise(x: FloatArray) -> FloatArray:
        """Return the logarithm of the improvement that is expected of coded points, (n, d) to (n,)."""
        return log_improvement(*process.predict(x), lowest)

    best = told.x[told.order()[:N_BEST]]
    anywhere = sites.canonical(sites.uniform(rng.random((N_ANYWHERE, d))))
    near = changed(sites, np.repeat(best, N_CHILDREN, axis=0), rng, several=True)
    points, level = climbed(promise, np.concatenate([anywhere, near]), sites, rng, (N_WALKERS, N_TRIES))
    for x in points[np.argsort(-level, kind="stable")]:
        if not is_known(x):
            break
    new: FloatArray = x
    return new


def climbed(
    promise: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    sites: Sites,
    rng: np.random.Generator,
    size: tuple[int, int],
) -> tuple[FloatArray, FloatArray]:
    """Return points, those that walkers try from the most promising of them, and what all promise.

    Parameters
    ----------
    promise : callable
        Of coded points, shape (n, d) to (n,).
    points : array of shape (n, d)
    size : pair of ints
        How many walkers there are, and how many changes of one site each tries in a step.

    Returns
    -------
    points, level : arrays of shapes (m, d) and (m,)
    """
    (n_walkers, n_tries), d = size, sites.dimension
    level = np.round(promise(points), N_DIGITS)
    visited, levels = [points], [level]
    top = np.argsort(-level, kind="stable")[:n_walkers]
    at, level, rows = points[top], level[top], np.arange(n_walkers)
    for _ in range(N_MOVES + d // 2):
        tries = changed(sites, np.repeat(at, n_tries, axis=0), rng, several=False)
        found = np.round(promise(tries), N_DIGITS)
        visited.append(tries)
        levels.append(found)
        found = found.reshape(n_walkers, n_tries)
        pick = found.argmax(axis=1)
        tried, highest = tries.reshape(n_walkers, n_tries, d)[rows, pick], found[rows, pick]
        is_higher = highest > level
        at, level = np.where(is_higher[:, None], tried, at), np.where(is_higher, highest, level)
    return np.concatenate(visited), np.concatenate(levels)


def changed(sites: Sites, x: FloatArray, rng: np.random.Generator, *, several: bool) -> FloatArray:
    """Return coded points with one site changed, or several; numbers mostly a little, shape (n, d).

    Of the sites that are active; those that wake up are drawn.
    """
    new = _changed(sites, x, rng, several=several)
    if not sites.has_conditions:
        return new
    return sites.canonical(sites.awake(new, x, rng.random(x.shape)))


def _changed(sites: Sites, x: FloatArray, rng: np.random.Generator, *, several: bool) -> FloatArray:
    n, d = x.shape
    free = np.flatnonzero(sites.is_free)
    is_changed = np.zeros((n, d), dtype=bool)
    is_changed[np.arange(n), free[rng.integers(len(free), size=n)]] = True
    if sites.has_conditions:
        # One of the active sites, each with the same probability.
        luck = np.where(sites.active(x) & sites.is_free, rng.random((n, d)), -1.0)
        is_changed = (luck == luck.max(axis=1, keepdims=True)) & sites.is_free
    if several:
        is_changed |= (rng.random((n, d)) < LARGEST_CHANGE * rng.random((n, 1)) ** 2) & sites.is_free
    row, site = np.nonzero(is_changed)
    new = x.copy()
    # Another state of a choice, each with the same probability.
    others = sites.n_states[site] - 1
    new[row, site] = (x[row, site] + 1 + np.floor(rng.random(len(row)) * others)) % np.maximum(others + 1, 1)
    is_line = sites.is_line[site]
    if not is_line.any():
        return new
    row, site = row[is_line], site[is_line]
    u = sites.coordinate(x)
    step = 10 ** rng.uniform(*STEP_EXPONENTS, size=len(row)) * rng.standard_normal(len(row))
    gap = sites.spacing(u)[row, site]
    # A lattice moves by one state at least.
    u[row, site] += np.where(np.abs(step) < gap, np.copysign(gap, step), step)
    u = np.where(sites.periodic, u % 1.0, np.where(sites.is_category, u, np.clip(u, 0.0, 1.0)))
    is_near = rng.random(len(row)) > JUMP
    near, anywhere = sites.from_coordinate(u, rng.random((n, d))), sites.uniform(rng.random((n, d)))
    new[row, site] = np.where(is_near, near[row, site], anywhere[row, site])
    return new
