"""Who still waits when nothing can happen any more, for what, and why that never comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.errors import HangError
from tilesim.rotating.isa.model.instructions import Halt, Instruction, Queue
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.units.chip import Chip
from tilesim.rotating.units.host_memory import HostMemory
from tilesim.sim.deadlock import stuck_units


def refuse(chip: Chip, program: Program, host: HostMemory, cycles: range) -> None:
    """See to it that the section that took ``cycles`` has come to its end, and a run's outputs to the host.

    Raises:
        HangError: not so; a line for each unit that is in the middle of something, cycles counted from the start of the
            section.
    """
    section = chip.section[0]
    if not chip.halted:
        report = [*stuck_units(chip.units, cycles.start), *_causes(getattr(program, section))]
        raise HangError([f"the {section} program hangs after {len(cycles):,} cycles:", *report], (), section)
    missing = host.missing() if section == "run" else []
    if missing:
        report = [
            f"the host has received {come} of the {rows} rows of output {program.outputs[k].name}"
            for k, come, rows in missing
        ]
        raise HangError([f"the run program ends after {len(cycles):,} cycles, but:", *report], (), section)


def _causes(ops: Sequence[Instruction]) -> Iterator[str]:
    if not any(isinstance(op, Halt) for op in ops if op.queue is Queue.ARRAY):
        yield "the program has no halt"
