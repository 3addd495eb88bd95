"""An instruction may wait for a later one only if that brings what it needs, or clears the place for what it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.tiled.rules.footprint import Footprint
from tilesim.tiled.rules.order import Step, TileOrder

Footprints = Mapping[Step, list[Footprint]]


def vain_waits(order: TileOrder, touched: Footprints) -> Iterator[str]:
    """Every watcher whose count only a later instruction reaches that has no bytes in common with the one that waits:
    such a wait orders nothing, and hangs as soon as the later one is held up behind it.
    """
    for step in touched:
        for watcher in step.op.wait:
            later = order.reaches(step, watcher)
            if later is None or later not in touched or later.number <= step.number:
                continue
            if not _concern(touched[step], touched[later]):
                yield (
                    f"{step} waits for {watcher.flag} to reach {order.last(step, watcher)}, which only "
                    f"{later} does, later in the program and with no bytes in common"
                )


def _concern(some: list[Footprint], others: list[Footprint]) -> bool:
    return any(a.memory == b.memory and a.touched & b.touched and (a.writes or b.writes) for a in some for b in others)
