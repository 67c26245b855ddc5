"""Where the numeric features of proposals may go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import FeatureMap


@dataclass(frozen=True, eq=False)
class Box:
    """Where numeric features may go, shape (c, q), and the grid they are on, shape (q,).

    `gap` is the distance between the states of a lattice, 0 for continuous sites and for lattices that are
    not evenly spaced (their rounding is left to the end).
    """

    low: FloatArray
    high: FloatArray
    gap: FloatArray

    @staticmethod
    def around(feature_map: FeatureMap, radius: FloatArray) -> Box:
        """Return the part of the space within `radius` widths of the centre, for each of some chains."""
        sites, numeric = feature_map.sites, feature_map.numeric
        middle, width = sites.coordinate(feature_map.centre), feature_map.width[numeric]
        periodic = sites.periodic[numeric]
        low = np.where(periodic, -0.5, -middle[numeric]) / width
        high = np.where(periodic, 0.5, 1 - middle[numeric]) / width
        is_grid = sites.is_lattice[numeric] & ~sites.log[numeric]
        gap = np.where(is_grid, sites.spacing(middle)[numeric] / width, 0.0)
        reach = np.maximum(radius[:, None], 1.01 * gap)
        return Box(np.maximum(low, -reach), np.minimum(high, reach), gap)

    def snap(self, z: FloatArray) -> FloatArray:
        """Return numeric features brought into the box and onto the grid."""
        z = np.clip(z, self.low, self.high)
        safe = np.where(self.gap > 0, self.gap, 1.0)
        steps = np.clip(np.rint(z / safe), np.ceil(self.low / safe - 1e-9), np.floor(self.high / safe + 1e-9))
        return np.where(self.gap > 0, steps * safe, z)
