"""What every test may rely on."""

from __future__ import annotations

import contextlib
import signal

import pytest
import scipy.linalg  # noqa: F401  (loads its BLAS, as numpy has loaded its own)
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# The same examples in every run, however slow the machine; `--hypothesis-profile=search` looks for new ones.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", settings.get_profile("same"), derandomize=False)
settings.load_profile("same")

# A process started in the background may have to ignore interrupts, and so would every program that the
# tests start and interrupt. With a handler in place here, those begin with the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread():
    """Let tests that call strategies and laws directly use one BLAS thread, as optimizers do.

    Programs that the tests start have the threads that users have.
    """
    with threadpool_limits(1, user_api="blas"):
        yield
