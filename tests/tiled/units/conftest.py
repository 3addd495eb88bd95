"""Tests of units."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _units_run(on_simpy: None) -> None:
    """Not the compiled engine."""
