"""An instruction may wait for a later one only if that, or what comes before that, brings what it needs, or clears the
place for what it makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.tiled.rules.tile.effects import Effects
from tilesim.tiled.rules.tile.happens_before import HappensBefore, Step


def vain_waits(order: HappensBefore, started: Sequence[Step]) -> Iterator[str]:
    """Every watcher whose count only a later instruction reaches that has no bytes in common with the one that waits,
    and nor have others that stand later and come before that: such a wait orders nothing, and hangs as soon as the
    later one is held up behind it.
    """
    for step in started:
        for wait, later in zip(step.effects.waits, step.reached, strict=True):
            if later is None or later.number <= step.number or not order.starts(later):
                continue
            among = [later, *(each for each in order.listed(order.behind(later)) if each.number > step.number)]
            if not any(_concern(step.effects, each.effects) for each in among):
                yield (
                    f"{step} waits for {wait.watcher.flag} to reach {wait.last}, which only "
                    f"{later} does, later in the program and with no bytes in common"
                )


def _concern(one: Effects, other: Effects) -> bool:
    return any(a.footprint.clashes(b.footprint) for a in one.uses for b in other.uses)
