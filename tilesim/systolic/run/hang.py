"""Who still waits when nothing can happen any more, for what, and what the program holds for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.errors import HangError
from tilesim.sim.core.unit import Reason, Unit
from tilesim.systolic.isa.model.instructions import Halt, Instruction, MatrixMultiply, Queue, ReadWeights, Sync
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.units.chip import Chip
from tilesim.systolic.units.host_memory import HostMemory
from tilesim.systolic.units.issue_queue import WORDS


def refuse(chip: Chip, program: Program, host: HostMemory, cycles: range) -> None:
    """See to it that the section that took ``cycles`` has come to its end, and a run's outputs to the host.

    Raises:
        HangError: not so; a line for each unit that is in the middle of something, cycles counted from the start of the
            section, and one for each of them that says which instruction was to end its wait, if there is any.
    """
    section = chip.section[0]
    ops: Sequence[Instruction] = getattr(program, section)
    if not chip.sequencer.halted:
        report = [*_stuck(chip, cycles.start), *_causes(chip, ops)]
        raise HangError([f"the {section} program hangs after {len(cycles):,} cycles:", *report], (), section)
    missing = host.missing() if section == "run" else []
    if missing:
        report = [
            f"the host has received {come} of the {size} bytes of output {program.outputs[k].name}"
            for k, come, size in missing
        ]
        raise HangError([f"the run program ends after {len(cycles):,} cycles, but:", *report], (), section)


def _stuck(chip: Chip, start: int) -> Iterator[str]:
    for unit in chip.units:
        wait = unit.waiting
        if wait is not None and wait.reason is not Reason.INSTRUCTION:
            where = f"{unit.track} in {unit.instruction}" if unit.instruction else unit.track
            yield f"{where} has waited since cycle {wait.since - start:,} for {wait.describe()}"


def _causes(chip: Chip, ops: Sequence[Instruction]) -> Iterator[str]:
    if not any(isinstance(op, Halt) for op in ops):
        yield "the program has no halt"
    for intake in chip.intakes.values():
        if intake.sync is not None:
            yield _of_sync(chip, intake.sync, ops)
    if _waits(chip.matrix, Reason.WEIGHTS):
        yield _of_tile(chip, ops)
    if _waits(chip.path.unit, Reason.FIFO):
        yield _of_switch(chip, ops)


def _waits(unit: Unit, reason: Reason) -> bool:
    return unit.waiting is not None and unit.waiting.reason is reason


def _of_sync(chip: Chip, sync: Sync, ops: Sequence[Instruction]) -> str:
    """Whose retirement would let a sync go."""
    theirs = [op for op in ops if op.queue is sync.until]
    if len(theirs) < sync.count:
        return (
            f"no instruction can end the wait of {sync.label}: "
            f"the program has {len(theirs)} for {WORDS[sync.until]}, not {sync.count}"
        )
    return f"{sync.label} waits for {_standing(chip, theirs[sync.count - 1])}"


def _of_tile(chip: Chip, ops: Sequence[Instruction]) -> str:
    """What would bring the next tile."""
    wanted = chip.path.taken
    for op in ops:
        if isinstance(op, ReadWeights):
            wanted -= op.tiles
            if wanted < 0:
                return f"{chip.matrix.instruction} waits for {_standing(chip, op)}"
    tiles = sum(op.tiles for op in ops if isinstance(op, ReadWeights))
    return (
        f"no instruction can end the wait of {chip.matrix.instruction}: "
        f"the program reads {tiles} tiles, and {chip.path.taken} have been taken"
    )


def _of_switch(chip: Chip, ops: Sequence[Instruction]) -> str:
    """What would take the tile in the path."""
    switches = [op for op in ops if isinstance(op, MatrixMultiply) and op.switch]
    if len(switches) <= chip.path.taken:
        return f"no instruction takes the tile in the weight path: the program switches {len(switches)} times"
    return f"the tile in the weight path waits for {_standing(chip, switches[chip.path.taken])}"


def _standing(chip: Chip, op: Instruction) -> str:
    """An instruction, and how far it is."""
    name = f"{op.label} {op.mnemonic}"
    if op.label in chip.retirement.begun:
        return f"{name}, which has begun"
    assert op.queue is not None
    intake = chip.intakes[Queue(op.queue)]
    if intake.unit.instruction == op.label:
        return f"{name}, which {WORDS[intake.queue]} has in hand"
    queued = any(each is op for each in intake.buffer.items)
    return f"{name}, which is in the queue of {WORDS[intake.queue]}" if queued else f"{name}, which is yet to be issued"
