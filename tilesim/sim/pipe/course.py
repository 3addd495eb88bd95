"""What a pipe's way through its groups depends on, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from msgspec import Struct

from tilesim.sim.core.port import Slot
from tilesim.sim.core.unit import Words


class Activity(NamedTuple):
    """What both stages do in a cycle, and what one that does nothing waits for.

    That is a ``flag``, the queue (``fifo``: for the reads a place in it, for the writes something in it), for the reads
    a ``hazard``, or a ``port``. ``reads_wait`` is about issue reads: it is also there while extra reads go on.
    ``read_access`` and ``write_access``: an issue read or a write of this cycle would need its ports.
    """

    reading: bool
    issuing: bool
    writing: bool
    reads_wait: str
    writes_wait: str
    read_access: bool = True
    write_access: bool = True

    @property
    def accesses_reads(self) -> bool:
        """Whether an issue read has its ports in this cycle."""
        return self.issuing and self.read_access

    @property
    def accesses_write(self) -> bool:
        """Whether a write has its port."""
        return self.writing and self.write_access

    @property
    def reason(self) -> str:
        """Why the read stage does not issue; that a queue stays full is the doing of what the writes wait for."""
        return self.writes_wait or "fifo" if self.reads_wait == "fifo" else self.reads_wait


class PipeForm(Struct, frozen=True):
    """How a pipe is built: up to ``depth`` groups are read and not yet written, ``delay`` cycles lie between.

    An issue read needs all ports of ``issue`` or none, an extra read that of ``extra``. Of ``read_every`` groups the
    first needs the ports of its issue reads, of ``write_every`` the last that of its writes; both are powers of two.
    """

    depth: int
    issue: Sequence[Slot]
    write: Slot
    extra: Slot | None = None
    delay: int = 0
    read_every: int = 1
    write_every: int = 1

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All that it asks for."""
        return (*self.issue, self.write, *([] if self.extra is None else [self.extra]))


Stretch: TypeAlias = tuple[tuple[tuple[Activity, int], ...], int]
"""Activities, each for some cycles, one after the other; and how many times all of them."""


class CycleAccount(Protocol):
    """Who counts cycles by kind; see :class:`~tilesim.sim.core.unit.Unit`."""

    def add_spans(self, kinds: Sequence[str], which: Words, cycles: Words, bytes_per_cycle: Sequence[int]) -> None:
        """Count the next spans, none empty, in order."""


Charge: TypeAlias = tuple[CycleAccount, str, int]
"""What a cycle is to an account, and the bytes moved in it."""

Charges: TypeAlias = Callable[[Activity], Sequence[Charge]]
"""What a cycle of an activity is to each account that it concerns; while none is charged these stay the same."""


def charge(stretches: Sequence[Stretch], charges: Charges) -> None:
    """Account for what followed each other."""
    place: dict[Activity, int] = {}
    which, cycles = [], []
    for steps, times in stretches:
        which += [place.setdefault(activity, len(place)) for activity, _ in steps] * times
        cycles += [length for _, length in steps] * times
    for of_one in zip(*map(charges, place), strict=True):
        accounts, kinds, bytes_per_cycle = zip(*of_one, strict=True)
        accounts[0].add_spans(kinds, np.array(which), np.array(cycles), bytes_per_cycle)
