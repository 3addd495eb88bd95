"""Who still waits when nothing can happen any more, for what, and which instruction could have helped."""

from __future__ import annotations

from tilesim.sim.unit import Reason, Unit
from tilesim.tiled.isa.program import Program
from tilesim.tiled.units.chip import Chip


def stuck(chip: Chip, program: Program) -> list[str]:
    """One sentence for each unit that is in the middle of something; empty when all is quiet."""
    found = [_unit(unit) for unit in chip.units if _is_stuck(unit)]
    found += [
        f"{stop.link.track.replace('link', 'stop')}: {stop.stuck}" for stop in chip.stops if stop.stuck is not None
    ]
    if chip.sequencer.current is not None:
        found.append(f"chip.controller has not issued everything; it is at {chip.sequencer.current.label}")
    missing = [
        f"the host has not received all of output {output.name}"
        for k, output in enumerate(program.outputs)
        if sum(1 for _ in chip.host_outfeed.received.get(k, ())) < output.rows
    ]
    return found + missing


def _is_stuck(unit: Unit) -> bool:
    return unit.waiting is not None and unit.waiting.reason is not Reason.INSTRUCTION


def _unit(unit: Unit) -> str:
    assert unit.waiting is not None
    where, wait = unit.instruction or "its work", unit.waiting
    return f"{unit.track} in {where} has waited since cycle {wait.since} for {wait.describe()}"
