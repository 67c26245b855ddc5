"""Which sites are choices to a search that knows no numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcmaes.space import Sites


def is_choice(sites: Sites) -> NDArray[np.bool_]:
    """Tell for each site whether it is one-of-c or a lattice of few states, shape (d,).

    >>> from dcmaes.space import Categorical, Float, Integer, Space
    >>> space = Space({"a": Categorical(["x", "y", "z"]), "b": Integer(0, 3), "c": Float(0, 1)})
    >>> is_choice(space.sites)
    array([ True,  True, False])
    """
    return sites.is_short
