"""Flags that nobody can raise any more, and the fences that the controller counts."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.hang.context import Story, amount, named, waits
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import ScalarFence, TileFence
from tilesim.tiled.rules.tile.happens_before import EXTERNAL, HappensBefore, Step
from tilesim.tiled.rules.untimed.effects import acts_of
from tilesim.tiled.units.tile import Tile


def flags(story: Story) -> Iterator[str]:
    """The flags that no instruction in their tile can raise any more."""
    for tile in story.chip.tiles:
        yield from _flags(story, tile)


def _flags(story: Story, tile: Tile) -> Iterator[str]:
    vain = [
        flag
        for flag in Flag
        if tile.flags.awaited(flag)
        and flag not in EXTERNAL
        and not any(engine.raising(flag) for engine in tile.engines.values())
    ]
    order = HappensBefore(acts_of(story.program), tile.index) if vain else None
    stuck = {engine.unit.instruction for engine in tile.engines.values() if waits(engine.unit)}
    for flag in vain:
        steps = [step for step in order.steps if step.op.label in stuck] if order else []
        watching = [step for step in steps if any(watcher.flag == flag for watcher in step.op.wait)]
        for step in watching[:1]:
            assert order is not None
            yield f"flag {flag} of tile {tile.index}: {_raised(order, step, flag, story.late(tile.index))}"


def _raised(order: HappensBefore, step: Step, flag: Flag, late: set[str]) -> str:
    raisers = [each for each in order.raisers(step, flag) if each.act.increments]
    names = list(dict.fromkeys(each.op.label for each in raisers))
    if not names:
        old = (each.op.label for each in order.steps if each.act.flag == flag and each.act.increments)
        gone = named(old, "")
        return f"{gone} raised it, but a fence has set it back since" if gone else "no instruction raises it"
    counted = f"{named(names)} raise{'s' * (len(names) == 1)} it, to {raisers[-1].raised_to} in all"
    missing = named((name for name in names if name in late), "")
    return counted + (f", but {missing} has not come to the tile" if missing else "")


def fences(story: Story) -> Iterator[str]:
    """The tile fences before the scalar fence at which the controller is stuck."""
    current = story.chip.sequencer.current
    if not isinstance(current, ScalarFence):
        return
    place = next(place for place, op in enumerate(story.ops) if op is current)
    before = story.ops[:place]
    raised = [(op.label, op.increment * op.tiles.bit_count()) for op in before if isinstance(op, TileFence)]
    used = sum(op.count for op in before if isinstance(op, ScalarFence))
    others = f", of which scalar fences before it take {used}" if used else ""
    counted = amount("tile fence", [part for part in raised if part[1]])
    expected = "1 tile fence" if current.count == 1 else f"{current.count} tile fences"
    yield f"{current.label} expects {expected}: before it the program has {counted}{others}"
