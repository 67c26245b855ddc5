"""The quadratic exponent a.x + x'Bx/2 on {0..n_i}: its table, its statistics, and sums by elimination.

Where the couplings form a sparse graph, variables are summed out one after the other; what is left of one is
a table over its neighbours at that time. Backwards, the same tables are the law of each variable given those
neighbours, which gives marginals, all covariances and independent draws. The cost is exponential in the
treewidth of the graph, not in k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from dcmaes._validation import FloatArray, IntArray

MAX_CELLS = 2**20  # of one table


class Statistics(NamedTuple):
    """The sufficient statistics x_i, then x_i^2 / 2 where n_i > 1, then x_i x_j for i < j."""

    trials: IntArray
    squared: IntArray  # the variables whose square is a statistic of its own
    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, trials: IntArray) -> Statistics:
        """Return the statistics of variables with states 0..trials.

        >>> Statistics.of(np.array([1, 5])).squared.tolist()
        [1]
        """
        first, second = np.triu_indices(trials.size, 1)
        return cls(trials, np.flatnonzero(trials > 1), first, second)

    def at(self, x: FloatArray) -> FloatArray:
        """Return the statistics of points x, shape (..., k), as (..., m)."""
        squares = 0.5 * x[..., self.squared] ** 2
        products = x[..., self.first] * x[..., self.second]
        return np.concatenate([x, squares, products], axis=-1)  # (Y2)

    def pack(self, linear: FloatArray, quadratic: FloatArray) -> FloatArray:
        """Return the parameters of the statistics, shape (m,)."""
        diagonal = quadratic.diagonal()[self.squared]
        return np.concatenate([linear, diagonal, quadratic[self.first, self.second]])

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return linear (k,) and symmetric quadratic (k, k) of a vector of parameters."""
        k, n_squares = self.trials.size, self.squared.size
        quadratic = np.zeros((k, k))
        quadratic[self.first, self.second] = theta[k + n_squares :]
        quadratic += quadratic.T
        quadratic[self.squared, self.squared] = theta[k : k + n_squares]
        return theta[:k].copy(), quadratic

    def fold(self, linear: FloatArray, quadratic: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same exponent with x_i^2 of variables in {0,1}, which is x_i, in the linear part.

        >>> Statistics.of(np.array([1])).fold(np.array([1.0]), np.array([[4.0]]))
        (array([3.]), array([[0.]]))
        """
        binary = self.trials == 1
        diagonal = np.where(binary, quadratic.diagonal(), 0.0)
        return linear + 0.5 * diagonal, quadratic - np.diag(diagonal)  # (Y3)


class Exponent(NamedTuple):
    """The exponent a.x + x'Bx/2 of variables with states 0..n_i, B with no diagonal where n_i is 1."""

    trials: IntArray
    linear: FloatArray
    quadratic: FloatArray

    @classmethod
    def of(cls, trials: IntArray, linear: FloatArray, quadratic: FloatArray) -> Exponent:
        """Return the exponent in its canonical form."""
        return cls(trials, *Statistics.of(trials).fold(linear, quadratic))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each variable."""
        return tuple(int(n) + 1 for n in self.trials)

    def table(self) -> FloatArray:
        """Return the exponent of all states, shape (n_1 + 1, ..., n_k + 1), in a few operations per state.

        >>> quadratic = np.array([[0.0, 5.0], [5.0, 0.0]])
        >>> Exponent(np.array([1, 1]), np.array([1.0, 2.0]), quadratic).table().tolist()
        [[0.0, 2.0], [1.0, 8.0]]
        """
        shape = self.shape
        table = np.zeros(1)
        for i in reversed(range(len(shape))):  # each turn puts variable i in front of the variables after it
            slope = np.array([self.linear[i]])
            for j in reversed(range(i + 1, len(shape))):
                slope = np.add.outer(self.quadratic[i, j] * np.arange(shape[j]), slope).reshape(-1)
            x = np.arange(shape[i])[:, np.newaxis]
            # (Y1), and (I1) for two states
            table = (table + x * slope + 0.5 * self.quadratic[i, i] * x**2).reshape(-1)
        return table.reshape(shape)

    def at(self, x: FloatArray) -> FloatArray:
        """Return the exponent at points x, shape (..., k)."""
        return np.asarray(x @ self.linear + 0.5 * ((x @ self.quadratic) * x).sum(axis=-1))  # (Y1)

    def own(self, i: int) -> FloatArray:
        """Return the part that only variable i enters, for each of its states."""
        x = np.arange(int(self.trials[i]) + 1)
        return np.asarray(self.linear[i] * x + 0.5 * self.quadratic[i, i] * x**2)

    def pair(self, i: int, j: int) -> FloatArray:
        """Return the part that variables i and j enter together, for all of their states."""
        states = (np.arange(int(self.trials[v]) + 1) for v in (i, j))
        return np.asarray(self.quadratic[i, j] * np.multiply.outer(*states))

    def condition(self, given: dict[int, int]) -> Exponent:
        """Return the exponent of the other variables, in their order, given the states of some."""
        free = [i for i in range(self.trials.size) if i not in given]
        fixed, states = list(given), np.array(list(given.values()), dtype=np.float64)
        linear = self.linear[free] + self.quadratic[np.ix_(free, fixed)] @ states  # (I4)
        return Exponent(self.trials[free], linear, self.quadratic[np.ix_(free, free)])


@dataclass(frozen=True)
class Step:
    """One variable summed out: its neighbours then, and the one of them that is summed out next."""

    variable: int
    neighbours: tuple[int, ...]
    parent: int | None

    @property
    def clique(self) -> tuple[int, ...]:
        """The axes of its table: the variable, then its neighbours."""
        return (self.variable, *self.neighbours)


def plan_elimination(exponent: Exponent, keep: tuple[int, ...] = ()) -> list[Step] | None:
    """Return an order in which to sum out all variables but `keep`, or None if a table would be too large.

    Greedy: next comes the variable with the smallest table.

    >>> chain = np.diag([1.0, 1.0], 1)
    >>> [step.clique for step in plan_elimination(Exponent.of(np.ones(3, int), np.zeros(3), chain + chain.T))]
    [(0, 1), (1, 2), (2,)]
    """
    log_sizes = np.log2(exponent.trials + 1.0)
    graph = (exponent.quadratic != 0) & ~np.eye(log_sizes.size, dtype=bool)
    limit = np.log2(MAX_CELLS)
    if (log_sizes + graph @ log_sizes).min() > limit:
        return None
    neighbours = [set(np.flatnonzero(row).tolist()) for row in graph]
    size = {
        i: log_sizes[i] + sum(log_sizes[j] for j in neighbours[i])
        for i in range(log_sizes.size)
        if i not in keep
    }
    found: list[tuple[int, tuple[int, ...]]] = []
    while size:
        best = min(size, key=lambda i: (size[i], i))
        if size.pop(best) > limit:
            return None
        around = neighbours[best]
        found.append((best, tuple(sorted(around))))
        for i in around:
            neighbours[i] |= around - {i}
            neighbours[i].discard(best)
            if i in size:
                size[i] = log_sizes[i] + sum(log_sizes[j] for j in neighbours[i])
    turn = {variable: number for number, (variable, _) in enumerate(found)}
    parents = (
        min((j for j in around if j in turn), key=turn.__getitem__, default=None) for _, around in found
    )
    return [Step(i, around, parent) for (i, around), parent in zip(found, parents, strict=True)]


class Elimination:
    """The sums of a law, along a plan that sums out every variable.

    Examples
    --------
    >>> exponent = Exponent.of(np.ones(30, int), np.zeros(30), np.zeros((30, 30)))
    >>> sums = Elimination(exponent, plan_elimination(exponent))
    >>> round(float(sums.log_partition / np.log(2)), 12), sums.mean[:2].tolist()
    (30.0, [0.5, 0.5])
    """

    def __init__(self, exponent: Exponent, plan: list[Step]) -> None:
        self._exponent, self._plan = exponent, plan
        self._log_conditionals, _, self.log_partition = sum_out(exponent, plan)

    @cached_property
    def _cliques(self) -> dict[int, FloatArray]:
        """The joint probabilities of each variable and its neighbours, by variable."""
        result: dict[int, FloatArray] = {}
        scope = {step.variable: step.clique for step in self._plan}
        for step in reversed(self._plan):
            given = np.exp(self._log_conditionals[step.variable])
            if step.parent is not None:
                given = given * _sum_to(result[step.parent], scope[step.parent], step.neighbours)
            result[step.variable] = given  # (Y6)
        return result

    @cached_property
    def mean(self) -> FloatArray:
        """Expectations, shape (k,)."""
        result = np.empty(len(self._plan))
        for variable, table in self._cliques.items():
            own = table.reshape(table.shape[0], -1).sum(axis=1)
            result[variable] = own @ np.arange(own.size) / own.sum()
        return result

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariances of all pairs, shape (k, k).

        From each variable in turn its departure from the mean is carried along the tree of tables: across the
        variables that two tables share, its expectation given them is all that counts.
        """
        k = len(self._plan)
        result = np.zeros((k, k))
        steps = {step.variable: step for step in self._plan}
        children: dict[int, list[int]] = {i: [] for i in steps}
        for step in self._plan:
            if step.parent is not None:
                children[step.parent].append(step.variable)
        values = [np.arange(n + 1) - m for n, m in zip(self._exponent.trials, self.mean, strict=True)]
        for i in range(k):
            table = self._cliques[i]
            start = table * values[i].reshape((-1,) + (1,) * (table.ndim - 1))
            reached = [(i, start, -1)]
            while reached:
                at, weighted, came_from = reached.pop()
                result[i, at] = values[at] @ weighted.reshape(weighted.shape[0], -1).sum(axis=1)
                parent = steps[at].parent
                for other in children[at] if parent is None else [*children[at], parent]:
                    if other != came_from:
                        low = steps[other if other in children[at] else at]
                        ratio = _ratio(self._cliques[at], weighted, steps[at].clique, low.neighbours)
                        carried = self._cliques[other] * _spread(ratio, low.neighbours, steps[other].clique)
                        reached.append((other, carried, at))  # (Y7)
        return (result + result.T) / 2.0

    def sample(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw `n` independent points, shape (n, k)."""
        x = np.zeros((n, len(self._plan)), dtype=np.int64)
        for step in reversed(self._plan):
            table = np.cumsum(np.exp(self._log_conditionals[step.variable]), axis=0)
            given = np.moveaxis(table, 0, -1)[tuple(x[:, j] for j in step.neighbours)].T
            given = given.reshape(table.shape[0], -1) / given[-1]
            x[:, step.variable] = (given <= rng.random(n)).sum(axis=0)
        return np.minimum(x, self._exponent.trials)


def sum_out(
    exponent: Exponent, plan: list[Step]
) -> tuple[dict[int, FloatArray], list[tuple[tuple[int, ...], FloatArray]], float]:
    """Sum out the variables of a plan.

    Returns the log probabilities of each given its neighbours, the tables left on variables that are kept,
    and the log of the sum of all that depends on none.
    """
    conditionals: dict[int, FloatArray] = {}
    waiting: dict[int, list[tuple[tuple[int, ...], FloatArray]]] = {step.variable: [] for step in plan}
    left: list[tuple[tuple[int, ...], FloatArray]] = []
    done: set[int] = set()
    total = 0.0
    for step in plan:
        clique = step.clique
        table = np.zeros([int(exponent.trials[i]) + 1 for i in clique])
        table += _spread(exponent.own(step.variable), clique[:1], clique)
        for j in step.neighbours:
            if exponent.quadratic[step.variable, j] != 0 and j not in done:
                table += _spread(exponent.pair(step.variable, j), (step.variable, j), clique)
        for scope, message in waiting[step.variable]:
            table += _spread(message, scope, clique)
        message = np.asarray(special.logsumexp(table, axis=0))  # (Y5)
        conditionals[step.variable] = table - message
        done.add(step.variable)
        if step.parent is not None:
            waiting[step.parent].append((step.neighbours, message))
        elif step.neighbours:
            left.append((step.neighbours, message))
        else:
            total += float(message)
    return conditionals, left, total


def log_marginal_weights(exponent: Exponent, kept: tuple[int, ...], plan: list[Step]) -> FloatArray:
    """Return the log weights of the states of the variables `kept`, which `plan` does not sum out."""
    _, left, total = sum_out(exponent, plan)
    table = np.full([int(exponent.trials[i]) + 1 for i in kept], total)
    for number, i in enumerate(kept):
        table += _spread(exponent.own(i), (i,), kept)
        for j in kept[number + 1 :]:
            table += _spread(exponent.pair(i, j), (i, j), kept)
    for scope, message in left:
        table += _spread(message, scope, kept)
    return table


def _spread(table: FloatArray, axes: tuple[int, ...], into: tuple[int, ...]) -> FloatArray:
    """Return `table`, whose axes are variables, as a view that broadcasts against the axes `into`."""
    ordered = table.transpose([axes.index(i) for i in into if i in axes])
    return ordered.reshape([table.shape[axes.index(i)] if i in axes else 1 for i in into])


def _sum_to(table: FloatArray, axes: tuple[int, ...], kept: tuple[int, ...]) -> FloatArray:
    """Return the sums of `table` over all axes but `kept`, in the order of `axes`, ready to broadcast."""
    summed = table.sum(axis=tuple(n for n, i in enumerate(axes) if i not in kept))
    ordered = [i for i in axes if i in kept]
    return np.asarray(summed).transpose([ordered.index(i) for i in kept])


def _ratio(
    table: FloatArray, weighted: FloatArray, axes: tuple[int, ...], kept: tuple[int, ...]
) -> FloatArray:
    """Return the expectation, given the variables `kept`, of what `weighted` is the table times."""
    below, above = _sum_to(table, axes, kept), _sum_to(weighted, axes, kept)
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)
