"""Counts of random cases: a part of them in the ordinary suite, all under ``scripts/test --soak``."""

from typing import Any

import pytest


def counts(part: int, whole: int) -> list[Any]:
    """The values of a parameter that says how many."""
    return [part, pytest.param(whole, marks=pytest.mark.soak)]
