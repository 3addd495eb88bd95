"""Run a program on the machine it was made for, clock by clock."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.machines.host import samples_of
from tilesim.machines.machine import ModelResult
from tilesim.machines.verify import ENDED, hung
from tilesim.rotating.host import output_of_rows, rows_of_input
from tilesim.rotating.isa.model.instructions import Instruction
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.stepped.chip import Rams, Section, rams_of
from tilesim.rotating.stepped.core import Span, named
from tilesim.rotating.stepped.host import HostMemory
from tilesim.rotating.stepped.memory import Words


@dataclass(frozen=True)
class Outcome:
    """What became of one inference.

    ``units`` holds the cycles of each track by kind in the run section; ``hung`` names the section that can't go on,
    and there are no outputs then. ``spans`` are those of both sections, one behind the other, where they were asked
    for. Of the run section: ``counts``, what the array did how often; ``writes``, cycle and row of each write of the
    output unit; and for who observes ``registers``, mux-registers and accumulators at the start of each cycle.
    """

    outputs: list[NDArray[Any]] = field(default_factory=list)
    cycles: int = 0
    load_cycles: int = 0
    units: dict[str, dict[str, int]] = field(default_factory=dict)
    hung: str = ""
    spans: list[Span] = field(default_factory=list)
    counts: Tally[str] = field(default_factory=Tally)
    writes: list[tuple[int, int]] = field(default_factory=list)
    registers: list[tuple[Words, Words]] = field(default_factory=list)


def step(program: Program, inputs: Sequence[NDArray[Any]], trace: bool) -> ModelResult:
    """What this model says of a run of one sample; raises as :func:`simulate`."""
    outcome = simulate(program, inputs, trace)
    if outcome.hung:
        return ModelResult(hung(outcome.hung))
    return ModelResult(ENDED, outcome.outputs, outcome.cycles, outcome.load_cycles, outcome.units, tuple(outcome.spans))


def simulate(program: Program, inputs: Sequence[NDArray[Any]], trace: bool = False, observes: bool = False) -> Outcome:
    """Load the parameters, then run one inference, of one sample; with a ``trace`` spans are kept.

    Raises:
        ArrayError: inputs that do not fit, or several samples.
        AccessError: an address outside its RAM, parameters that nobody fetched, or a sum that has no room.
    """
    topology, rams, host = program.topology, rams_of(program.topology), _host_memory(program, inputs)
    load_cycles, spans = 0, list[Span]()
    if program.load:
        loaded = _run(program, program.load, "load", rams, host)
        if loaded.hangs:
            return Outcome(hung="load")
        load_cycles = loaded.cycles
        spans = _spans(loaded, 0)
    section = _run(program, program.run, "run", rams, host, observes)
    if section.hangs:
        return Outcome(load_cycles=load_cycles, hung="run")
    return Outcome(
        outputs=[
            output_of_rows(tensor, rows[None], topology)
            for tensor, rows in zip(program.outputs, host.outputs, strict=True)
        ],
        cycles=section.cycles,
        load_cycles=load_cycles,
        units={account.track: account.cycles(section.cycles) for account in section.accounts},
        spans=[*spans, *_spans(section, load_cycles)] if trace else [],
        counts=section.array.counts,
        writes=section.output.writes,
        registers=section.registers,
    )


def _host_memory(program: Program, inputs: Sequence[NDArray[Any]]) -> HostMemory:
    """What the host holds before the run."""
    if samples_of(program.inputs, inputs) != 1:
        raise ArrayError(f"inputs must hold one sample, not {samples_of(program.inputs, inputs)}")
    row_bytes = program.topology.row_bytes
    return HostMemory(
        [
            rows_of_input(tensor, array, program.topology)[0]
            for tensor, array in zip(program.inputs, inputs, strict=True)
        ],
        [segment.data.reshape(-1, row_bytes) for segment in program.data],
        [np.zeros((tensor.layout.rows, row_bytes), np.uint8) for tensor in program.outputs],
    )


def _run(
    program: Program,
    instructions: Sequence[Instruction],
    name: str,
    rams: Rams,
    host: HostMemory,
    observes: bool = False,
) -> Section:
    section = Section(program.topology, named(instructions, name), rams, host, observes)
    section.run()
    return section


def _spans(section: Section, start: int) -> list[Span]:
    return [span for account in section.accounts for span in account.spans(start)]
