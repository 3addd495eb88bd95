"""Run a program on the chip it was made for, cycle by cycle."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from tilesim.errors import ProgramError
from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.stepped.chip import Chip
from tilesim.tiled.stepped.core import Span
from tilesim.tiled.stepped.host_driver import HostSide, own_bytes
from tilesim.tiled.stepped.memory import Touch


@dataclass(frozen=True)
class Outcome:
    """What became of one inference.

    ``units`` holds the cycles of each track by kind (``busy``, ``idle``, ``stall:`` and the reason) in the run section,
    ``spans`` (track, first cycle, cycles, kind, label) of both sections where they were asked for, of which the run
    begins in cycle ``run_start``. ``hung`` names the section that can't go on, ``collided`` says that transfers met on
    the ring, which ends the run; there are no outputs then. ``touches`` are the accesses of instructions that were
    watched, by tile and label.
    """

    outputs: list[NDArray[Any]] = field(default_factory=list)
    cycles: int = 0
    load_cycles: int = 0
    units: dict[str, dict[str, int]] = field(default_factory=dict)
    hung: str = ""
    collided: bool = False
    spans: list[Span] = field(default_factory=list)
    run_start: int = 0
    touches: dict[tuple[int, str], list[Touch]] = field(default_factory=dict)


def simulate(
    program: Program,
    inputs: Sequence[NDArray[Any]],
    trace: bool = False,
    observes: bool = False,
    holds: Holds = NO_HOLDS,
    watched: Collection[tuple[int, str]] = (),
) -> Outcome:
    """Load the parameters, then run one inference, of one sample; with a ``trace`` spans are kept.

    Who ``observes`` goes on when transfers meet on the ring. ``holds`` are the cycles of a section before which an
    instruction must not begin, by label and tile (None: anywhere). Of instructions ``watched``, by tile and label, the
    accesses to their tile's memories are kept.

    Raises:
        ProgramError: an instruction that the chip could not run, or several inferences.
        ArrayError: inputs that do not fit, or several samples.
    """
    if wrong := faults(program):
        raise ProgramError(wrong)
    if len(program.requests) > 1:
        raise ProgramError(f"requests must be one inference, not {len(program.requests)}")
    side = HostSide(program, list(inputs))
    chip = Chip(program.topology, program.data, trace, observes, watched, (program, side))
    chip.expect(own_bytes(program.sent, program), own_bytes(program.leaving, program))
    start, load_end = chip.run(_named(program.load, "load"), [], holds)
    if chip.collided or chip.hangs:
        return _cut_short(chip, "load", Outcome(load_cycles=load_end), load_end)
    chip.start_host()
    start, end = chip.run(_named(program.run, "run"), side.rows, holds)
    outcome = Outcome(cycles=end - start, load_cycles=load_end, run_start=start)
    received = chip.host_outfeed.received
    missing = any(len(received.get(k, [])) < output.rows for k, output in enumerate(program.leaving))
    if chip.collided or chip.hangs or missing:
        return _cut_short(chip, "run", outcome, end)
    return replace(
        outcome, outputs=side.outputs(received), units=chip.close(end), spans=chip.spans, touches=chip.touches
    )


def _cut_short(chip: Chip, section: str, outcome: Outcome, end: int) -> Outcome:
    """What is known of a run that did not come to its end."""
    units, collided = chip.close(end), chip.collided
    return replace(outcome, units=units, spans=chip.spans, collided=collided, hung="" if collided else section)


def _named(instructions: tuple[Instruction, ...], section: str) -> tuple[Instruction, ...]:
    return tuple(op if op.label else replace(op, label=f"{section}[{k}]") for k, op in enumerate(instructions))
