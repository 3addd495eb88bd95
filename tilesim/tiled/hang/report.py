"""Who still waits when nothing can happen any more, and for what."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.errors import HangError
from tilesim.findings import sentence
from tilesim.sim.core.unit import Reason, Unit
from tilesim.tiled.hang.causes import causes
from tilesim.tiled.isa.model.program import HostTensor, Program
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.ring.announcement import Unforeseen


def refuse(chip: Chip, program: Program, section: str, start: int) -> None:
    """See to it that a section (``load`` or ``run``) of ``program``, begun in cycle ``start``, has come to its end.

    Raises:
        Unforeseen: it has not, and packets would tell why.
        HangError: it has not, or rows go round the ring for ever; a line for each unit that is in the middle of
            something, cycles counted from ``start``, one for what the program holds for each vain wait, and one for
            everything that the monitor found.
    """
    outputs = program.outputs if section == "run" else ()
    if chip.bursts is not None:
        if chip.bursts.busy or any(True for _ in _waiting(chip)) or any(True for _ in _missing(chip, outputs)):
            raise Unforeseen
        return
    stuck, afloat = [*_stuck(chip, start), *_missing(chip, outputs)], chip.afloat
    if stuck or afloat:
        findings = chip.monitor.findings(afloat)
        first = f"the {section} program hangs after {chip.clock.cycle - start:,} cycles:"
        report = [first, *stuck, *causes(chip, program, section), *map(sentence, findings)]
        raise HangError(report, findings, section)


def _waiting(chip: Chip) -> Iterator[Unit]:
    """The units that are in the middle of something."""
    for unit in chip.units:
        if unit.waiting is not None and unit.waiting.reason is not Reason.INSTRUCTION:
            yield unit


def _stuck(chip: Chip, start: int) -> Iterator[str]:
    stops = [] if chip.afloat else chip.packet_stops  # rows that go round wait now here, now there
    passing = {stop.link for stop in chip.packet_stops} - {stop.link for stop in stops}
    for unit in _waiting(chip):
        wait = unit.waiting
        if wait is not None and unit not in passing:
            where = f"{unit.track} in {unit.instruction}" if unit.instruction else unit.track
            yield f"{where} has waited since cycle {wait.since - start:,} for {wait.describe()}"
    for stop in stops:
        if stop.stuck is not None:
            yield f"{stop.link.track.replace('link', 'stop')}: {stop.stuck}"
    if chip.sequencer.current is not None:
        yield f"chip.controller has not issued everything; it is at {chip.sequencer.current.label}"


def _missing(chip: Chip, outputs: tuple[HostTensor, ...]) -> Iterator[str]:
    for k, output in enumerate(outputs):
        rows = len(chip.host_outfeed.received.get(k, ()))
        if rows < output.rows:
            yield f"the host has received {rows} of the {output.rows} rows of output {output.name}"
