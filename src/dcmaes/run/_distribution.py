"""The search distribution in the user's own terms."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._guards import single_thread
from dcmaes._validation import FloatArray, readonly
from dcmaes.space import Space, Variable
from dcmaes.strategies import Memory, Modelling, Strategy

if TYPE_CHECKING:
    from dcmaes.distributions import LatticeGaussian


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
