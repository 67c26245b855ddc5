"""Canonical coordinates: features of points relative to a centre, and energies, functions of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import Sites


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Features of coded points relative to a centre: zero at the centre, whatever the space.

    A two-state or one-of-c site has a {0,1} feature for each state other than the centre's. A wider lattice
    or a continuous site has one number, its distance from the centre in units of `width` along the unit
    coordinate. Features of inactive sites are zero; a site that is inactive at the centre is at rest there.

    Attributes
    ----------
    sites : Sites
    centre : array of shape (d,)
        Coded centre.
    width : array of shape (d,)
        Unit of distance of each numeric site; not used for the others.

    Examples
    --------
    >>> from dcmaes.space import Binary, Categorical, Integer, Space
    >>> sites = Space({"on": Binary(), "how": Categorical(["a", "b", "c"]), "n": Integer(0, 10)}).sites
    >>> feature_map = FeatureMap(sites, centre=np.array([1.0, 0.0, 5.0]), width=np.full(3, 0.1))
    >>> feature_map.features(np.array([[1.0, 0.0, 5.0], [0.0, 2.0, 7.0]]))
    array([[0., 0., 0., 0.],
           [1., 0., 1., 2.]])
    """

    sites: Sites
    centre: FloatArray
    width: FloatArray

    @cached_property
    def numeric(self) -> IntArray:
        """Sites with a number as feature, shape (q,)."""
        return np.flatnonzero(self.sites.is_line)

    @cached_property
    def _choice(self) -> tuple[IntArray, FloatArray]:
        sites = np.flatnonzero(self.sites.is_choice)
        n_states = self.sites.n_states[sites]
        site = np.repeat(sites, n_states - 1)
        rank = np.concatenate([np.arange(n - 1) for n in n_states]) if len(sites) else np.empty(0)
        state = rank + (rank >= self.centre[site])
        return site, state.astype(np.float64)

    @property
    def choice_site(self) -> IntArray:
        """Site of each {0,1} feature, shape (p,)."""
        return self._choice[0]

    @property
    def choice_state(self) -> FloatArray:
        """State that each {0,1} feature stands for, shape (p,)."""
        return self._choice[1]

    @cached_property
    def n_choices(self) -> int:
        """Number p of {0,1} features; they come first."""
        return len(self.choice_site)

    @cached_property
    def n_features(self) -> int:
        """Number p + q of features."""
        return self.n_choices + len(self.numeric)

    @cached_property
    def site(self) -> IntArray:
        """Site of each feature, shape (p + q,)."""
        return np.concatenate([self.choice_site, self.numeric]).astype(np.int64)

    def features(self, x: FloatArray) -> FloatArray:
        """Return the features of coded points, shape (..., d) to (..., p + q)."""
        # Choices first, then numbers: (Q1)
        chosen = (x[..., self.choice_site] == self.choice_state).astype(np.float64)
        features = np.concatenate([chosen, self.lines(self.sites.coordinate(x)[..., self.numeric])], axis=-1)
        return features * self.sites.active(x)[..., self.site] if self.sites.has_conditions else features

    def lines(self, coordinate: FloatArray) -> FloatArray:
        """Return the numeric features of unit coordinates of the numeric sites, shape (..., q)."""
        step: FloatArray = coordinate - self._middle
        periodic = self.sites.periodic[self.numeric]
        if periodic.any():
            step = np.where(periodic, step - np.rint(step), step)
        scaled: FloatArray = step / self.width[self.numeric]
        return scaled

    @cached_property
    def _middle(self) -> FloatArray:
        middle: FloatArray = self.sites.coordinate(self.centre)[self.numeric]
        return middle

    def points(self, features: FloatArray) -> FloatArray:
        """Return the coded points nearest to features with one choice a site, shape (n, p + q) to (n, d)."""
        coordinate = np.broadcast_to(self._base, (len(features), self.sites.dimension)).copy()
        p = self.n_choices
        coordinate[:, self.numeric] = self._middle + features[:, p:] * self.width[self.numeric]
        x = self.sites.from_coordinate(coordinate, np.full_like(coordinate, 0.5))
        row, column = np.nonzero(features[:, :p])
        x[row, self.choice_site[column]] = self.choice_state[column]
        return self.sites.canonical(x)

    @cached_property
    def _base(self) -> FloatArray:
        base: FloatArray = self.sites.coordinate(self.centre)
        return base


@dataclass(frozen=True, eq=False)
class Energy:
    """A batch of functions of features, each radial + linear + curved + pairwise (Q2).

        e(phi) = radial * rho(phi) + field . phi + curvature . z^2 + sum over pairs coupling_ij phi_i phi_j

    where z are the numeric features and rho(phi) is the number of choices changed plus the squared length
    of z.

    Attributes
    ----------
    n_choices : int
        Number p of 0/1 features; the q numeric ones follow.
    radial : array of shape (c,)
    field : array of shape (c, p + q)
    curvature : array of shape (c, q)
    coupling : array of shape (c, p + q, p + q), or None
        Symmetric, zero between features of one site; None if there are no pairwise terms.
    constant : array of shape (c,)
        Value at the centre, which `value` leaves out; zeros by default.

    Examples
    --------
    Two {0,1} features that cost 1 each, and a reward of 3 for both:

    >>> coupling = np.array([[[0.0, -3.0], [-3.0, 0.0]]])
    >>> energy = Energy(2, np.zeros(1), np.ones((1, 2)), np.zeros((1, 0)), coupling)
    >>> energy.value(np.array([[1.0, 1.0]]))
    array([-1.])
    """

    n_choices: int
    radial: FloatArray
    field: FloatArray
    curvature: FloatArray
    coupling: FloatArray | None
    constant: FloatArray = dataclasses.field(default_factory=lambda: np.zeros(1))

    def gradient(self, features: FloatArray) -> FloatArray:
        """Return field + coupling phi for one point per function, shape (c, p + q).

        >>> Energy(1, np.zeros(1), np.ones((1, 1)), np.zeros((1, 0)), None).gradient(np.ones((1, 1)))
        array([[1.]])
        """
        if self.coupling is None:
            return self.field
        bent: FloatArray = self.field + np.einsum("cij,cj->ci", self.coupling, features)
        return bent

    def value(self, features: FloatArray) -> FloatArray:
        """Return the energy of one point per function, shape (c,).

        >>> Energy(1, np.ones(1), np.ones((1, 1)), np.zeros((1, 0)), None).value(np.ones((1, 1)))
        array([2.])
        """
        # Each pair appears twice in features . coupling . features: (Q2)
        z = features[:, self.n_choices :]
        rho = features[:, : self.n_choices].sum(axis=1) + (z**2).sum(axis=1)
        linear = (features * (self.field + self.gradient(features))).sum(axis=1) / 2
        total: FloatArray = self.radial * rho + linear + (self.curvature * z**2).sum(axis=1)
        return total

    def values_at(self, features: FloatArray) -> FloatArray:
        """Return the energy of each of some points under each function, shape (n, p + q) to (c, n).

        >>> Energy(1, np.zeros(2), np.ones((2, 1)), np.zeros((2, 0)), None).values_at(np.ones((1, 1)))
        array([[1.],
               [1.]])
        """
        squares = features[:, self.n_choices :] ** 2
        rho = features[:, : self.n_choices].sum(axis=1) + squares.sum(axis=1)
        values: FloatArray = np.outer(self.radial, rho) + self.field @ features.T + self.curvature @ squares.T
        if self.coupling is not None:
            values += ((features @ self.coupling) * features).sum(axis=2) / 2
        return values
