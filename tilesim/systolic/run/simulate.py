"""Run a program on the systolic machine it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ProgramError, RunError, refuse
from tilesim.machines import frame
from tilesim.machines.holds import NO_HOLDS, Holds, holds
from tilesim.machines.host import carried, received, samples_of
from tilesim.machines.instants import instants, told
from tilesim.machines.options import RunOptions
from tilesim.run import Run
from tilesim.sim.core.memory import Bytes, Memory
from tilesim.sim.core.unit import Reason
from tilesim.sim.trace.wakeups import WakeupSource, WakeupSources
from tilesim.systolic.datapath.memories import Memories
from tilesim.systolic.isa.checks.program import faults
from tilesim.systolic.isa.model.instructions import Instruction, Queue, ReadHostMemory, ReadWeights, WriteHostMemory
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.run import hang, state_log, statistics
from tilesim.systolic.run.tensor_probe import TensorProbe
from tilesim.systolic.units.chip import Chip
from tilesim.systolic.units.data import Carried, Data, HostMemory

Array = NDArray[Any]

PLAIN = RunOptions()
WAKEUP_SOURCES: WakeupSources = {
    ("chip.matrix", Reason.WEIGHTS.kind): WakeupSource(["chip.weight_fetcher"]),
    ("chip.weight_path", Reason.FIFO.kind): WakeupSource(["chip.matrix"]),
    ("chip.weight_fetcher", Reason.FIFO.kind): WakeupSource(["chip.weight_path"]),
    ("chip.sequencer", Reason.WORK.kind): WakeupSource([f"chip.{queue}" for queue in Queue]),
}
"""Who lets each unit go on that stalls for something that others have or bring. A wait for a sync is not here, nor one
for a shift or for a place in a queue: whoever ends it says so.
"""


def simulate(program: Program, inputs: Sequence[Array], options: RunOptions = PLAIN) -> Run:
    """Load weights and parameters, then run the program, carrying all samples of ``inputs`` at once; raises as
    :meth:`~tilesim.machines.machine.Machine.simulate`.
    """
    refuse(options.faults())
    refuse(program.once(faults), ProgramError)
    return _run(frame.named(program), inputs, options)


def timed(program: Program) -> int:
    """The cycles of a run of ``program``, which are the same whatever its data: those that :func:`simulate` finds, in
    less time. Raises HangError.
    """
    program = frame.named(program)
    chip, nothing = Chip(program.topology, Data()), HostMemory([], [], [], 1)
    return len(_sections(program, chip, nothing, NO_HOLDS)[1])


def _run(program: Program, inputs: Sequence[Array], options: RunOptions) -> Run:
    held = holds(program, options.holds, _tiles_of)
    instant = instants(program, options.instant, obstacle)
    sent, samples = bytes_of_inputs(program, inputs)
    memories = memories_of(program, samples)
    host_memory = HostMemory(sent, program.data, [tensor.bytes for tensor in program.outputs], samples)
    probe = TensorProbe(program, memories.buffer)
    chip = Chip(
        program.topology,
        Carried(program.topology, memories, host_memory),
        frame.recorder_of(options),
        probe.retired if options.keep_tensors else frame.forget,
        frame.log_of(options),
        instant,
    )
    if chip.log:
        state_log.attach(chip.log, chip)
    frame.must_match_tracks(options, program, (*chip.units, *chip.links))
    controls = [chip.issue_queues[queue].unit for queue in (Queue.MATRIX, Queue.VECTOR)]
    options.on_start(frame.look_at(program, lambda: chip.section, controls))
    with frame.keeping(lambda error: _stopped(program, chip, error)):
        load_cycles, cycles = _sections(program, chip, host_memory, held)
    outputs = [
        received(tensor, data.view(tensor.carried))
        for tensor, data in zip(program.outputs, host_memory.outputs, strict=True)
    ]
    trace = frame.trace_of(program, chip.recorder, WAKEUP_SOURCES)
    return Run(
        outputs=outputs,
        cycles=len(cycles),
        statistics=told(statistics.document(program, chip, load_cycles, cycles, trace), instant),
        tensors=probe.tensors(outputs) if options.keep_tensors else {},
        trace=trace,
        signals=chip.log.signals(len(cycles)) if chip.log else None,
    )


def _stopped(program: Program, chip: Chip, error: RunError) -> Run:
    """The run up to where the chip stood."""
    (section, start), now = chip.section, chip.clock.cycle
    cycles = range(start, chip.stop([op.label for op in program.run]))
    trace, load_cycles = (
        frame.trace_of(program, chip.recorder, WAKEUP_SOURCES),
        len(cycles) if section == "load" else start,
    )
    document = told(statistics.document(program, chip, load_cycles, cycles, trace), chip.instants)
    signals = chip.log.signals(len(cycles)) if chip.log and section == "run" else None
    return Run([], len(cycles), frame.ended(document, error, section, now - start), trace=trace, signals=signals)


def obstacle(op: Instruction) -> str:
    """Why an instruction can't take no time; nothing of a transfer, which can."""
    movers = ReadHostMemory | WriteHostMemory | ReadWeights
    return "" if isinstance(op, movers) else f"must be a transfer, not a {op.mnemonic}"


def bytes_of_inputs(program: Program, inputs: Sequence[Array]) -> tuple[list[Bytes], int]:
    """What the host holds of each input, (samples, bytes), and the number of samples. Raises ArrayError."""
    samples = samples_of(program.inputs, inputs)
    arrays = (carried(tensor, array) for tensor, array in zip(program.inputs, inputs, strict=True))
    return [np.ascontiguousarray(array).reshape(samples, -1).view(np.uint8) for array in arrays], samples


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


def _sections(program: Program, chip: Chip, host_memory: HostMemory, held: Holds) -> tuple[int, range]:
    """Run both sections of ``program``: how long loading takes, and the cycles of the other."""
    load_cycles = 0
    if program.load:
        loading = chip.run("load", program.load, held)
        hang.refuse(chip, program, host_memory, loading)
        load_cycles = len(loading)
    if chip.recorder:
        chip.recorder.begin(chip.clock.cycle)
    if chip.log:
        chip.log.begin(chip.clock.cycle)
    cycles = chip.run("run", program.run, held)
    hang.refuse(chip, program, host_memory, cycles)
    chip.close(cycles.stop)
    return load_cycles, cycles


def _tiles_of(op: Instruction) -> int | None:
    """No tile; None for what no unit takes up."""
    return None if op.queue is None else 0
