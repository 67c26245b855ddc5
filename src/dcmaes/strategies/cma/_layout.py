"""Which sites move, and which latent normals drive them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import CATEGORY, LATTICE, Sites


@dataclass(frozen=True, eq=False)
class Layout:
    """The sites of a space sorted by how they are drawn.

    A numeric site has one latent normal; a one-of-c site has one for each choice. Sites with a single value are
    left out: nothing about them can be learned.
    """

    sites: Sites

    @cached_property
    def numeric(self) -> IntArray:
        """Indices of the numeric sites that can move, shape (n,)."""
        is_single = np.where(
            self.sites.n_states == 0, self.sites.low == self.sites.high, self.sites.n_states == 1
        )
        return np.flatnonzero((self.sites.kind != CATEGORY) & ~is_single)

    @cached_property
    def category(self) -> IntArray:
        """Indices of the one-of-c sites with two choices or more, shape (b,)."""
        return np.flatnonzero((self.sites.kind == CATEGORY) & (self.sites.n_states > 1))

    @cached_property
    def is_lattice(self) -> NDArray[np.bool_]:
        """Which numeric sites are lattices, shape (n,)."""
        is_lattice: NDArray[np.bool_] = self.sites.kind[self.numeric] == LATTICE
        return is_lattice

    @cached_property
    def is_periodic(self) -> NDArray[np.bool_]:
        """Which numeric sites are circles, shape (n,)."""
        return self.sites.periodic[self.numeric]

    @cached_property
    def n_choices(self) -> IntArray:
        """Number of choices of each one-of-c site, shape (b,)."""
        return self.sites.n_states[self.category]

    @cached_property
    def is_choice(self) -> NDArray[np.bool_]:
        """Which entries of a padded (b, c) table are choices, c being the largest number of choices."""
        widest = int(self.n_choices.max(initial=0))
        return np.arange(widest) < self.n_choices[:, None]

    @cached_property
    def n_sites(self) -> int:
        """Number of sites that can move."""
        return len(self.numeric) + len(self.category)

    @cached_property
    def n_latents(self) -> int:
        """Number of latent normals: the numeric ones first, then the choices, site after site."""
        return len(self.numeric) + int(self.n_choices.sum())

    @cached_property
    def site_of_latent(self) -> IntArray:
        """The site that each latent drives, shape (n_latents,)."""
        return np.concatenate([self.numeric, np.repeat(self.category, self.n_choices)]).astype(np.int64)

    @cached_property
    def within_block(self) -> NDArray[np.bool_]:
        """Pairs of different latents of one site, shape (n_latents, n_latents): never correlated."""
        same: NDArray[np.bool_] = self.site_of_latent[:, None] == self.site_of_latent
        same[np.diag_indices(self.n_latents)] = False
        return same

    @cached_property
    def n_neighbours(self) -> int:
        """Number of points one step away from a point inside: two for a lattice site, c - 1 for one of c."""
        return 2 * int(self.is_lattice.sum()) + int((self.n_choices - 1).sum())

    def displacement(self, x: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the unit coordinates of coded points less `mean`, numeric sites only, shape (..., n)."""
        step: FloatArray = self.sites.coordinate(x)[..., self.numeric] - mean
        if self.is_periodic.any():
            step = np.where(self.is_periodic, step - np.rint(step), step)
        return step
