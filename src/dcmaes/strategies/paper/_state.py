"""The state variables of Algorithm 1, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies.paper._steps import BinomialSteps


@dataclass(frozen=True, eq=False)
class PaperState:
    """State of the `paper` strategy. Its k variables are the sites with more than one state.

    Attributes
    ----------
    sites : Sites
        All d sites.
    population_size : int
        Points in a generation.
    mean : array of shape (k,)
        The centre m, in states.
    step_size : float
        sigma, in states.
    covariance : array of shape (k, k)
        C.
    sigma_path, c_path : arrays of shape (k,)
        The evolution paths of the step size and of C.
    mean_step : float
        Length of the last step of the mean; infinite before the first.
    generation : int
        Generations so far.
    waiting : Evaluations
        Results that wait for a full population.
    """

    sites: Sites
    population_size: int
    mean: FloatArray
    step_size: float
    covariance: FloatArray
    sigma_path: FloatArray
    c_path: FloatArray
    mean_step: float
    generation: int
    waiting: Evaluations

    @cached_property
    def free(self) -> IntArray:
        """Indices of the sites with more than one state, shape (k,)."""
        return np.flatnonzero(self.sites.n_states > 1)

    @cached_property
    def steps(self) -> BinomialSteps:
        """The law B(sigma^2 C) of a step before it is centred (A1)."""
        trials = self.sites.n_states[self.free] - 1
        return BinomialSteps(trials, self.step_size**2 * self.covariance)
