"""The coded form of a space: arrays with one entry for each variable, all that a strategy ever sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, readonly
from dcmaes.space._conditions import Conditions, Listing
from dcmaes.space._coordinates import ARRAYS, Coordinates, SiteKind

# Lattices of at most so many states can be searched without knowing their order.
FEW_STATES = 4


class Site(NamedTuple):
    """One row of `Sites`."""

    kind: SiteKind
    n_states: int
    periodic: bool
    log: bool
    low: float
    high: float


class Prior:
    """How likely the states of some sites are when they are drawn.

    Parameters
    ----------
    shares : mapping of int to sequence of float
        For each site that has weights, the probabilities of its states.

    Attributes
    ----------
    sites : int array of shape (k,)
        Those sites, in ascending order.
    shares : dict of int to array of shape (n_states,)
        The probabilities.

    Examples
    --------
    >>> prior = Prior({2: [0.75, 0.25], 5: [0.1, 0.2, 0.7]})
    >>> prior.sites, prior.states(np.array([[0.7, 0.2], [0.8, 0.4]]))
    (array([2, 5]), array([[0., 1.],
           [1., 2.]]))
    """

    def __init__(self, shares: Mapping[int, Sequence[float]]) -> None:
        self.shares: dict[int, FloatArray] = {
            site: readonly(np.array(shares[site], dtype=np.float64)) for site in sorted(shares)
        }
        self.sites: IntArray = readonly(np.array(list(self.shares), dtype=np.int64))
        sizes = np.array([len(share) for share in self.shares.values()], dtype=np.int64)
        self._first = np.cumsum(sizes) - sizes
        self._last = sizes - 1.0
        # Where the states of all sites end, the i-th site between i and i + 1: one search finds them all.
        self._ends = np.concatenate([i + np.cumsum(share) for i, share in enumerate(self.shares.values())])
        self._ends[np.cumsum(sizes) - 1] = np.arange(1, len(sizes) + 1)

    def states(self, uniforms: FloatArray) -> FloatArray:
        """Return the states that random numbers in [0, 1) stand for, shape (..., k)."""
        place = np.searchsorted(self._ends, uniforms + np.arange(len(self.sites)), side="right")
        # A number just below 1 may have been rounded up to the next site.
        states: FloatArray = np.minimum(place - self._first, self._last)
        return states

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return np.array_equal(self.sites, other.sites) and np.array_equal(self._ends, other._ends)

    def __hash__(self) -> int:
        return hash((self.sites.tobytes(), self._ends.tobytes()))


def compile_prior(priors: Sequence[Sequence[float] | None]) -> Prior | None:
    """Return the weights of all variables, in their order; None if no one has any.

    >>> compile_prior([None, None]) is None
    True
    """
    shares = {site: prior for site, prior in enumerate(priors) if prior is not None}
    return Prior(shares) if shares else None


@dataclass(frozen=True, eq=False)
class Sites(Coordinates):
    """The variables of a space as arrays of shape (d,), and the maps between states and unit coordinates.

    A coded point `x` is a float64 vector of shape (d,): lattice and category sites hold the index of their
    state, 0 to n_states - 1, and continuous sites hold the user's value itself, so that coding loses nothing.
    Every method works on the last axis of arrays of shape (..., d).

    Attributes
    ----------
    kind : int8 array of shape (d,)
        `SiteKind.LATTICE` (binary, integer, ordinal, steps), `CATEGORY` or `CONTINUOUS`.
    n_states : int64 array of shape (d,)
        Number of states; 0 for continuous sites.
    periodic : bool array of shape (d,)
        Whether the last state is a neighbour of the first (continuous sites: the two bounds are one point).
    log : bool array of shape (d,)
        Whether distances are measured between logarithms.
    low, high : float64 arrays of shape (d,)
        Continuous sites: the bounds. Logarithmic lattices: the values of the first and the last state in
        units of their step, so that neighbours are 1 apart. All others: 0 and n_states - 1.
    conditions : Conditions or None
        Which sites are active only with certain states of others; None if all of them always are.
    prior : Prior or None
        How likely the states of some sites are when they are drawn; None if all are drawn uniformly.

    Examples
    --------
    >>> from dcmaes import Float, Integer, Space
    >>> sites = Space.array([Integer(0, 10), Float(1.0, 100.0, log=True)]).sites
    >>> sites.coordinate(np.array([5.0, 10.0]))
    array([0.5, 0.5])
    """

    conditions: Conditions | None = None
    prior: Prior | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sites):
            return NotImplemented
        is_same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS)
        return is_same and self.conditions == other.conditions and self.prior == other.prior

    def __hash__(self) -> int:
        return hash((*(getattr(self, name).tobytes() for name in ARRAYS), self.conditions, self.prior))

    @cached_property
    def is_choice(self) -> NDArray[np.bool_]:
        """Whether each site has states that differ without being near or far, shape (d,).

        Those are free category sites, and lattices of two states.
        """
        return readonly(self.is_free & (self.is_category | (self.n_states == 2)))

    @cached_property
    def is_line(self) -> NDArray[np.bool_]:
        """Whether each site has values between its ends, shape (d,): all free sites but the choices."""
        return readonly(self.is_free & ~self.is_choice)

    @cached_property
    def is_short(self) -> NDArray[np.bool_]:
        """Whether each site has few enough states to be searched as a choice, shape (d,).

        Those are category sites of any size, and lattices of at most four states.
        """
        return readonly(self.is_category | (self.is_lattice & (self.n_states <= FEW_STATES)))

    @cached_property
    def is_finite(self) -> bool:
        """Whether points can come again: there is no continuous site."""
        return not self.is_continuous.any()

    @property
    def has_conditions(self) -> bool:
        """Whether some sites are active only with certain states of others."""
        return self.conditions is not None

    @cached_property
    def rest(self) -> FloatArray:
        """The state in which inactive sites are kept, shape (d,): the middle; of category sites, the first.

        It is computed with operations that are exact to the last bit on every machine, since points are
        recognised by their bytes.
        """
        low, high = (np.where(self._is_log, end, 1.0) for end in (self.low, self.high))
        middle = np.clip(np.sqrt(low) * np.sqrt(high), low, high)
        lattice = np.floor(np.where(self._is_log, middle - low, (self.n_states - 1) / 2.0))
        value = np.where(self._is_log, middle, self.low + (self.high - self.low) / 2.0)
        state = np.where(self.is_continuous, value, lattice)
        return readonly(np.where(self.is_category, 0.0, state))

    def active(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell which sites of coded points are active, shape (..., d): all of them without conditions.

        >>> from dcmaes import Binary, Float, Space
        >>> space = Space({"on": Binary(), "rate": Float(0, 1, when={"on": True})})
        >>> space.sites.active(np.array([[0.0, 0.2], [1.0, 0.2]]))
        array([[ True, False],
               [ True,  True]])
        """
        return np.ones(np.shape(x), dtype=bool) if self.conditions is None else self.conditions.active(x)

    def canonical(self, x: FloatArray) -> FloatArray:
        """Return coded points with inactive sites at rest, shape (..., d): the one form of each point.

        Coded points that differ only where a site is inactive become equal. Without conditions, `x` itself is
        returned.

        >>> from dcmaes import Binary, Float, Space
        >>> space = Space({"on": Binary(), "rate": Float(0, 1, when={"on": True})})
        >>> space.sites.canonical(np.array([[0.0, 0.2], [1.0, 0.2]]))
        array([[0. , 0.5],
               [1. , 0.2]])
        """
        return x if self.conditions is None else np.where(self.conditions.active(x), x, self.rest)

    def awake(self, x: FloatArray, before: FloatArray, uniforms: FloatArray) -> FloatArray:
        """Return coded points, changed from others, with sites drawn that nobody chose, shape (..., d).

        A site that was inactive before, and was not changed, has a state that says nothing. It is drawn as by
        `uniform`, for the case that it is active now. Without conditions, `x` itself is returned.

        >>> from dcmaes import Binary, Float, Space
        >>> space = Space({"on": Binary(), "rate": Float(0, 1, when={"on": True})})
        >>> space.sites.awake(np.array([1.0, 0.5]), np.array([0.0, 0.5]), np.array([0.0, 0.9]))
        array([1. , 0.9])
        """
        if self.conditions is None:
            return x
        is_chosen = self.conditions.active(before) | (x != before)
        return np.where(is_chosen, x, self.uniform(uniforms))

    @cached_property
    def listing(self) -> Listing:
        """All points of a finite space in a row, each of them once."""
        base = np.where(self.is_continuous, self.low, 0.0)
        return Listing(self.n_states, base, self.rest, self.conditions)

    def uniform(self, uniforms: FloatArray) -> FloatArray:
        """Return coded points as they are drawn, shape (..., d), from random numbers in [0, 1).

        States are equally likely, unless the site has a prior. Continuous sites are uniform over their range.
        Logarithmic sites are uniform in the logarithm, each state of a lattice standing for the values that
        round to it.

        >>> from dcmaes import Space
        >>> sites = Space.integers(2, 0, 4).sites
        >>> sites.uniform(np.array([0.0, 0.99]))
        array([0., 4.])
        """
        x = super().uniform(uniforms)
        if self.prior is not None:
            x[..., self.prior.sites] = self.prior.states(uniforms[..., self.prior.sites])
        return x

    def shares(self, site: int) -> FloatArray:
        """Return how likely each state of a site is when it is drawn without a scale, shape (n_states,).

        All are equally likely, unless the site has a prior.

        >>> from dcmaes import Categorical, Space
        >>> space = Space({"a": Categorical(["x", "y"]), "b": Categorical(["x", "y"], prior=[3, 1])})
        >>> space.sites.shares(0), space.sites.shares(1)
        (array([0.5, 0.5]), array([0.75, 0.25]))
        """
        if self.prior is not None and site in self.prior.shares:
            return self.prior.shares[site]
        n_states = int(self.n_states[site])
        return np.full(n_states, 1.0 / max(n_states, 1))
