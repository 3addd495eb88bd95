"""What the host computes at one go, between rows that leave the chip and rows that go to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from tilesim.sim.core.memory import Bytes
from tilesim.tiled.units.host.sendings import MadeRows


class HostTask(Struct, frozen=True):
    """A step of the host: it takes so many ``cycles`` for ``size_bytes`` that it reads and makes, once all rows of the
    outputs ``awaits`` (by number, how many) are there. ``work`` does it; then the rows of ``gives`` are there, and the
    outputs ``makes`` of the program.
    """

    label: str
    cycles: int
    size_bytes: int
    awaits: Mapping[int, int]
    work: Callable[[], None]
    gives: Sequence[tuple[MadeRows, Callable[[], Sequence[Bytes]]]] = ()
    makes: Sequence[int] = ()
