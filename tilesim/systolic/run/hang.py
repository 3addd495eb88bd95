"""Who still waits when nothing can happen any more, for what, and why that never comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.errors import HangError
from tilesim.sim.core.unit import Reason
from tilesim.sim.deadlock import stuck, stuck_units
from tilesim.systolic.isa.checks.deadlock import Deadlock
from tilesim.systolic.isa.model.instructions import Halt, Instruction
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.units.chip import Chip
from tilesim.systolic.units.data import HostMemory


def refuse(chip: Chip, program: Program, host: HostMemory, cycles: range) -> None:
    """See to it that the section that took ``cycles`` has come to its end, and a run's outputs to the host.

    Raises:
        HangError: not so; a line for each unit that is in the middle of something, cycles counted from the start of the
            section, and one for each cause, as a check says it before the run.
    """
    section = chip.section[0]
    if not chip.sequencer.halted:
        report = [*stuck_units(chip.units, cycles.start), *_causes(chip, section, getattr(program, section))]
        raise HangError([f"the {section} program hangs after {len(cycles):,} cycles:", *report], (), section)
    missing = host.missing() if section == "run" else []
    if missing:
        report = [
            f"the host has received {come} of the {size} bytes of output {program.outputs[k].name}"
            for k, come, size in missing
        ]
        raise HangError([f"the run program ends after {len(cycles):,} cycles, but:", *report], (), section)


def _causes(chip: Chip, section: str, ops: Sequence[Instruction]) -> Iterator[str]:
    if not any(isinstance(op, Halt) for op in ops):
        yield "the program has no halt"
    places = {op.label: place for place, op in enumerate(ops)}
    queues = {queue: issue_queue.unit for queue, issue_queue in chip.issue_queues.items() if stuck(issue_queue.unit)}
    in_hand = {queue: places[unit.instruction] for queue, unit in queues.items()}
    sequencer = chip.sequencer.unit
    full = sequencer.waiting is not None and sequencer.waiting.reason is Reason.FIFO
    issued = places[sequencer.instruction] if full else len(ops)
    yield from Deadlock(section, ops, chip.topology, in_hand, issued).sentences()
