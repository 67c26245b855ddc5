"""Points as features relative to a centre: the monomials of order one, from which all others are products."""

from __future__ import annotations

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
