"""Whether inner loops are compiled, and how: numba does it where it is installed (the extra ``fast``).

Results are the same with and without. The environment variable ``TILESIM_NUMBA=0`` leaves numba aside.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@cache
def wanted() -> bool:
    """Whether there is numba, and nobody minds. It is not imported for that."""
    return os.environ.get("TILESIM_NUMBA") != "0" and find_spec("numba") is not None


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, compiled when it is first called, once for a machine if there is any place to keep the result.

    Modules that use this are imported late, by those who have found that it is :func:`wanted`.
    """
    numba: Any = import_module("numba")
    try:
        found: Callable[P, R] = numba.njit(cache=True)(function)
    except RuntimeError:  # neither beside the source nor in the user's own cache may anything be written
        found = numba.njit(function)
    return found
