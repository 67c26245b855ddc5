"""Correlated discrete distributions: Bernoulli vectors, the Ising model, and the binomials built on them."""

from dcmaes.distributions._bernoulli import MultivariateBernoulli
from dcmaes.distributions._bivariate_bernoulli import BivariateBernoulli

__all__ = ["BivariateBernoulli", "MultivariateBernoulli"]
