"""Correlated discrete distributions: Bernoulli vectors, the Ising model, and the binomials built on them."""

__all__: list[str] = []
