"""Everything the strategy has learned, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import FeatureMap
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Rank
from dcmaes.strategies.ising._constants import PATIENCE, PATIENCE_BY_FEATURE, WIDTH_IN_GAPS
from dcmaes.strategies.ising._plateau import Blame


@dataclass(frozen=True, eq=False)
class IsingState:
    """State of the `ising` strategy.

    Attributes
    ----------
    sites : Sites
        The space.
    centre : array of shape (d,)
        The best point of this run (under noise: by prediction), the origin of the features.
    level : Rank
        That of the centre; infinite before the first results of a run.
    width : array of shape (d,)
        How far each numeric site looks, as a fraction of its range.
    reach : float
        How many choices proposals have lately changed.
    blame : Blame
        Which sites must not change, learned from ties.
    variances : array of shape (7,)
        Hyper-parameters of the regression, by component.
    barrier_variances : array of shape (7,)
        Those of the regression on how far points are beyond the constraints, or a cliff.
    cliff : str
        What tells how far points are beyond a cliff: VALUES, SURPRISES or SIDES; empty if there is none.
    low_share : int
        Which of `LOW_SHARES` says what values count as low.
    window : int
        Largest number of evaluations in a regression.
    n_fitted, n_fits, idle, run : int
        Evaluations in the memory when the variances were last refitted, refits in all, evaluations since this
        run last improved, restarts before this run.
    """

    sites: Sites
    centre: FloatArray
    level: Rank
    width: FloatArray
    reach: float
    blame: Blame
    variances: FloatArray
    barrier_variances: FloatArray
    cliff: str
    low_share: int
    window: int
    n_fitted: int
    n_fits: int
    idle: int
    run: int

    @cached_property
    def feature_map(self) -> FeatureMap:
        """Features relative to the centre."""
        gap = np.where(self.sites.is_numeric, self.sites.spacing(self.sites.coordinate(self.centre)), 0.0)
        return FeatureMap(self.sites, self.centre, np.maximum(self.width, WIDTH_IN_GAPS * gap))

    @property
    def patience(self) -> int:
        """After how many evaluations without improvement a run is over."""
        return PATIENCE + PATIENCE_BY_FEATURE * self.feature_map.n_features
