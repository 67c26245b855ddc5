"""The conformance suite that Optuna ships for samplers, run on ours."""

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.testing.pytest_samplers import (  # noqa: E402
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from dcmaes.integrations.optuna import DcmaesSampler  # noqa: E402


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


# Some cases have dynamic spaces, where the warning of independent sampling is right and tested elsewhere; a
# fixed parameter outside its range makes Optuna itself warn.
class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: DcmaesSampler(seed=0, warn_independent_sampling=False)


class TestConformanceWithStartup(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self):
        return lambda: DcmaesSampler(seed=1, n_startup_trials=3, warn_independent_sampling=False)
