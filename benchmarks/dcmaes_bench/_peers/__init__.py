"""The optimizers of the benchmark, each in about twenty lines; importing this package registers them."""

from dcmaes_bench._peers import _bayesian, _cma, _dcmaes, _p3, _packages, _simple

__all__ = ["_bayesian", "_cma", "_dcmaes", "_p3", "_packages", "_simple"]
