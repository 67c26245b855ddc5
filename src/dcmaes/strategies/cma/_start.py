"""The first distribution of a run."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._update import Path, Paths, limit

# Around a starting point given by the user the search looks less far, and trusts its choices half.
START_SHARE = 0.4
START_TRUST = 0.5
FIRST_MUTATION = 0.01


def first_distribution(
    layout: Layout, start: Evaluations, step_size: float, population_size: int, *, is_full: bool
) -> Distribution:
    """Return the distribution of the first run: around the best starting point, or the middle of the space."""
    if len(start) == 0:
        return distribution_around(layout, None, None, step_size, population_size, is_full=is_full)
    x = start.x[start.order()[0]]
    mean = layout.sites.coordinate(x)[layout.numeric]
    share = START_SHARE * step_size
    return distribution_around(layout, mean, x[layout.category], share, population_size, is_full=is_full)


def distribution_around(
    layout: Layout,
    mean: FloatArray | None,
    choices: FloatArray | None,
    step_size: float,
    population_size: int,
    *,
    is_full: bool,
) -> Distribution:
    """Return a fresh distribution with the given mean and preferred choices (None: the middle, all choices)."""
    n, n_latents = len(layout.numeric), layout.n_latents
    mean = np.full(n, 0.5) if mean is None else mean
    coordinate = np.zeros(layout.sites.dimension)
    coordinate[layout.numeric] = mean
    gap = layout.sites.spacing(coordinate)[layout.numeric]
    # Rounding alone gives a lattice step up to a quarter of a squared spacing: only the rest is added (K22).
    variance = np.maximum(step_size**2 - gap**2 / 4, FIRST_MUTATION * gap**2)
    probabilities = layout.is_choice / np.maximum(layout.n_choices, 1)[:, None]
    if choices is not None:
        preferred = choices[:, None] == np.arange(layout.is_choice.shape[1])
        probabilities = (1 - START_TRUST) * probabilities + START_TRUST * preferred
    if choices is not None or n == 0:
        mean = _towards_middle(layout, mean, gap)
    return limit(
        Distribution(
            layout=layout,
            mean=mean,
            step_size=1.0,
            scale=np.sqrt(np.where(layout.is_lattice, variance, step_size**2)),
            correlation=np.eye(n_latents) if is_full else None,
            root=np.eye(n_latents) if is_full else None,
            whitener=np.eye(n) if is_full else None,
            anisotropy=1.0,
            probabilities=probabilities,
            mutation=np.full(len(layout.category), FIRST_MUTATION),
            floor=1 / (max(layout.n_sites, 1) * population_size),
        )
    )


def _towards_middle(layout: Layout, mean: FloatArray, gap: FloatArray) -> FloatArray:
    """Move the mean of two- and three-state lattices half a state inwards, so that they are not frozen at once."""
    is_short = layout.is_lattice & (gap >= 0.5) & ~layout.is_periodic
    return np.where(is_short, mean + START_TRUST * (0.5 - mean), mean)


def no_paths(distribution: Distribution) -> Paths:
    """Return paths that have not moved yet."""
    n = len(distribution.mean)
    n_latents = 0 if distribution.correlation is None else len(distribution.correlation)
    return Paths(Path.zero(n), Path.zero(n_latents), Path.zero(n))
