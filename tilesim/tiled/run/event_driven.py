"""A run on SimPy: the units of the chip, each of which does what it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tilesim.errors import AccessError, InputError, RunError
from tilesim.findings import Finding
from tilesim.machines import frame
from tilesim.machines.holds import Holds
from tilesim.machines.host import samples_of
from tilesim.machines.instants import instants, told
from tilesim.machines.options import RunOptions
from tilesim.run import Run
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.isa.model.instructions import (
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Outfeed,
    RingConsume,
    RingProduce,
    WideToNarrow,
)
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.ring.readings import reading_of
from tilesim.tiled.run import hang, host_driver, state_log, statistics
from tilesim.tiled.run.delayed_issue import holds_of
from tilesim.tiled.run.measured import measured
from tilesim.tiled.run.tensor_probe import TensorProbe
from tilesim.tiled.run.wakeup_sources import wakeup_sources
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.host.sendings import Content

MOST_RACING_CYCLES = 1_000_000
"""So long may a run be in which accesses are followed cycle by cycle."""


def obstacle(op: Instruction, topology: Topology) -> str:
    """Why an instruction can't take no time on a chip; nothing of a transfer, which can."""
    if isinstance(op, RingProduce | Infeed) and topology.ring.no_consumer == "circulate":
        return "must take its time where rows circulate (ring.no_consumer): in no time they would go round for ever"
    if isinstance(op, MeshIn) and op.fill is None:
        return "takes what a neighbour sends over the mesh, whose time is that of the mesh_out: name that"
    if isinstance(op, RingConsume):
        return "takes what others send over the ring, whose time is that of what sends it: name that"
    if isinstance(op, NarrowToWide | WideToNarrow | MeshIn | MeshOut | RingProduce | Infeed | Outfeed):
        return ""
    return f"must be a transfer, not a {op.mnemonic}"


def run_on_simpy(program: Program, inputs: Sequence[NDArray[Any]], options: RunOptions, racing: bool) -> Run:
    """A run of a sound program; ``racing``: nothing orders some of its accesses."""
    reading = reading_of(options.masters)
    held = holds_of(program, options.holds)
    instant = instants(program, options.instant, lambda op: obstacle(op, program.topology))
    if racing and instant:
        raise InputError(f"{program.name}: transfers can take no time only in a program whose accesses have an order")
    samples = samples_of(program.inputs, inputs)
    probe = TensorProbe(program, samples)

    host = host_driver.HostSide(program, inputs)
    chip = Chip(
        program.topology,
        samples,
        frame.recorder_of(options),
        probe.retired if options.keep_tensors else frame.forget,
        strict=options.rules == "strict",
        reading=reading,
        instants=instant,
        log=frame.log_of(options),
        host_tasks=host.tasks(lambda: chip.host_outfeed),
    )
    if chip.log:
        state_log.attach(chip.log, chip)
    if options.on_packet is not None:
        chip.monitor.tell(options.on_packet)
    frame.must_match_tracks(options, program, chip.units)
    probe.attach([tile.memories.narrow for tile in chip.tiles])
    options.on_start(frame.look_at(program, lambda: chip.section, [tile.tensor.unit for tile in chip.tiles]))
    with frame.keeping(lambda error: _stopped(program, chip, error)):
        load_cycles, cycles = run_sections(chip, program, host.rows, held)
    outputs = host.outputs(chip.host_outfeed)
    trace = _trace_of(program, chip)
    findings: list[Finding] = []
    if racing:
        _must_be_short(program, samples * cycles.stop)
        from tilesim.tiled.run.touched import raced  # with all of the stepped model, which other runs don't need

        outputs, findings = raced(program, inputs, samples, held)
    return Run(
        outputs=outputs,
        cycles=len(cycles),
        statistics=told(
            statistics.document(program, measured(program, chip), load_cycles, cycles, trace, findings), instant
        ),
        tensors=host.tensors() | probe.tensors(outputs) if options.keep_tensors else {},
        trace=trace,
        signals=chip.log.signals(len(cycles)) if chip.log else None,
    )


def _trace_of(program: Program, chip: Chip) -> Trace | None:
    known = wakeup_sources(program.topology, {unit.track for unit in chip.units}) if chip.recorder else frame.NOBODY
    return frame.trace_of(program, chip.recorder, known)


def _stopped(program: Program, chip: Chip, error: RunError) -> Run:
    """The run up to where the chip stood."""
    (section, start), now = chip.section, chip.clock.cycle
    cycles = range(start, chip.stop(sound=not isinstance(error, AccessError)))
    trace, load_cycles = _trace_of(program, chip), len(cycles) if section == "load" else start
    document = told(statistics.document(program, measured(program, chip), load_cycles, cycles, trace), chip.instants)
    signals = chip.log.signals(len(cycles)) if chip.log and section == "run" else None
    return Run([], len(cycles), frame.ended(document, error, section, now - start), trace=trace, signals=signals)


def _must_be_short(program: Program, cycles: int) -> None:
    if cycles > MOST_RACING_CYCLES:
        raise InputError(
            f"{program.name}: a program whose accesses nothing orders is followed cycle by cycle, samples one by one: "
            f"that must take at most {MOST_RACING_CYCLES:,} cycles, not {cycles:,}"
        )


def run_sections(chip: Chip, program: Program, rows: Sequence[Content], held: Holds) -> tuple[int, range]:
    """Run both sections of ``program``: how long loading takes, and the cycles of the other."""
    chip.fill(program.data)
    chip.expect(program.sent, program.leaving)
    start, load_cycles = chip.run(program.load, [], "load", held)
    hang.refuse(chip, program, "load", start)
    if chip.recorder:
        chip.recorder.begin(chip.clock.cycle)
    if chip.log:
        chip.log.begin(chip.clock.cycle)
    start, end = chip.run(program.run, rows, "run", held, {request.begins for request in program.requests})
    hang.refuse(chip, program, "run", start)
    chip.close(end)
    return load_cycles, range(start, end)
