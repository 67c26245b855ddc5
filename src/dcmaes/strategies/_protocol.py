"""What a search strategy is: a frozen state and pure functions of it; and which strategies there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, check_choice, shown
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory

if TYPE_CHECKING:
    from dcmaes.distributions import LatticeGaussian

State = TypeVar("State")
# Module and class of each strategy; modules are imported when their strategy is first used.
_CLASSES = {
    "auto": ("dcmaes.strategies.auto", "Auto"),
    "cma": ("dcmaes.strategies.cma", "Cma"),
    "front": ("dcmaes.strategies.front", "FrontSearch"),
    "ising": ("dcmaes.strategies.ising", "IsingSearch"),
    "mixing": ("dcmaes.strategies.mixing", "Mixing"),
    "paper": ("dcmaes.strategies.paper", "Paper"),
    "random": ("dcmaes.strategies.random", "RandomSearch"),
}


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
        """Return the distribution on coded points, shape (d,) or (n, d): each is as likely as the others.

        >>> from dcmaes.space import Space
        >>> Summary.at(Space.binary(2).sites, np.array([1.0, 0.0])).probabilities
        (array([0., 1.]), array([1., 0.]))
        """
        x = np.atleast_2d(x)
        u = np.where(sites.is_numeric, sites.coordinate(x), np.nan)
        n_kept = np.where(sites.is_numeric & (sites.n_states != 2), 0, sites.n_states)
        shares = tuple(
            np.bincount(x[:, i].astype(np.int64), minlength=n) / len(x) if n else np.empty(0)
            for i, n in enumerate(n_kept)
        )
        deviation = u.std(axis=0)
        step_size = float(deviation[sites.is_numeric].mean()) if sites.is_numeric.any() else 0.0
        return Summary(u.mean(axis=0), deviation, shares, None, step_size)


@runtime_checkable
class Explaining(Protocol):
    """A strategy that may have identified the function, and so knows which pairs of sites interact.

    Any strategy may have this method in addition to those of `Strategy`; for the others, the values alone
    decide which interactions are certain.
    """

    def explained_pairs(self, state: Any, memory: Memory) -> NDArray[np.bool_]:
        """Tell which pairs of sites are known to interact, symmetric, shape (d, d)."""


@runtime_checkable
class Modelling(Protocol):
    """A strategy whose model of good points is a law of `dcmaes.distributions`.

    Any strategy may have this method in addition to those of `Strategy`; `result.distribution.law` is what it
    returns.
    """

    def law(self, state: Any, memory: Memory) -> LatticeGaussian | None:
        """Return the law on the sites with more than one state, in their order; None where there is none."""


@runtime_checkable
class Multiobjective(Protocol):
    """A strategy that can search for several objectives: it reads their values with `Memory.values_at`.

    Any strategy may have this method in addition to those of `Strategy`; others are refused where there are
    several objectives.
    """

    def interactions_of(self, state: Any, memory: Memory, objective: int) -> FloatArray:
        """Return how strongly each pair of sites interacts in one objective, as `Strategy.interactions`."""


class Strategy(Protocol[State]):
    """A way to propose points of a space and to learn from their values.

    A strategy object holds only options and never changes; everything learned is in the state, a frozen
    dataclass that each update replaces. Evaluations are in the memory, which belongs to the run: a strategy
    reads it, and keeps none of them in its state. Randomness comes from the generator passed in, so that the
    same seed and the same results told in the same order give the same points, bit for bit.

    In spaces with conditions, inactive sites of the points told are at rest (`Sites.canonical`), and those of
    the points sampled do not matter.
    """

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> State:
        """Return the first state. `memory.starts` has the user's starting points, value NaN if not known."""

    def batch_size(self, state: State) -> int:
        """Return how many more samples the next update waits for; at least 1."""

    def sample(self, state: State, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points drawn from the search distribution, shape (n, d)."""

    def update(self, state: State, told: Evaluations, memory: Memory) -> State:
        """Return the state after learning from `told`: any number of points, sampled or not.

        Those that were evaluated are in the memory already. Points that were evaluated again only to make
        sure of their value are in the memory alone.
        """

    def convergence(self, state: State, memory: Memory) -> str | None:
        """Return why the search has converged, quoting the decisive number, or None while it has not."""

    def restart(self, state: State, rng: np.random.Generator, memory: Memory) -> State | None:
        """Return a fresh start after convergence, or None when restarts are switched off or used up."""

    def summary(self, state: State, memory: Memory) -> Summary:
        """Return the current search distribution."""

    def interactions(self, state: State, memory: Memory) -> FloatArray:
        """Return how strongly each pair of sites interacts, symmetric, shape (d, d), zero diagonal."""

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data, enough to build an equal strategy."""

    def state_to_dict(self, state: State) -> dict[str, Any]:
        """Return the state as plain data: numbers, strings, None, arrays, and lists or dicts of those."""

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> State:
        """Return the state that `state_to_dict` described, exactly."""


class Proposer(Strategy[State], Protocol[State]):
    """A strategy that shares the evaluations of a run with others, as those of `auto` do.

    It is told the results of its own points only; all others are in the memory.
    """

    def join(self, state: State, memory: Memory) -> State:
        """Return the state at the beginning of a turn, after others have evaluated points."""


class Identifying(Proposer[State], Protocol[State]):
    """A proposer that finds out what the function is, and has precedence while it has points to propose."""

    def n_asked(self, state: State) -> int:
        """Return how many evaluations it has asked for to learn from them: at most half of all."""


class Part(Coded[State]):
    """What proposers have in common that are only parts of `auto`: no options, and one run each."""

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data: there are none."""
        return {}

    def join(self, state: State, memory: Memory) -> State:
        """Return the state as it is: others do not change it."""
        return state

    def n_asked(self, state: State) -> int:
        """Return 0: it learns from what others have evaluated."""
        return 0

    def restart(self, state: State, rng: np.random.Generator, memory: Memory) -> State | None:
        """Return None: there is nothing to begin again."""
        return None

    def summary(self, state: State, memory: Memory) -> Summary:
        """Return the best point as a distribution on that one point; before there is one, the middle."""
        sites = memory.sites
        x = sites.uniform(np.full(sites.dimension, 0.5)) if memory.best is None else memory.x(memory.best)
        return Summary.at(sites, x)


def strategy_names() -> tuple[str, ...]:
    """Return the names of the strategies that come with the library.

    >>> "random" in strategy_names()
    True
    """
    return tuple(_CLASSES)


def make_strategy(strategy: str | Strategy[Any], options: Mapping[str, Any] | None = None) -> Strategy[Any]:
    """Return the strategy of that name, built with `options`, or the object if it follows the protocol.

    >>> make_strategy("random", {"population_size": 5})
    RandomSearch(population_size=5)
    """
    if not isinstance(strategy, str):
        methods = (name for name in vars(Strategy) if not name.startswith("_"))
        missing = [method for method in methods if not hasattr(strategy, method)]
        if missing or isinstance(strategy, type):
            detail = (
                "a class; make an object of it" if isinstance(strategy, type) else f"no {missing[0]!r} in it"
            )
            wanted = "a name or an object that obeys the strategy protocol"
            raise TypeError(f"strategy must be {wanted}, got {shown(strategy)} ({detail})")
        return strategy
    check_choice("strategy", strategy, tuple(_CLASSES))
    made: Strategy[Any] = strategy_class(strategy)(**(options or {}))
    return made


def strategy_for(strategy: str | Strategy[Any], n_objectives: int) -> Strategy[Any]:
    """Return the strategy for so many objectives, or raise if it cannot search for several.

    >>> strategy_for("auto", 1).name, strategy_for("auto", 2).name
    ('auto', 'front')
    """
    if n_objectives == 1:
        return make_strategy(strategy)
    made = make_strategy("front" if isinstance(strategy, str) and strategy == "auto" else strategy)
    if not isinstance(made, Multiobjective):
        raise ValueError(
            f"strategy must be 'auto', 'front' or 'random' with several objectives ({made.name!r} searches "
            f"for one), got {shown(strategy)}"
        )
    return made


def is_registered(strategy: Strategy[Any]) -> bool:
    """Tell whether `make_strategy(strategy.name, strategy.options())` gives an equal strategy.

    >>> is_registered(make_strategy("random"))
    True
    """
    return strategy.name in _CLASSES and type(strategy) is strategy_class(strategy.name)


def strategy_class(name: str) -> type[Any]:
    """Return the class of the strategy of that name.

    >>> strategy_class("random").__name__
    'RandomSearch'
    """
    module, class_name = _CLASSES[name]
    found: type[Any] = getattr(import_module(module), class_name)
    return found
