"""The sampler as OptunaHub loads it: `optunahub.load_module("samplers/dcmaes").DcmaesSampler`."""

from dcmaes.integrations.optuna import DcmaesSampler

__all__ = ["DcmaesSampler"]
