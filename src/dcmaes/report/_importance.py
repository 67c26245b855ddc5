"""How much each variable matters, read off a smooth model of the evaluations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._guards import single_thread
from dcmaes._validation import FloatArray, IntArray, check_integer
from dcmaes.report._drawing import BLUE, add_remark, axes, plot, short_names
from dcmaes.report._run import read_run
from dcmaes.space import Sites

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORTH_READING = 0.2
_LEAST_POINTS = 8
_MOST_POINTS = 600
_MOST_BASE_POINTS = 128
_N_DRAWS = 16
_DEGREE = 3
_N_GRID = 64
# exp(g u) weighs effects of k variables with g^k / k!: from nearly additive to strongly interacting.
_SHARPNESS = (0.1, 1.0, 4.0, 12.0)
_RIDGE = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_N_ROUNDS = 4


@dataclass(frozen=True)
class Importance:
    """What share of the variation of the values each variable is responsible for.

    Attributes
    ----------
    names : tuple of d str
        The variables.
    share : array of shape (d,)
        Nonnegative, sum 1; all zero if nothing can be said.
    explained : float
        Share of the variance of the evaluations that the model predicts without having seen them; NaN if
        there were too few evaluations for a model.
    n_used : int
        How many evaluations the model was made from.
    """

    names: tuple[str, ...]
    share: FloatArray
    explained: float
    n_used: int

    @property
    def order(self) -> IntArray:
        """The variables, most important first, shape (d,)."""
        return np.argsort(-self.share, kind="stable")

    @property
    def remark(self) -> str:
        """How far the shares can be trusted, in one line.

        >>> Importance(("a",), np.ones(1), 0.0, 20).remark
        'The model predicts 0 % of the variance of unseen evaluations: the shares say little.'
        """
        if not self.share.any():
            return f"Too little to go by: {self.n_used} feasible evaluations, or all with the same value."
        predicted = f"The model predicts {100 * self.explained:.0f} % of the variance of unseen evaluations"
        return predicted + (": the shares say little." if self.explained < _WORTH_READING else ".")


def importance_data(result: Any) -> Importance:
    """Return how much each variable matters, between 0 and 1.

    The ranks of the feasible values, turned into normal scores, are modelled by kernel ridge regression: each
    variable gives centred features f_i (polynomials up to degree three of an ordered one, the circle of a
    periodic one, the corners of a simplex for choices), and the kernel exp(g sum_i r_i <f_i, f_i'>) has
    effects of one variable, of pairs and of more. The sharpness g, the ridge and the relevances r are those
    with the smallest leave-one-out error. A variable's share is its total effect (interactions included):
    half the mean square by which the prediction at an evaluated point changes when that variable alone is
    drawn anew from its range, divided by the sum over variables.

    Only the order of the values counts, not their scale; failed and infeasible evaluations are left out. The
    same run gives the same numbers.

    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: 5 * x[0] + x[2], dc.Space.integers(3, 0, 9), budget=60, seed=0)
    >>> importance_data(result).order
    array([0, 2, 1])
    """
    return read_run(result).importance


@plot
def plot_importance(result: Any, *, limit: int = 20, ax: Axes | None = None) -> Axes:
    """Plot how much each variable matters; `importance_data` says what that means.

    Parameters
    ----------
    limit : int
        How many variables to show at most.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: x[0] ** 2, dc.Space.integers(2, -5, 5), budget=40, seed=0)
    >>> [label.get_text() for label in plot_importance(result).get_yticklabels()]
    ['x0', 'x1']
    """
    limit = check_integer("limit", limit, low=1)
    data = importance_data(result)
    shown = data.order[:limit]
    ax = axes(ax, 6.0, 1.2 + 0.28 * len(shown))
    bars = ax.barh(np.arange(len(shown)), data.share[shown], color=BLUE)
    ax.bar_label(bars, [f"{100 * s:.1f} %" for s in data.share[shown]], padding=3, fontsize="small")
    ax.set_yticks(np.arange(len(shown)), short_names([data.names[i] for i in shown]))
    ax.invert_yaxis()
    ax.set(xlabel="share of the total effect", xlim=(0, max(float(data.share.max()) * 1.15, 0.1)))
    left_out = len(data.share) - len(shown)
    add_remark(ax, data.remark + (f" {left_out} less important variables not shown." if left_out else ""))
    return ax


class Fit(NamedTuple):
    """A kernel ridge regression: prediction is sum_j dual_j exp(sharpness u_j), plus a constant."""

    sharpness: float
    dual: FloatArray
    explained: float


@single_thread()
def total_effects(names: tuple[str, ...], sites: Sites, x: FloatArray, value: FloatArray) -> Importance:
    """Return how much each variable matters to the order of the values.

    Parameters
    ----------
    names : tuple of d str
        What the variables are called.
    sites : Sites
        The variables.
    x : array of shape (n, d)
        Coded points, in the order in which they were evaluated.
    value : array of shape (n,)
        Their values, finite.

    >>> x = np.random.default_rng(0).integers(0, 9, (50, 2)).astype(float)
    >>> sites = Sites([0, 0], [9, 9], [False] * 2, [False] * 2, [0, 0], [8, 8])
    >>> total_effects(("a", "b"), sites, x, x[:, 1] ** 3).share.round(2)
    array([0., 1.])
    """
    chosen = _choose(len(value))
    n_used, d = len(chosen), sites.dimension
    if n_used < _LEAST_POINTS or np.ptp(value[chosen]) == 0.0:
        return Importance(names, np.zeros(d), math.nan, n_used)
    x, score = x[chosen], _normal_scores(value[chosen])
    features = [_Features(sites, i) for i in range(d)]
    mapped = _mapped(sites, features, x)
    relevance = np.full(d, 1.0 / d)
    best, share = Fit(0.0, score, -math.inf), np.zeros(d)
    # Variables that matter are given more of the kernel, as long as that predicts better.
    for _ in range(_N_ROUNDS):
        fit = _fit(mapped, relevance, score)
        if fit.explained <= best.explained:
            break
        effect = _changes(sites, features, mapped, sites.active(x), relevance, fit)
        if effect.sum() <= 0.0:
            break
        best, share = fit, effect / effect.sum()
        relevance = (share + 0.2 / d) / 1.2
    return Importance(names, share, max(best.explained, 0.0), n_used)


def _choose(n: int) -> IntArray:
    """Choose what to learn from: everything, or the earliest half as many and an even sample of the rest.

    A search tells most about variables while it still varies them all.
    """
    if n <= _MOST_POINTS:
        return np.arange(n)
    half = _MOST_POINTS // 2
    return np.concatenate([np.arange(half), np.linspace(half, n - 1, half).astype(np.int64)])


def _normal_scores(value: FloatArray) -> FloatArray:
    """Return standard normal quantiles of the ranks, ties at their mean rank, scaled to variance 1."""
    from scipy.special import ndtri

    _, place, count = np.unique(value, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(count) - (count - 1) / 2.0
    score = ndtri((mean_rank[place] - 0.5) / len(value))
    return np.asarray((score - score.mean()) / score.std())


class _Features:
    """Features of one variable: mean 0 and mean square 1 over its values.

    One-of-c: the corners of a simplex. Ordered: orthogonal polynomials of degree up to three in the unit
    coordinate, each degree with half the weight of the one below. Periodic: a circle.
    """

    def __init__(self, sites: Sites, site: int) -> None:
        self._n_states = n_states = int(sites.n_states[site])
        self._kind = "circle" if sites.periodic[site] else "polynomial"
        if sites.is_category[site]:
            self._kind = "simplex"
        elif self._kind == "polynomial":
            n_grid = min(n_states, _N_GRID) if n_states else _N_GRID
            degree = min(_DEGREE, n_grid - 1)
            grid = np.vander(np.linspace(-1.0, 1.0, n_grid), degree + 1, increasing=True)
            weight = 0.5 ** np.arange(degree)
            scale = math.sqrt(n_grid) * weight / math.sqrt(max(float((weight**2).sum()), 1e-300))
            self._map = np.linalg.inv(np.linalg.qr(grid).R)[:, 1:] * scale

    def __call__(self, u: FloatArray) -> FloatArray:
        """Return the features of unit coordinates (one-of-c: of indices) of shape (n,), shape (n, k)."""
        if self._kind == "simplex":
            corners = np.eye(self._n_states) - 1.0 / self._n_states
            return corners[u.astype(np.int64)] / math.sqrt(max(1.0 - 1.0 / self._n_states, 1e-300))
        if self._kind == "circle":
            return np.stack([np.cos(2.0 * np.pi * u), np.sin(2.0 * np.pi * u)], axis=1)
        return np.asarray(np.vander(2.0 * u - 1.0, len(self._map), increasing=True) @ self._map)


def _mapped(sites: Sites, features: list[_Features], x: FloatArray) -> list[FloatArray]:
    """Return the features of each variable, shape (n, k) each; zero, which is their mean, where inactive."""
    u, is_active = sites.coordinate(x), sites.active(x)
    return [feature(u[:, i]) * is_active[:, [i]] for i, feature in enumerate(features)]


def _fit(mapped: list[FloatArray], relevance: FloatArray, score: FloatArray) -> Fit:
    """Fit with the sharpness and the ridge that have the smallest leave-one-out error."""
    joint = np.concatenate([f * math.sqrt(w) for f, w in zip(mapped, relevance, strict=True)], axis=1)
    u = joint @ joint.T
    best = Fit(0.0, score, -math.inf)
    for sharpness in _SHARPNESS:
        kernel, scale = np.exp(sharpness * u), math.exp(sharpness)
        eigenvalue, vector = np.linalg.eigh(kernel)
        rotated = vector.T @ score
        for ridge in _RIDGE:
            inverse = 1.0 / (np.maximum(eigenvalue, 0.0) + ridge * scale)
            dual = vector @ (inverse * rotated)
            left_out = dual / ((vector**2) @ inverse)
            explained = 1.0 - float(np.mean(left_out**2))
            if explained > best.explained:
                best = Fit(sharpness, dual, explained)
    return best


def _changes(
    sites: Sites,
    features: list[_Features],
    mapped: list[FloatArray],
    is_active: NDArray[np.bool_],
    relevance: FloatArray,
    fit: Fit,
) -> FloatArray:
    """Return half the mean square change of predictions when one variable is drawn anew, shape (d,).

    Where it is inactive, nothing changes.
    """
    n = len(fit.dual)
    base = np.linspace(0, n - 1, min(n, _MOST_BASE_POINTS)).astype(np.int64)
    weight = fit.sharpness * relevance
    exponent = sum(w * (f[base] @ f.T) for w, f in zip(weight, mapped, strict=True))
    before = np.exp(exponent) @ fit.dual
    grid = np.repeat((np.arange(_N_DRAWS)[:, np.newaxis] + 0.5) / _N_DRAWS, sites.dimension, axis=1)
    # Whatever users expected: a choice matters as much as it changes the value.
    u = sites.coordinate(replace(sites, prior=None).uniform(grid))
    drawn = [feature(u[:, i]) for i, feature in enumerate(features)]
    effect = np.empty(sites.dimension)
    for i, (w, f, g) in enumerate(zip(weight, mapped, drawn, strict=True)):
        without = np.exp(exponent - w * (f[base] @ f.T))
        after = without @ (np.exp(w * (f @ g.T)) * fit.dual[:, np.newaxis])
        effect[i] = 0.5 * np.mean((after - before[:, np.newaxis]) ** 2 * is_active[base, [i], np.newaxis])
    return effect
