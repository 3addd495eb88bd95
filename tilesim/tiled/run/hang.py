"""Who still waits when nothing can happen any more, for what, and why that never comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilesim.errors import HangError
from tilesim.findings import sentence
from tilesim.sim.deadlock import stuck_units
from tilesim.tiled.isa.model.fields import ON_B, Channel
from tilesim.tiled.isa.model.program import HostTensor, Program
from tilesim.tiled.units.chip import Chip


def refuse(chip: Chip, program: Program, section: str, start: int) -> None:
    """See to it that a section (``load`` or ``run``) of ``program``, begun in cycle ``start``, has come to its end.

    Raises:
        HangError: it has not, or rows go round the ring for ever; a line for each unit that is in the middle of
            something, cycles counted from ``start``, one for each cause, as a check says it before the run, and one for
            everything that the monitor found.
    """
    outputs = program.leaving if section == "run" else ()
    waits, afloat = [*_waits(chip, start), *_missing(chip, outputs)], chip.afloat
    if waits or afloat:
        findings = chip.monitor.findings(afloat)
        first = f"the {section} program hangs after {chip.clock.cycle - start:,} cycles:"
        report = [first, *waits, *causes(chip, program, section), *map(sentence, findings)]
        raise HangError(report, findings, section)


def causes(chip: Chip, program: Program, section: str) -> list[str]:
    """Rows and fences of which there are too few or too many, and who waits in a circle, or for what never comes."""
    from tilesim.tiled.rules.ring.arrivals import uneven_totals
    from tilesim.tiled.rules.untimed.deadlock import deadlocks, fence_faults
    from tilesim.tiled.rules.untimed.work_queues import work_queues
    from tilesim.tiled.run.standstill import Standstill

    work = work_queues(replace(program, run=()) if section == "load" else program)
    return [*uneven_totals(work), *fence_faults(work), *deadlocks(Standstill(chip, work))]


def _waits(chip: Chip, start: int) -> Iterator[str]:
    stops = [] if chip.afloat else chip.stops  # rows that go round wait now here, now there
    passing = {stop.link for stop in chip.stops} - {stop.link for stop in stops}
    yield from stuck_units((unit for unit in chip.units if unit not in passing), start)
    for stop in stops:
        if stop.stuck is not None:
            channel = ON_B if stop.channel is Channel.B else ""
            yield f"{stop.link.track.replace('link', 'stop')}{channel}: {stop.stuck}"
    if chip.sequencer.current is not None:
        yield f"chip.controller has not issued everything; it is at {chip.sequencer.current.label}"


def _missing(chip: Chip, outputs: tuple[HostTensor, ...]) -> Iterator[str]:
    for k, output in enumerate(outputs):
        rows = len(chip.host_outfeed.received.get(k, ()))
        if rows < output.rows:
            yield f"the host has received {rows} of the {output.rows} rows of output {output.name}"
