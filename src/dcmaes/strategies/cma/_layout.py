"""Which sites move, and which latent normals drive them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, readonly
from dcmaes.space import Sites


@dataclass(frozen=True, eq=False)
class Layout:
    """The sites of a space sorted by how they are drawn.

    A numeric site has one latent normal; a one-of-c site has one for each choice. Sites with a single value
    are left out: nothing about them can be learned. Below, n counts numeric sites, b one-of-c sites, c the
    choices of the widest of these, and l the latent normals.
    """

    sites: Sites

    @cached_property
    def numeric(self) -> IntArray:
        """Indices of the numeric sites that can move, shape (n,)."""
        return readonly(np.flatnonzero(self.sites.is_numeric & self.sites.is_free))

    @cached_property
    def category(self) -> IntArray:
        """Indices of the one-of-c sites with two choices or more, shape (b,)."""
        return readonly(np.flatnonzero(self.sites.is_category & self.sites.is_free))

    @cached_property
    def is_lattice(self) -> NDArray[np.bool_]:
        """Which numeric sites are lattices, shape (n,)."""
        return readonly(self.sites.is_lattice[self.numeric])

    @cached_property
    def has_lattice(self) -> bool:
        """Whether any numeric site is a lattice."""
        return bool(self.is_lattice.any())

    @cached_property
    def is_periodic(self) -> NDArray[np.bool_]:
        """Which numeric sites are circles, shape (n,)."""
        return readonly(self.sites.periodic[self.numeric])

    @cached_property
    def n_choices(self) -> IntArray:
        """Number of choices of each one-of-c site, shape (b,)."""
        return readonly(self.sites.n_states[self.category])

    @cached_property
    def is_state(self) -> NDArray[np.bool_]:
        """Which entries of a padded (b, c) table stand for a state of their site."""
        return readonly(np.arange(int(self.n_choices.max(initial=0))) < self.n_choices[:, None])

    @cached_property
    def shares(self) -> FloatArray:
        """How likely the states of one-of-c sites are to begin with, shape (b, c): by the prior, or equal."""
        shares = self.is_state / np.maximum(self.n_choices, 1)[:, None]
        if self.sites.prior is not None:
            for row, site in enumerate(self.category.tolist()):
                shares[row, : self.n_choices[row]] = self.sites.shares(site)
        return readonly(shares)

    @cached_property
    def n_sites(self) -> int:
        """Number of sites that can move, n + b."""
        return len(self.numeric) + len(self.category)

    @cached_property
    def n_latents(self) -> int:
        """Number of latent normals l: the numeric ones first, then the choices, site after site."""
        return len(self.numeric) + int(self.n_choices.sum())

    @cached_property
    def site_of_latent(self) -> IntArray:
        """The site that each latent drives, shape (l,)."""
        repeated = np.repeat(self.category, self.n_choices)
        return readonly(np.concatenate([self.numeric, repeated]).astype(np.int64))

    @cached_property
    def within_block(self) -> NDArray[np.bool_]:
        """Pairs of different latents of one site, shape (l, l): never correlated."""
        same: NDArray[np.bool_] = self.site_of_latent[:, None] == self.site_of_latent
        same[np.diag_indices(self.n_latents)] = False
        return readonly(same)

    @cached_property
    def n_neighbours(self) -> int:
        """Number of points one step away from a point inside: two for a lattice site, c - 1 for one of c."""
        return 2 * int(self.is_lattice.sum()) + int((self.n_choices - 1).sum())

    def gap(self, mean: FloatArray) -> FloatArray:
        """Return the distance between the states around `mean`, 0 if continuous, shape (n,)."""
        if self._fixed_gap is not None:
            return self._fixed_gap
        return self.sites.spacing(self._all_sites(mean))[self.numeric]

    def fraction(self, mean: FloatArray) -> FloatArray:
        """Return where `mean` lies from the state below (0) to the one above (1), shape (n,)."""
        if self._fixed_gap is not None:
            position = mean * self._states_per_unit
            return position - np.floor(position)
        coordinate = self._all_sites(mean)
        never_up = np.ones_like(coordinate)
        below = self.sites.coordinate(self.sites.from_coordinate(coordinate, never_up))[self.numeric]
        gap = self.gap(mean)
        return np.where(gap > 0, np.clip((mean - below) / np.where(gap > 0, gap, 1.0), 0.0, 1.0), 0.0)

    def inside(self, mean: FloatArray) -> FloatArray:
        """Return numeric coordinates wrapped or clipped into [0, 1], shape (n,)."""
        clipped: FloatArray = np.minimum(np.maximum(mean, 0.0), 1.0)
        if self._has_circle:
            return np.where(self.is_periodic, mean - np.floor(mean), clipped)
        return clipped

    def displacement(self, x: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the unit coordinates of coded points less `mean`, numeric sites only, shape (..., n)."""
        coordinate = self.sites.coordinate(x)
        step: FloatArray = (coordinate if self._is_all_numeric else coordinate[..., self.numeric]) - mean
        if self._has_circle:
            step = np.where(self.is_periodic, step - np.rint(step), step)
        return step

    def active(self, x: FloatArray) -> FloatArray | None:
        """Return 1 for latents of active sites, else 0, shape (p, l); None if all sites always are active."""
        if not self.sites.has_conditions:
            return None
        return self.sites.active(x)[:, self.site_of_latent].astype(np.float64)

    def made(self, active: FloatArray) -> NDArray[np.bool_]:
        """Return which choices were made, shape (p, b), from what `active` returns."""
        first = len(self.numeric) + np.cumsum(self.n_choices) - self.n_choices
        return active[:, first] > 0.0

    def points(self, coordinate: FloatArray, uniforms: FloatArray, choices: FloatArray) -> FloatArray:
        """Return coded points, shape (p, d).

        Parameters
        ----------
        coordinate, uniforms : arrays of shape (p, n)
            Unit coordinates of the numeric sites and the uniforms that round them.
        choices : array of shape (p, b)
            Index of the choice of each one-of-c site.
        """
        if self._is_all_numeric:
            return self.sites.from_coordinate(coordinate, uniforms)
        shape = (len(coordinate), self.sites.dimension)
        all_coordinates, all_uniforms = np.zeros(shape), np.full(shape, 0.5)
        all_coordinates[:, self.numeric], all_uniforms[:, self.numeric] = coordinate, uniforms
        all_coordinates[:, self.category] = choices
        return self.sites.from_coordinate(all_coordinates, all_uniforms)

    @cached_property
    def _is_all_numeric(self) -> bool:
        return len(self.numeric) == self.sites.dimension

    @cached_property
    def _has_circle(self) -> bool:
        return bool(self.is_periodic.any())

    @cached_property
    def _fixed_gap(self) -> FloatArray | None:
        """The gaps if they do not depend on the coordinate, as on a logarithmic lattice they do."""
        if (self.is_lattice & self.sites.log[self.numeric]).any():
            return None
        return readonly(self.sites.spacing(np.zeros(self.sites.dimension))[self.numeric])

    @cached_property
    def _states_per_unit(self) -> FloatArray:
        n_states = self.sites.n_states[self.numeric] - 1.0 + self.is_periodic
        return readonly(np.where(self.is_lattice, n_states, 0.0))

    def _all_sites(self, mean: FloatArray) -> FloatArray:
        coordinate = np.zeros(self.sites.dimension)
        coordinate[self.numeric] = mean
        return coordinate
