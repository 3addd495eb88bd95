"""Who still waits when nothing can happen any more, and for what."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.errors import HangError
from tilesim.sim.unit import Reason
from tilesim.tiled.isa.program import HostTensor
from tilesim.tiled.units.chip import Chip


def refuse(chip: Chip, section: str, start: int, outputs: tuple[HostTensor, ...] = ()) -> None:
    """See to it that a section (``load`` or ``run``), begun in cycle ``start``, has come to its end.

    Raises:
        HangError: it has not; a line for each unit that is in the middle of something, cycles counted from ``start``.
    """
    found = [*_stuck(chip, start), *_missing(chip, outputs)]
    if found:
        raise HangError("\n".join([f"the {section} program hangs after {chip.clock.cycle - start:,} cycles:", *found]))


def _stuck(chip: Chip, start: int) -> Iterator[str]:
    for unit in chip.units:
        wait = unit.waiting
        if wait is not None and wait.reason is not Reason.INSTRUCTION:
            where = f"{unit.track} in {unit.instruction}" if unit.instruction else unit.track
            yield f"{where} has waited since cycle {wait.since - start:,} for {wait.describe()}"
    for stop in chip.stops:
        if stop.stuck is not None:
            yield f"{stop.link.track.replace('link', 'stop')}: {stop.stuck}"
    if chip.sequencer.current is not None:
        yield f"chip.controller has not issued everything; it is at {chip.sequencer.current.label}"


def _missing(chip: Chip, outputs: tuple[HostTensor, ...]) -> Iterator[str]:
    for k, output in enumerate(outputs):
        rows = len(chip.host_outfeed.received.get(k, ()))
        if rows < output.rows:
            yield f"the host has received {rows} of the {output.rows} rows of output {output.name}"
