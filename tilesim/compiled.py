"""Whether inner loops are compiled, and how: numba does it where it is installed (the extra ``fast``).

Results are the same with and without. The environment variable ``TILESIM_NUMBA=0`` leaves numba aside; with 1 it is
taken for the smallest run too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar, cast

VARIABLE = "TILESIM_NUMBA"

_WORTH_LOADING = 1800

P = ParamSpec("P")
R = TypeVar("R")


def wanted() -> bool:
    """Whether there is numba, and nobody minds. It is not imported for that."""
    return os.environ.get(VARIABLE) != "0" and _installed()


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


def pays(instructions: int) -> bool:
    """Whether a run of so many instructions, counted in every tile, gains more by compiled loops than it loses.

    They take about half a second to load, once a process, and save a quarter of a millisecond an instruction.
    """
    worth = instructions >= _WORTH_LOADING or "tilesim.sim.kernel" in sys.modules
    return wanted() and (worth or os.environ.get(VARIABLE) == "1") and _loads()


@cache
def _loads() -> bool:
    """A numba that is older than the NumPy beside it refuses to be imported."""
    try:
        import_module("numba")
    except ImportError:
        return False
    return True


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, compiled when it is first called, once for a machine if there is any place to keep the result.

    Modules that use this are imported late, by those who have found that it is :func:`wanted`.
    """
    numba: Any = import_module("numba")
    try:
        found: Any = numba.njit(cache=True)(function)
    except RuntimeError:  # neither beside the source nor in the user's own cache may anything be written
        found = numba.njit(function)
    else:
        found._cache = _Cache(found._cache)  # noqa: SLF001  (numba has no other way to mend its cache)
    return cast(Callable[P, R], found)


class _Cache:
    """Numba's own cache of a function; but files in it that are damaged, or that cannot be written, stop nobody."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled for a signature; None, and all is compiled again, if there is nothing whole."""
        try:
            return self._kept.load_overload(signature, target)
        except Exception:  # noqa: BLE001  (a damaged pickle raises whatever it likes)
            with suppress(OSError):
                self._kept.flush()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, where that can be."""
        with suppress(OSError):
            self._kept.save_overload(signature, result)
