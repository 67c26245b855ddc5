"""Correlated discrete distributions: Bernoulli vectors, the Ising model, lattices, binomials and counts."""

from dcmaes.distributions._bernoulli import BivariateBernoulli, MultivariateBernoulli
from dcmaes.distributions._centered_binomial import CenteredBinomial
from dcmaes.distributions._gaussian_copula import GaussianCopula, correlation_range
from dcmaes.distributions._lattice_gaussian import Ising, LatticeGaussian
from dcmaes.distributions._lattice_law import LatticeTable
from dcmaes.distributions._multivariate_binomial import MultivariateBinomial
from dcmaes.distributions._poisson_binomial import PoissonBinomial
from dcmaes.distributions._truncated_geometric import TruncatedGeometric

__all__ = [
    "BivariateBernoulli",
    "CenteredBinomial",
    "GaussianCopula",
    "Ising",
    "LatticeGaussian",
    "LatticeTable",
    "MultivariateBernoulli",
    "MultivariateBinomial",
    "PoissonBinomial",
    "TruncatedGeometric",
    "correlation_range",
]
