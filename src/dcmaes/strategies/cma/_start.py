"""The first distribution of a run."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.cma._copula import Copula
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._marginals import Marginals
from dcmaes.strategies.cma._update import smallest_floor

# Around a starting point given by the user the search looks less far, and trusts its choices half.
START_SHARE = 0.4
START_TRUST = 0.5
FIRST_MUTATION = 0.01
# A run around the best point starts this many spacings wide, but not wider than this part of a first run;
# a lattice of few states starts with this share of jumps.
NEARBY_SPACINGS = 2.0
NEARBY_SHARE = 0.5
NEARBY_JUMPS = 0.05
NEARBY_CONTINUOUS_SHARE = 0.1


def first_distribution(
    layout: Layout, start: Evaluations, step_size: float, population_size: int, *, is_full: bool
) -> Distribution:
    """Return the distribution of the first run: around the best starting point, or the middle."""
    if len(start) == 0:
        middle = np.full(len(layout.numeric), 0.5)
        return distribution_around(layout, middle, step_size, population_size, is_full=is_full)
    x = start.x[start.order()[0]]
    mean = _towards_middle(layout, layout.sites.coordinate(x)[layout.numeric])
    return distribution_around(
        layout, mean, START_SHARE * step_size, population_size, is_full=is_full, choices=x[layout.category]
    )


def distribution_around(
    layout: Layout,
    mean: FloatArray,
    step_size: float,
    population_size: int,
    *,
    is_full: bool,
    choices: FloatArray | None = None,
) -> Distribution:
    """Return a fresh distribution.

    Parameters
    ----------
    mean : array of shape (n,)
        Unit coordinate of the centre.
    step_size : float
        Standard deviation of every numeric site.
    choices : array of shape (b,), optional
        Preferred choices of the one-of-c sites; by default all are equal.
    """
    gap = layout.gap(mean)
    # Rounding alone gives a lattice step up to a quarter of a squared spacing: only the rest is added (K22).
    variance = np.maximum(step_size**2 - gap**2 / 4, FIRST_MUTATION * gap**2)
    probabilities = layout.is_choice / np.maximum(layout.n_choices, 1)[:, None]
    if choices is not None:
        preferred = choices[:, None] == np.arange(layout.is_choice.shape[1])
        probabilities = (1 - START_TRUST) * probabilities + START_TRUST * preferred
    marginals = Marginals.within_limits(
        layout,
        mean=mean,
        step_size=1.0,
        scale=np.sqrt(variance),
        probabilities=probabilities,
        mutation=np.full(len(layout.category), FIRST_MUTATION),
        floor=smallest_floor(layout.n_sites, population_size),
    )
    copula = Copula.identity(layout.n_latents, len(mean)) if is_full else None
    return Distribution(marginals, copula)


def widened(distribution: Distribution, step_size: float, population_size: int) -> Distribution:
    """Return the distribution made wide again around its mean; its correlations are kept (K22)."""
    old, layout = distribution.marginals, distribution.layout
    gap = layout.gap(old.mean)
    lattice = np.minimum(NEARBY_SPACINGS * gap, NEARBY_SHARE * step_size)
    lattice = np.maximum(lattice, np.sqrt(NEARBY_JUMPS) * gap)
    deviation = np.where(layout.is_lattice, lattice, NEARBY_CONTINUOUS_SHARE * step_size)
    equal = layout.is_choice / np.maximum(layout.n_choices, 1)[:, None]
    marginals = Marginals.within_limits(
        layout,
        mean=old.mean,
        step_size=1.0,
        scale=np.maximum(old.numeric.deviation, deviation),
        probabilities=(1 - START_TRUST) * equal + START_TRUST * old.probabilities,
        mutation=np.full(len(layout.category), FIRST_MUTATION),
        floor=smallest_floor(layout.n_sites, population_size),
    )
    return Distribution(marginals, distribution.copula)


def _towards_middle(layout: Layout, mean: FloatArray) -> FloatArray:
    """Move the mean of short lattices half-way to the middle, so that they are not frozen at once."""
    is_short = layout.is_lattice & (layout.gap(mean) >= 0.5) & ~layout.is_periodic
    return np.where(is_short, mean + START_TRUST * (0.5 - mean), mean)
