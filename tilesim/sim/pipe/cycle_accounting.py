"""How the cycles of a pipe come into the accounts of the units that it works for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from tilesim.sim.core.unit import Words
from tilesim.sim.pipe.course import Activity, Spans, Totals


class Account(Protocol):
    """Who counts cycles by kind; see :class:`~tilesim.sim.core.unit.Unit`."""

    def add(self, kind: str, cycles: int, moved_bytes: int = 0) -> None:
        """Count the next cycles."""

    def add_spans(self, kinds: Sequence[str], which: Words, cycles: Words, bytes_per_cycle: Sequence[int]) -> None:
        """Count the next spans, none empty, in order."""


Booking = tuple[Account, str, int]
"""What a cycle is to an account, and the bytes moved in it."""

Accounts = Callable[[Activity], Sequence[Booking]]
"""What a cycle of an activity is to each account that it concerns; between two bookings these are always the same."""


def add_totals(totals: Totals, accounts: Accounts) -> None:
    """Book activities that lasted some cycles each, in whatever order."""
    for activity, cycles in totals:
        for account, kind, bytes_per_cycle in accounts(activity) if cycles else ():
            account.add(kind, cycles, bytes_per_cycle * cycles)


def add_spans(spans: Spans, accounts: Accounts) -> None:
    """Book activities that followed each other."""
    if not len(spans.which):
        return
    present = np.flatnonzero(np.bincount(spans.which)).tolist()
    which = np.searchsorted(present, spans.which)
    for bookings in zip(*(accounts(spans.activities[code]) for code in present), strict=True):
        accounts_of, kinds, bytes_per_cycle = zip(*bookings, strict=True)
        accounts_of[0].add_spans(kinds, which, spans.cycles, bytes_per_cycle)
