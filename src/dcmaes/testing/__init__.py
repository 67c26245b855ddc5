"""A test-suite that every strategy must pass, to be inherited by the tests of a strategy. Needs pytest."""

import pytest

# Before the import, so that a failing assertion says what it compared.
pytest.register_assert_rewrite("dcmaes.testing._conformance")

from dcmaes.testing._conformance import StrategyConformance, conformance_spaces  # noqa: E402

__all__ = ["StrategyConformance", "conformance_spaces"]
