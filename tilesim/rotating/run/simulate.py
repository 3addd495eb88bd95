"""Run a program on the rotating machine it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tilesim.errors import ProgramError, RunError, refuse
from tilesim.machines import frame
from tilesim.machines.holds import Holds, holds
from tilesim.machines.host import samples_of
from tilesim.machines.options import RunOptions
from tilesim.rotating.host import output_of_rows, rows_of_input
from tilesim.rotating.isa.checks.program import faults
from tilesim.rotating.isa.model.instructions import End, Instruction, Loop
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run import hang, state_log, statistics
from tilesim.rotating.run.tensor_probe import TensorProbe
from tilesim.rotating.units.chip import Chip
from tilesim.rotating.units.host_memory import HostMemory
from tilesim.run import Run
from tilesim.sim.core.unit import Reason
from tilesim.sim.trace.wakeups import WakeupSource, WakeupSources

Array = NDArray[Any]

PLAIN = RunOptions()
WAKEUP_SOURCES: WakeupSources = {
    ("nnu.array", Reason.WEIGHTS.kind): WakeupSource(["nnu.parameters"]),
    ("nnu.array", Reason.PORT.kind): WakeupSource(["nnu.dma_in", "nnu.dma_out", "nnu.output"]),
    ("nnu.dma_in", Reason.HOST.kind): WakeupSource(["nnu.host.in"]),
    ("nnu.dma_out", Reason.FIFO.kind): WakeupSource(["nnu.host.out"]),
}
"""Who lets each unit go on that stalls for something that others have or bring. A wait for a count is not here, nor one
for a buffer or a write: whoever ends it says so.
"""


def simulate(program: Program, inputs: Sequence[Array], options: RunOptions = PLAIN) -> Run:
    """Load weights and parameters, then run the program, carrying all samples of ``inputs`` at once; raises as
    :meth:`~tilesim.machines.machine.Machine.simulate`.
    """
    refuse(options.faults())
    refuse(program.once(faults), ProgramError)
    program = frame.named(program)
    held = holds(program, options.holds, _tiles_of)
    host = host_memory_of(program, inputs)
    probe = TensorProbe(program)
    chip = Chip(program.topology, host, frame.recorder_of(options), log=frame.log_of(options))
    if options.keep_tensors:
        chip.output.on_written = lambda rows: probe.written(chip.data_ram, rows) if chip.section[0] == "run" else None
    if chip.log:
        state_log.attach(chip.log, chip)
    frame.must_match_tracks(options, program, (*chip.units, *chip.links))
    options.on_start(frame.look_at(program, lambda: chip.section, [chip.array.unit]))
    with frame.keeping(lambda error: _stopped(program, chip, error)):
        load_cycles, cycles = _sections(program, chip, host, held)
    outputs = [
        output_of_rows(tensor, rows, program.topology)
        for tensor, rows in zip(program.outputs, host.outputs, strict=True)
    ]
    trace = frame.trace_of(program, chip.recorder, WAKEUP_SOURCES)
    return Run(
        outputs=outputs,
        cycles=len(cycles),
        statistics=statistics.document(program, chip, load_cycles, cycles, trace),
        tensors=probe.tensors(outputs) if options.keep_tensors else {},
        trace=trace,
        signals=chip.log.signals(len(cycles)) if chip.log else None,
    )


def _stopped(program: Program, chip: Chip, error: RunError) -> Run:
    """The run up to where the chip stood."""
    (section, start), now = chip.section, chip.clock.cycle
    cycles = range(start, chip.stop())
    trace = frame.trace_of(program, chip.recorder, WAKEUP_SOURCES)
    load_cycles = len(cycles) if section == "load" else start
    document = statistics.document(program, chip, load_cycles, cycles, trace)
    signals = chip.log.signals(len(cycles)) if chip.log and section == "run" else None
    return Run([], len(cycles), frame.ended(document, error, section, now - start), trace=trace, signals=signals)


def host_memory_of(program: Program, inputs: Sequence[Array]) -> HostMemory:
    """What the host holds: inputs as the rows that cross its link. Raises ArrayError."""
    samples_of(program.inputs, inputs)
    topology = program.topology
    rows = [rows_of_input(tensor, array, topology) for tensor, array in zip(program.inputs, inputs, strict=True)]
    return HostMemory(rows, program.data, [tensor.layout.rows for tensor in program.outputs], topology.row_bytes)


def _sections(program: Program, chip: Chip, host: HostMemory, held: Holds) -> tuple[int, range]:
    """Run both sections of ``program``: how long loading takes, and the cycles of the other."""
    load_cycles = 0
    if program.load:
        loading = chip.run("load", program.load, held)
        hang.refuse(chip, program, host, loading)
        load_cycles = len(loading)
    if chip.recorder:
        chip.recorder.begin(chip.clock.cycle)
    if chip.log:
        chip.log.begin(chip.clock.cycle)
    cycles = chip.run("run", program.run, held)
    hang.refuse(chip, program, host, cycles)
    chip.close(cycles.stop)
    return load_cycles, cycles


def _tiles_of(op: Instruction) -> int | None:
    """No tile; None for what no unit takes up."""
    return None if isinstance(op, Loop | End) else 0
