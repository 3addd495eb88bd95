"""Counts of random cases: a part of them in the ordinary suite, all under ``scripts/test --soak``."""

from collections.abc import Iterable
from typing import Any

import pytest


def counts(part: int, whole: int) -> list[Any]:
    """The values of a parameter that says how many, or of how many one."""
    return [part, pytest.param(whole, marks=pytest.mark.soak)]


def part_of(whole: Iterable[Any], part: int) -> list[Any]:
    """The values of a parameter, or tuples of several, of which the suite has the first ``part``, and the soak the
    others.
    """
    values = [each if isinstance(each, tuple) else (each,) for each in whole]
    return [pytest.param(*each, marks=pytest.mark.soak if k >= part else ()) for k, each in enumerate(values)]
