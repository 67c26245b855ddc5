"""Which sites the centre's value hangs on, learned from ties: plateaus are crossed in large steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._codec import DERIVED
from dcmaes.strategies.ising._settings import DEFAULT, IsingSettings

# Sweeps in which blame is passed around among the sites of worse points.
_N_SWEEPS = 8


@dataclass(frozen=True, eq=False)
class Blame:
    """What is known of sites that must stay as they are.

    A point is taken to be worse than the centre if and only if it changes a site that *does harm*.

    Attributes
    ----------
    suspects : array of shape (m, d)
        For each worse point, 1 for the sites of which at least one does harm.
    cleared : array of shape (d,)
        How many points changed the site and were as good as the centre.
    tie_rate : float
        Recent share of points as good as the centre.
    settings : IsingSettings
        Those of the strategy.

    Examples
    --------
    Two worse points have the first site in common, and a tie clears the second:

    >>> blame = Blame.none(3).worse(np.array([1.0, 1.0, 0.0])).worse(np.array([1.0, 0.0, 1.0]))
    >>> blame.tie(np.array([0.0, 1.0, 0.0])).harm.round(1)
    array([1. , 0. , 0.4])
    """

    suspects: FloatArray
    cleared: FloatArray
    tie_rate: float
    settings: IsingSettings = field(default=DEFAULT, metadata=DERIVED)

    @staticmethod
    def none(dimension: int, settings: IsingSettings = DEFAULT) -> Blame:
        """Return what is known before any result."""
        return Blame(np.zeros((0, dimension)), np.zeros(dimension), 0.0, settings)

    def worse(self, changed: FloatArray) -> Blame:
        """Return what is known after a point that is worse than the centre; `changed` is 0/1, shape (d,)."""
        # As many are remembered as evaluations are in a regression.
        suspects = np.concatenate([self.suspects, changed[None]])[-self.settings.window :]
        return replace(self, suspects=suspects, tie_rate=self.settings.keep * self.tie_rate)

    def tie(self, changed: FloatArray) -> Blame:
        """Return what is known after a point as good as the centre."""
        keep = self.settings.keep
        tie_rate = keep * self.tie_rate + 1 - keep
        return replace(self, cleared=self.cleared + changed, tie_rate=tie_rate)

    def better(self, changed: FloatArray) -> Blame:
        """Return what is known once a better point has become the centre."""
        # What led to it did no harm before, and one of it must now stay. Other sites may have joined those
        # that must, so that being cleared counts less.
        suspects = self.suspects * (1 - changed)
        cleared = 0.5 * np.minimum(self.cleared, 1) * (1 - changed)
        return replace(self, suspects=suspects[suspects.any(axis=1)], cleared=cleared).worse(changed)

    @cached_property
    def harm(self) -> FloatArray:
        """Probability of each site to do harm, shape (d,)."""
        # Belief propagation, each message from all sites to all points at once: (Q12)
        odds, doubt = self.settings.harm_prior, self.settings.harm_doubt
        prior = np.log(odds / (1 - odds)) + self.cleared * np.log(doubt)
        log_odds, is_suspect = prior, self.suspects > 0
        for _ in range(_N_SWEEPS if len(self.suspects) else 0):
            harmless = -np.logaddexp(0.0, log_odds)
            others = (self.suspects @ harmless)[:, None] - harmless
            message = -np.log1p((doubt - 1) * np.exp(np.minimum(others, 0.0)))
            log_odds = (log_odds + prior + np.where(is_suspect, message, 0.0).sum(axis=0)) / 2
        harm: FloatArray = 1 / (1 + np.exp(-np.clip(log_odds, -50.0, 50.0)))
        return harm


def harmless_points(
    blame: Blame, centre: FloatArray, sites: Sites, n: int, rng: np.random.Generator
) -> FloatArray:
    """Return `n` points that differ from the centre in about half of what does no harm, shape (n, d).

    All sites are two-state or one-of-c. How much risk a point takes is drawn anew for each.
    """
    risk = -np.log1p(-np.clip(blame.harm, 1e-9, 1 - 1e-9))
    may_change = (rng.random((n, len(centre))) < 0.5) & (sites.n_states > 1)
    is_changed = np.zeros_like(may_change)
    for row, allowed in zip(is_changed, may_change, strict=True):
        some = np.flatnonzero(allowed)
        left = rng.exponential(blame.settings.risk)
        for site in some[np.argsort(risk[some] * rng.exponential(size=len(some)), kind="stable")]:
            # A change is made while the risk taken so far allows it: (Q13)
            if risk[site] <= left:
                row[site] = True
                left -= risk[site]
    n_others = np.maximum(sites.n_states - 1, 1)
    other = (centre + 1 + np.floor(rng.random(is_changed.shape) * n_others)) % (n_others + 1)
    return np.where(is_changed, other, centre)
