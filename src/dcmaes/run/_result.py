"""What a run found: points, the distribution from which it searched in the user's terms, and interactions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._guards import single_thread
from dcmaes._html import html_table, points_text
from dcmaes._validation import FloatArray, IntArray, check_choice, readonly
from dcmaes.run._history import History, Record, column_names, point_texts
from dcmaes.run._noise import Noise
from dcmaes.run._objectives import Front, front_of
from dcmaes.run._run import Run
from dcmaes.run._settings import Settings, StopReason
from dcmaes.space import Space, Variable
from dcmaes.strategies import Explaining, Memory, Modelling, Multiobjective, Strategy

if TYPE_CHECKING:
    from dcmaes.distributions import LatticeGaussian

# So many of the strongest pairs are tested, on so many of the last evaluations.
_MOST_TESTED = 2000
_MOST_EVALUATIONS = 20_000


class _Pair(NamedTuple):
    first: str | int
    second: str | int
    strength: float


class Interaction(_Pair):
    """Two variables and the strength of their interaction: a tuple of three, with a flag for certainty.

    Attributes
    ----------
    first, second : str or int
        The variables: names, or positions where points are arrays.
    strength : float
        How strongly they interact, in the unit of the strategy.
    is_certain : bool
        Whether the interaction is statistically significant: the probability that any pair that does not
        interact is called certain is at most 1 % per run.

    Examples
    --------
    >>> pair = Interaction("width", "lr", 0.8, is_certain=True)
    >>> first, second, strength = pair
    >>> pair
    Interaction(first='width', second='lr', strength=0.8, is_certain=True)
    """

    is_certain: bool

    def __new__(
        cls, first: str | int, second: str | int, strength: float, is_certain: bool = False
    ) -> Interaction:
        pair = super().__new__(cls, first, second, strength)
        pair.is_certain = is_certain
        return pair

    def __getnewargs__(self) -> tuple[str | int, str | int, float, bool]:
        return (*self, self.is_certain)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, is_certain={self.is_certain})"


class Distribution:
    """A search distribution: its location, its widths, and its correlations.

    Attributes
    ----------
    names : tuple of str or int
        The variables: their names, or their positions.
    step_size : float
        One number for how far the search is looking, as a fraction of the range.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space({"n": dc.Integer(1, 9), "act": dc.Categorical(["relu", "gelu"])})
    >>> distribution = dc.Optimizer(space, budget=10, strategy="random").result().distribution
    >>> distribution.marginals["act"]
    (('relu', 0.5), ('gelu', 0.5))
    """

    def __init__(self, space: Space, strategy: Strategy[Any], state: Any, memory: Memory) -> None:
        self._space = space
        self._strategy = strategy
        self._state = state
        self._memory = memory
        with single_thread():
            self._summary = strategy.summary(state, memory)
        self.names: tuple[str | int, ...] = space.names
        self.step_size = self._summary.step_size

    @cached_property
    def law(self) -> LatticeGaussian | None:
        """The strategy's model of good points as a law of `dcmaes.distributions`; None if it keeps none.

        On the states 0, 1, ... of the variables with more than one value, in their order. For `ising` and
        `auto` it is P(x) ~ exp(-e(x) / T): e is the function that the regression expects, up to order two,
        and T a temperature at which the law is about as wide as the last points evaluated. Its couplings are
        those behind `interactions()`. None with continuous or periodic variables, with choices among three or
        more, with uneven steps, and with conditions.

        >>> import dcmaes as dc
        >>> result = dc.minimize(lambda x: x.sum() - 3 * x[0] * x[1], dc.Space.binary(6), budget=40, seed=0)
        >>> law = result.distribution.law
        >>> law.sample(2, np.random.default_rng(0)).shape, bool(law.quadratic[0, 1] > 0)
        ((2, 6), True)
        """
        if not isinstance(self._strategy, Modelling):
            return None
        with single_thread():
            return self._strategy.law(self._state, self._memory)

    @property
    def means(self) -> dict[str | int, float]:
        """Mean of each Binary, Integer and Float; of the logarithm, and back, where `log` is set."""
        variables = zip(self.names, self._space.variables, self._summary.mean.tolist(), strict=True)
        return {
            name: u if variable.scale is None else variable.scale.value(u / _last_coordinate(variable))
            for name, variable, u in variables
            if variable.scale is not None or variable.is_flag
        }

    @property
    def deviations(self) -> dict[str | int, float]:
        """Standard deviation of each variable that has an order, as a fraction of its range."""
        is_numeric = self._space.sites.is_numeric
        deviations = zip(self.names, self._summary.deviation.tolist(), is_numeric, strict=True)
        return {name: deviation for name, deviation, keep in deviations if keep}

    @property
    def marginals(self) -> dict[str | int, tuple[tuple[Any, float], ...]]:
        """Pairs (value, probability) of each variable for which the strategy keeps them."""
        sites = zip(self.names, self._space.variables, self._summary.probabilities, strict=True)
        return {
            name: tuple(zip(variable.decode(range(len(p))), p.tolist(), strict=True))
            for name, variable, p in sites
            if len(p)
        }

    @property
    def correlations(self) -> FloatArray | None:
        """Correlations, shape (d, d), in the order of `names`; None if the strategy keeps none."""
        correlation = self._summary.correlation
        return None if correlation is None else readonly(correlation)

    @property
    def center(self) -> Any:
        """The point in the middle: the value next to the mean, the most probable choice."""
        sites = self._space.sites
        is_numeric = sites.is_numeric
        u = np.where(is_numeric, self._summary.mean, 0.0)
        # Half of the uniforms round up: 0.5 takes the nearest state.
        x = sites.from_coordinate(u, np.full(len(u), 0.5))
        for site in np.flatnonzero(~is_numeric):
            p = self._summary.probabilities[site]
            x[site] = np.argmax(p) if len(p) else 0.0
        return self._space.decode(x)

    def __repr__(self) -> str:
        return f"<Distribution around {self.center!r}, step size {self.step_size:.3g}>"


def _last_coordinate(variable: Variable) -> float:
    """Return the unit coordinate of the last value: 1, but for the states on a circle."""
    site = variable.site
    is_circle = site.periodic and site.n_states > 1
    return (site.n_states - 1) / site.n_states if is_circle else 1.0


@dataclass(frozen=True, eq=False)
class Result:
    """What a run found, and why it stopped.

    Attributes
    ----------
    x : dict, array of shape (d,), or None
        The best point: the best feasible one; if none is feasible, the one with the smallest violation; None
        if no evaluation gave a value.
    fun : float, or tuple of floats
        Its value, in the sign in which the objective returned it; NaN if there is none. With several
        objectives, of which no point is the best, `x` and `fun` are the knee of the `front`.
    violation : float
        Its total constraint violation: 0 if it is feasible.
    nfev : int
        Number of evaluations that were told, failures included, known values of starting points not.
    success : bool
        Whether `x` is feasible and the run did not end in an error.
    stop_reason : StopReason or None
        Why the run stopped; None while it is running.
    message : str
        The same in one line, with the number that triggered it.
    history : History
        Every evaluation.
    strategy : str
        Name of the strategy.
    seed : int
        Seed of the run: the same seed, space and values give the same points.
    n_failures : int
        Number of evaluations that failed.
    n_restarts : int
        How often the strategy was restarted.
    objective_time : float
        Seconds spent in the objective, over all workers.
    optimizer_time : float
        Seconds spent choosing points and learning from values.
    noise : Noise or None
        With `duplicates="reevaluate"`, the noise of the objective, or of each of several, and the error of
        `fun`.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(3), budget=100, seed=1, strategy="random")
    >>> result.fun, result.stop_reason
    (0.0, <StopReason.SPACE_EXHAUSTED: 'space_exhausted'>)
    """

    x: Any
    fun: Any
    violation: float
    nfev: int
    success: bool
    stop_reason: StopReason | None
    message: str
    history: History
    strategy: str
    seed: int
    n_failures: int
    n_restarts: int
    objective_time: float
    optimizer_time: float
    noise: Noise | None
    _settings: Settings = field(repr=False)
    _strategy: Strategy[Any] = field(repr=False)
    _state: Any = field(repr=False)

    @cached_property
    def distribution(self) -> Distribution:
        """The last search distribution: means, marginals, correlations."""
        return Distribution(self.history._space, self._strategy, self._state, self.history._memory)

    @property
    def objectives(self) -> tuple[str, ...]:
        """What several objectives are called; ("value",) if there is one."""
        return self.front.names

    @cached_property
    def front(self) -> Front:
        """With several objectives, the feasible evaluations that no other one dominates.

        In the order of the first objective; see `Front` for what can be asked of it.
        """
        best = None if self.x is None else self.history._memory.find(self.history._space.encode(self.x))
        return front_of(self.history, best)

    def hypervolume(self, reference: Any = None) -> float:
        """Return the volume of values that the front dominates, up to a reference: see `Front.hypervolume`.

        >>> import dcmaes as dc
        >>> two = {"cost": "minimize", "gain": "maximize"}
        >>> result = dc.minimize(lambda x: (x[0], x[0] + x[1]), dc.Space.binary(2), budget=4, objectives=two)
        >>> result.hypervolume(reference=(2, 0))
        3.0
        """
        return self.front.hypervolume(reference)

    def knee(self, weights: Any = None) -> Record:
        """Return the knee of the front or, with weights, the point that is best by them.

        See `Front.knee` and `Front.pick`.
        """
        return self.front.knee() if weights is None else self.front.pick(weights)

    def interactions(self, objective: str | None = None) -> list[Interaction]:
        """Return the pairs of variables that interact, strongest first; pairs of strength 0 are left out.

        The strengths are what the strategy has learned, rounding errors included: `is_certain` tells which
        pairs the evaluated values show beyond doubt.

        Parameters
        ----------
        objective : str or None
            With several objectives, the name of one of them. None: the strongest interaction of each pair in
            any of them.

        >>> import dcmaes as dc
        >>> result = dc.minimize(lambda x: sum(x) - 3 * x[1] * x[2], dc.Space.binary(8), budget=60, seed=0)
        >>> [(pair.first, pair.second) for pair in result.interactions() if pair.is_certain]
        [(1, 2)]
        """
        which = self._which(objective)
        with single_thread():
            strength = np.max([self._strength(i) for i in which], axis=0)
        first, second = np.triu_indices(len(strength), k=1)
        found = strength[first, second]
        order = np.argsort(-found, kind="stable")
        order = order[found[order] > 0.0]
        first, second, found = first[order], second[order], found[order]
        with single_thread():
            certain = np.any([self._certain(first, second, i) for i in which], axis=0)
        names = self.history._space.names
        rows = zip(first.tolist(), second.tolist(), found.tolist(), certain.tolist(), strict=True)
        return [Interaction(names[i], names[j], size, is_certain) for i, j, size, is_certain in rows]

    def _which(self, objective: str | None) -> list[int]:
        """Return the positions of the objectives that are meant."""
        if objective is None:
            return list(range(len(self.objectives)))
        return [self.objectives.index(check_choice("objective", objective, self.objectives))]

    def _strength(self, objective: int) -> FloatArray:
        """Return what the strategy knows of the interactions in one objective, shape (d, d)."""
        if self._settings.objectives is not None and isinstance(self._strategy, Multiobjective):
            return np.asarray(self._strategy.interactions_of(self._state, self.history._memory, objective))
        return np.asarray(self._strategy.interactions(self._state, self.history._memory))

    def _certain(self, first: IntArray, second: IntArray, objective: int) -> NDArray[np.bool_]:
        """Tell which of these pairs, strongest first, the values or the strategy show beyond doubt."""
        from dcmaes.models import certain_pairs

        d = self.history._space.dimension
        is_tested = np.zeros((d, d), dtype=bool)
        tested = first[:_MOST_TESTED], second[:_MOST_TESTED]
        is_tested[tested] = is_tested[tested[::-1]] = True
        x, value = self.history._feasible(_MOST_EVALUATIONS, objective)
        is_certain = certain_pairs(self.history._space.sites, x, value, is_tested)[first, second]
        if isinstance(self._strategy, Explaining):
            is_certain |= self._strategy.explained_pairs(self._state, self.history._memory)[first, second]
        return is_certain

    def _describe_noise(self, noise: Noise) -> str:
        several = self._settings.objectives
        if several is None:
            spread = f"{noise.deviation:.3g} per evaluation"
            return f"{spread}; fun is the mean of {noise.n_evaluations}, +/- {noise.error:.3g}"
        both = zip(several.names, noise.deviation, noise.error, strict=True)
        each = [f"{name} {deviation:.3g} (fun +/- {error:.3g})" for name, deviation, error in both]
        return f"{', '.join(each)} per evaluation; fun is the mean of {noise.n_evaluations}"

    def __repr__(self) -> str:
        return "\n".join(f"{name:>10}: {text}" for name, text in self._lines())

    def _repr_html_(self) -> str:
        lines = [line for line in self._lines() if line[0] != "x"]
        result = html_table("Result", [], lines)
        if self.x is None:
            return result
        if self._settings.objectives is not None:
            return result + self.front._repr_html_()
        pairs = zip(column_names(self.history._space), point_texts(self.history._space, self.x), strict=True)
        shown = [(column, text) for column, text in pairs if text]
        return result + html_table("Best point", ["variable", "value"], shown)

    def _lines(self) -> list[tuple[str, str]]:
        violation = "" if self.violation <= 0.0 else f" (violation {self.violation:.3g})"
        noise = [] if self.noise is None else [("noise", self._describe_noise(self.noise))]
        several = self._settings.objectives
        if several is None:
            found = [("fun", f"{self.fun:.10g}{violation}"), ("x", f"{self.x!r}")]
        else:
            values = several.describe(np.array(self.fun)) if self.x is not None else "none"
            found = [("front", points_text(len(self.front))), ("knee", f"{values}{violation}")]
            found.append(("x", f"{self.x!r}"))
        return [
            *found,
            ("nfev", f"{self.nfev} ({self.n_failures} failed)"),
            ("success", f"{self.success}"),
            ("message", self.message),
            *noise,
            ("strategy", f"{self.strategy}, {self.n_restarts} restarts"),
            ("time", f"{self.objective_time:.3g} s objective, {self.optimizer_time:.3g} s optimizer"),
        ]


def result_of(run: Run, optimizer_time: float) -> Result:
    """Return what is known of a run so far."""
    reason = run.stop.reason if run.is_over() and run.stop is not None else None
    # What is told later must not change it.
    memory, best = run.memory.snapshot(), run.best()
    history = History(memory, run.space, run.settings.sign, run.settings.objectives)
    violation, value = run.rank(best)
    fun: Any = run.settings.sign * value
    if run.settings.objectives is not None:
        nothing = (math.nan,) * len(run.settings.objectives)
        fun = nothing if best is None else tuple(history._means(np.array([best]))[0].tolist())
    return Result(
        x=None if best is None else history[best].point,
        fun=fun,
        violation=violation,
        nfev=run.n_told,
        success=violation == 0.0 and reason is not StopReason.ERROR,
        stop_reason=reason,
        message=run.message(violation),
        history=history,
        strategy=run.strategy.name,
        seed=run.settings.seed,
        n_failures=run.memory.n_failures,
        n_restarts=run.search.n_restarts,
        objective_time=run.objective_time,
        optimizer_time=optimizer_time,
        noise=run.noise(),
        _settings=run.settings,
        _strategy=run.strategy,
        _state=run.search.state,
    )
