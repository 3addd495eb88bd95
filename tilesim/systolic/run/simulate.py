"""Run a program on the systolic machine it was made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import InputError, ProgramError
from tilesim.printable import unknown
from tilesim.run import Look, Progress, Run, unwatched
from tilesim.sim.core.memory import Memory
from tilesim.sim.trace.recorder import Recorder, Recording
from tilesim.sim.trace.trace import Trace
from tilesim.systolic.datapath.memories import Memories
from tilesim.systolic.isa.checks.program import faults
from tilesim.systolic.isa.model.instructions import Instruction, Queue, ReadHostMemory, ReadWeights
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.run import hang, host_driver, statistics
from tilesim.systolic.run.holds import check_holds
from tilesim.systolic.run.tensor_probe import TensorProbe
from tilesim.systolic.run.wakeup_sources import PARTNERS
from tilesim.systolic.units.chip import Chip
from tilesim.systolic.units.data import Absent, Carried
from tilesim.systolic.units.host_memory import HostMemory

Array = NDArray[Any]

RULES = ("strict", "observe")
"""Both say the same here: there is no ring on which transfers could meet."""


def simulate(
    program: Program,
    inputs: Sequence[Array],
    keep_tensors: bool = False,
    trace: bool | Recording = False,
    rules: str = "strict",
    not_before: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] = unwatched,
) -> Run:
    """Load weights and parameters, then run the program, carrying all samples of ``inputs`` at once.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each of the program's inputs, of the model's dtype and shape; with a first axis k times
            as long, k samples are run.
        keep_tensors: also read every tensor that the program says a place of, when its layer has written it.
        trace: record what every unit does, or as much as is asked for.
        rules: one of :data:`RULES`.
        not_before: cycles, counted from the start of a section, before which an instruction must not begin, by label.
        on_start: hears, when the chip begins, whom to ask how far it is.

    Raises:
        ProgramError: an instruction that the chip could not run.
        ArrayError: inputs that do not fit.
        InputError: other rules, labels that the program does not have, or tracks to trace that no unit or link matches.
        HangError: the run can't go on.
        AccessError: an address outside of its memory.
    """
    if rules not in RULES:
        raise InputError(f"rules {unknown(rules, RULES, 'strict or observe')}")
    if found := program.once(faults):
        raise ProgramError(found)
    return _run(_named(program), inputs, keep_tensors, trace, not_before or {}, on_start)


def timed(program: Program) -> int:
    """The cycles of a run of ``program``, which are the same whatever its data: those that :func:`simulate` finds, in
    less time.

    Raises:
        HangError: the run can't go on.
    """
    program = _named(program)
    chip, nothing = Chip(program.topology, Absent()), HostMemory([], [], [], 1)
    return len(_sections(program, chip, nothing, {})[1])


def _run(
    program: Program,
    inputs: Sequence[Array],
    keep_tensors: bool,
    trace: bool | Recording,
    not_before: Mapping[str, int],
    on_start: Callable[[Look], None],
) -> Run:
    check_holds(program, not_before)
    sent, samples = host_driver.bytes_of_inputs(program, inputs)
    memories = memories_of(program, samples)
    host_memory = HostMemory(sent, program.data, [host_driver.output_bytes(each) for each in program.outputs], samples)
    recorder = Recorder(None if trace is True else trace) if trace else None
    watch = TensorProbe(program, memories.buffer)
    data = Carried(program.topology, memories, host_memory)
    chip = Chip(program.topology, data, recorder, watch.retired if keep_tensors else _forget)
    if isinstance(trace, Recording):
        _must_match_tracks(trace, chip)
    on_start(_look(program, chip))
    load_cycles, cycles = _sections(program, chip, host_memory, not_before)
    outputs = [
        host_driver.output_array(tensor, data)
        for tensor, data in zip(program.outputs, host_memory.outputs, strict=True)
    ]
    recorded = _trace(program, recorder) if recorder else None
    return Run(
        outputs=outputs,
        cycles=len(cycles),
        statistics=statistics.document(program, chip, load_cycles, cycles, recorded),
        tensors=watch.tensors(outputs) if keep_tensors else {},
        trace=recorded,
    )


def _must_match_tracks(trace: Recording, chip: Chip) -> None:
    """See to it that each pattern of tracks has one of the chip's.

    Raises:
        InputError: all those that have none.
    """
    tracks = [unit.track for unit in (*chip.units, *chip.links)]
    what = f"a unit or link of {chip.topology.name}, or a pattern of such"
    if found := trace.unmatched(tracks):
        raise InputError(f"tracks to trace: each {unknown(pattern, tracks, what)}" for pattern in found)


def memories_of(program: Program, samples: int) -> Memories:
    """The chip's memories; of weight memory, which all samples share, as much as the program names."""
    chip = program.topology
    ops = (*program.load, *program.run)
    ends = [op.address + op.bytes for op in ops if isinstance(op, ReadHostMemory) and op.destination == "weight_memory"]
    ends += [
        op.address + op.tiles * chip.weight_tile_bytes * op.weight_bytes for op in ops if isinstance(op, ReadWeights)
    ]
    used_bytes = min(max(ends, default=0), chip.weight_memory.size_bytes)
    return Memories(
        Memory("chip.unified_buffer", chip.unified_buffer.size_bytes, samples),
        Memory("chip.weight_memory", max(1, used_bytes)),
        np.zeros((samples, chip.accumulators.entries, chip.array.outputs), np.int32),
    )


def _sections(program: Program, chip: Chip, host_memory: HostMemory, held: Mapping[str, int]) -> tuple[int, range]:
    """Run both sections of ``program``: how long loading takes, and the cycles of the other."""
    load_cycles = 0
    if program.load:
        loading = chip.run("load", program.load, held)
        hang.refuse(chip, program, host_memory, loading)
        load_cycles = len(loading)
    if chip.recorder:
        chip.recorder.begin(chip.clock.cycle)
    cycles = chip.run("run", program.run, held)
    hang.refuse(chip, program, host_memory, cycles)
    chip.close(cycles.stop)
    return load_cycles, cycles


def _look(program: Program, chip: Chip) -> Look:
    """Who tells how far ``chip`` is; what it reads another thread may read too."""
    layer_of = {op.label: op.layer for op in program.run}
    layers = tuple(layer.name for layer in program.layers)
    units = [chip.intakes[queue].unit for queue in (Queue.MATRIX, Queue.VECTOR)]

    def look() -> Progress:
        section, start = chip.section
        foremost = max(layer_of.get(unit.instruction, -1) for unit in units)
        return Progress(section, chip.clock.cycle - start, None if foremost < 0 else foremost, layers)

    return look


def _trace(program: Program, recorder: Recorder) -> Trace:
    layers = {op.label: op.layer for op in (*program.load, *program.run)}
    return recorder.trace([layer.name for layer in program.layers], layers, PARTNERS)


def _forget(_label: str) -> None:
    """Nobody keeps tensors."""


def _named(program: Program) -> Program:
    """The program with a label for each instruction."""
    if all(op.label for op in (*program.load, *program.run)):
        return program
    return replace(program, load=_labelled(program.load, "load"), run=_labelled(program.run, "run"))


def _labelled(ops: tuple[Instruction, ...], section: str) -> tuple[Instruction, ...]:
    return tuple(op if op.label else replace(op, label=f"{section}[{k}]") for k, op in enumerate(ops))
