"""Optuna's conformance suite, on the sampler as the registry loads it."""

from __future__ import annotations

from collections.abc import Callable

import optunahub
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

DcmaesSampler = optunahub.load_local_module("samplers/dcmaes", registry_root="package").DcmaesSampler


class TestDcmaesSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """All cases, for one objective and several."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        """Return what makes a sampler."""
        return lambda: DcmaesSampler(seed=0, warn_independent_sampling=False)
