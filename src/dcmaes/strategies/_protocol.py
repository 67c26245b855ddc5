"""What a search strategy is: a frozen state and pure functions that start, sample and update it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import Sites

if TYPE_CHECKING:
    from dcmaes.distributions import LatticeGaussian

State = TypeVar("State")


@dataclass(frozen=True)
class Evaluations:
    """Coded points with what is known of them, in the order in which they were told.

    Attributes
    ----------
    x : array of shape (n, d)
        Coded points.
    value : array of shape (n,)
        Values to be minimized; NaN where there is none (a failure, or a point that a constraint excludes).
    violation : array of shape (n,)
        Total constraint violation: 0 where feasible, infinite where the evaluation failed.
    is_repeat : bool array of shape (n,)
        Whether the point had been evaluated before, so that telling it again cost nothing; none by default.
    count : int array of shape (n,)
        Of how many evaluations of the point the value is the mean; one by default.

    >>> told = Evaluations(np.zeros((3, 1)), np.array([2.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    >>> told.order()
    array([1, 0, 2])
    """

    x: FloatArray
    value: FloatArray
    violation: FloatArray
    is_repeat: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    count: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.count) == 0:
            object.__setattr__(self, "count", np.ones(len(self.value), dtype=np.int64))
        if len(self.is_repeat) == 0:
            object.__setattr__(self, "is_repeat", np.zeros(len(self.value), dtype=bool))

    def __len__(self) -> int:
        return len(self.value)

    def order(self) -> IntArray:
        """Return positions, best first: feasible by value, others by violation, failures; ties as told."""
        return np.lexsort((self.value, self.violation))

    def take(self, rows: slice | IntArray) -> Evaluations:
        """Return some of the evaluations.

        >>> len(Evaluations(np.zeros((3, 1)), np.zeros(3), np.zeros(3)).take(slice(2)))
        2
        """
        return Evaluations(
            self.x[rows], self.value[rows], self.violation[rows], self.is_repeat[rows], self.count[rows]
        )

    @staticmethod
    def empty(dimension: int) -> Evaluations:
        """Return no evaluations at all.

        >>> len(Evaluations.empty(3))
        0
        """
        return Evaluations(np.empty((0, dimension)), np.empty(0), np.empty(0))

    def level(self, row: int) -> tuple[float, float]:
        """Return violation and value of one of the evaluations, the value infinite where there is none.

        >>> Evaluations(np.zeros((1, 1)), np.array([np.nan]), np.array([0.5])).level(0)
        (0.5, inf)
        """
        value = float(self.value[row])
        return float(self.violation[row]), np.inf if np.isnan(value) else value

    @staticmethod
    def join(*parts: Evaluations) -> Evaluations:
        """Return the evaluations of all parts, one after the other; at least one part.

        >>> len(Evaluations.join(Evaluations.empty(3), Evaluations.empty(3)))
        0
        """
        return Evaluations(
            np.concatenate([part.x for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.violation for part in parts]),
            np.concatenate([part.is_repeat for part in parts]),
            np.concatenate([part.count for part in parts]),
        )


class Known(Protocol):
    """What a strategy may ask about points while it samples."""

    @property
    def pending(self) -> FloatArray:
        """Coded points out for evaluation, shape (k, d)."""

    def contains(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell for each row of `x` whether it was evaluated, is pending, or is excluded."""


@dataclass(frozen=True)
class Summary:
    """A search distribution reduced to what can be shown of any of them.

    Attributes
    ----------
    mean : array of shape (d,)
        Mean unit coordinate of each numeric site (see `Sites.coordinate`); NaN for one-of-c sites.
    deviation : array of shape (d,)
        Standard deviation in the same unit; NaN for one-of-c sites.
    probabilities : tuple of d arrays
        Probability of each state where the strategy keeps one for each state, an empty array elsewhere.
    correlation : array of shape (d, d) or None
        Correlation of the sites in the latent space of the distribution; None if the strategy keeps none.
    step_size : float
        One number for how far the search is looking, as a fraction of the range.
    """

    mean: FloatArray
    deviation: FloatArray
    probabilities: tuple[FloatArray, ...]
    correlation: FloatArray | None
    step_size: float

    @staticmethod
    def at(sites: Sites, x: FloatArray) -> Summary:
        """Return the distribution on one coded point, shape (d,).

        >>> from dcmaes.space import Space
        >>> Summary.at(Space.binary(2).sites, np.array([1.0, 0.0])).probabilities
        (array([0., 1.]), array([1., 0.]))
        """
        mean = np.where(sites.is_numeric, sites.coordinate(x), np.nan)
        n_kept = np.where(sites.is_numeric & (sites.n_states != 2), 0, sites.n_states)
        certain = tuple(
            (np.arange(n) == state).astype(np.float64) for n, state in zip(n_kept, x, strict=True)
        )
        return Summary(mean, np.where(sites.is_numeric, 0.0, np.nan), certain, None, 0.0)


@runtime_checkable
class Remembering(Protocol):
    """A strategy that can use what is found out about points that it did not draw (again).

    Any strategy may have this method beside those of `Strategy`. Points that are evaluated again only to make
    sure of their value are told in this way, and to no other strategy.
    """

    def remember(self, state: Any, told: Evaluations) -> Any:
        """Return the state with `told` in memory; the run continues as it was."""


@runtime_checkable
class Explaining(Protocol):
    """A strategy that may have identified the function, and so knows which pairs of sites interact.

    Any strategy may have this method in addition to those of `Strategy`; for the others, the values alone
    decide which interactions are certain.
    """

    def explained_pairs(self, state: Any) -> NDArray[np.bool_]:
        """Tell which pairs of sites are known to interact, symmetric, shape (d, d)."""


@runtime_checkable
class Modelling(Protocol):
    """A strategy whose model of good points is a law of `dcmaes.distributions`.

    Any strategy may have this method in addition to those of `Strategy`; `result.distribution.law` is what it
    returns.
    """

    def law(self, state: Any) -> LatticeGaussian | None:
        """Return the law on the sites with more than one state, in their order; None where there is none."""


class Strategy(Protocol[State]):
    """A way to propose points of a space and to learn from their values.

    A strategy object holds only options and never changes; everything learned is in the state, a frozen
    dataclass that each update replaces. Randomness comes from the generator passed in, so that the same seed
    and the same results told in the same order give the same points, bit for bit.
    """

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""

    def init(self, sites: Sites, start: Evaluations, budget: int, rng: np.random.Generator) -> State:
        """Return the first state. `start` has the user's starting points, value NaN where not known yet."""

    def batch_size(self, state: State) -> int:
        """Return how many more samples the next update waits for; at least 1."""

    def sample(self, state: State, n: int, rng: np.random.Generator, known: Known) -> FloatArray:
        """Return `n` coded points drawn from the search distribution, shape (n, d)."""

    def update(self, state: State, told: Evaluations) -> State:
        """Return the state after learning from `told`: any number of points, sampled or not."""

    def convergence(self, state: State) -> str | None:
        """Return why the search has converged, quoting the decisive number, or None while it has not."""

    def restart(self, state: State, rng: np.random.Generator) -> State | None:
        """Return a fresh start after convergence, or None when restarts are switched off or used up."""

    def summary(self, state: State) -> Summary:
        """Return the current search distribution."""

    def interactions(self, state: State) -> FloatArray:
        """Return how strongly each pair of sites interacts, symmetric, shape (d, d), zero diagonal."""

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data, enough to build an equal strategy."""

    def state_to_dict(self, state: State) -> dict[str, Any]:
        """Return the state as plain data: numbers, strings, None, arrays, and lists or dicts of those."""

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> State:
        """Return the state that `state_to_dict` described, exactly."""
