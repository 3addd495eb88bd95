"""Which engine runs a program: SimPy, which defines what a run is, or the compiled one, which says the same sooner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tilesim.errors import AccessError, InputError
from tilesim.machines import frame
from tilesim.machines.options import RunOptions
from tilesim.run import Run, RunProgress
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.dataflow.carry_out import carried_out
from tilesim.tiled.dataflow.order import Refused
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.missing import NoCompiler, SwitchedOff
from tilesim.tiled.flat.readout import Timing, Watched
from tilesim.tiled.flat.tables import tables_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run import host_driver, statistics
from tilesim.tiled.run.core import library, products, timed
from tilesim.tiled.run.counted import counted, tracks
from tilesim.tiled.run.delayed_issue import holds_of
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.ttu import TraversalForm

if TYPE_CHECKING:
    from tilesim.tiled.dataflow.probing import Probing
    from tilesim.tiled.run.tensor_probe import TensorProbe

MANY = 400
"""Instructions that take SimPy about a second."""


def compiled_run(program: Program, inputs: Sequence[NDArray[Any]], options: RunOptions, racing: bool) -> Run | str:
    """A run of the compiled engine, if it covers that and comes to its end; else why there is none, where that is to
    be said. All instructions have labels.

    Raises:
        InputError: the options ask for it, and it does not cover the program or the other options.
    """
    gaps = [*_uncovered(program, options, racing)]
    if gaps and options.engine == "compiled":
        raise InputError(f"{program.name}: {gap}" for gap in gaps)
    if gaps:
        return ""
    try:
        core = library()
    except NoCompiler as error:
        return _without_core(error, options.engine == "compiled", program)
    return _run(program, inputs, options, core)


def _without_core(error: NoCompiler, asked: bool, program: Program) -> str:
    """A line for who asked for the compiled engine, or has to wait and may not know how to have it."""
    if asked:
        return f"SimPy ran this, not the compiled engine: {error}"
    if isinstance(error, SwitchedOff) or _instructions(program) < MANY:
        return ""
    return f"SimPy ran this, in up to forty times the time: {error}"


def _instructions(program: Program) -> int:
    """Counted in every tile."""
    return sum(getattr(op, "tiles", 1).bit_count() for op in (*program.load, *program.run))


def _run(program: Program, inputs: Sequence[NDArray[Any]], options: RunOptions, core: Path) -> Run | str:
    frame.must_match_tracks(options, program, tracks(program))
    host = host_driver.HostSide(program, inputs)
    layers = tuple(layer.name for layer in program.layers)
    watched = Watched()
    options.on_start(lambda: RunProgress(watched.section, watched.cycle, watched.foremost, layers))
    decoder = Decoder(TraversalForm(program.topology.tile))
    tables = tables_of(program, decoder, holds_of(program, options.holds))
    timing = timed(program, core, tables, options.recording is not None, watched)
    if timing.outcome != "ended":
        how = "is too long for the core" if timing.outcome == "endless" else timing.outcome
        return f"SimPy ran this, for its report: the run {how}" if options.engine == "compiled" else ""
    try:
        probe, probing = _probing(program, host) if options.keep_tensors else (None, None)
        received = carried_out(program, timing, host, decoder, products(core), watched, probing)
    except AccessError:
        return ""
    except Refused as error:
        if options.engine == "compiled":
            op = (*program.load, *program.run)[error.place]
            raise InputError(f"{program.name}: {op.label} {error.why}: that is not covered") from None
        return ""
    cycles = range(timing.start, timing.start + timing.cycles)
    trace = None if options.recording is None else _trace(program, timing, options.recording)
    outputs = host.outputs(received)
    return Run(
        outputs=outputs,
        cycles=timing.cycles,
        statistics=statistics.document(program, counted(program, timing, decoder), timing.load_cycles, cycles, trace),
        tensors=host.tensors() | probe.tensors(outputs) if probe else {},
        trace=trace,
        engine="compiled",
    )


def _probing(program: Program, host: host_driver.HostSide) -> tuple[TensorProbe, Probing]:
    from tilesim.tiled.dataflow.probing import Probing  # which most runs don't need
    from tilesim.tiled.run.tensor_probe import TensorProbe

    probe = TensorProbe(program, host.samples)
    return probe, Probing(program, probe)


def _trace(program: Program, timing: Timing, recording: Recording) -> Trace:
    from tilesim.tiled.run.spans import trace_of_run  # which most runs don't need

    return trace_of_run(program, timing, recording)


def _uncovered(program: Program, options: RunOptions, racing: bool) -> Iterator[str]:
    """What keeps the compiled engine from running a program as it is to be run."""
    said = {
        "instant": bool(options.instant),
        "signals": options.signals is not None,
        "on_packet": options.on_packet is not None,
    }
    yield from (f"{name} must be left out for the compiled engine" for name, given in said.items() if given)
    if options.masters != "meet":
        yield f"masters must be meet for the compiled engine, not {options.masters}"
    if racing:
        yield "accesses must have an order for the compiled engine: nothing orders some of them"
    yield from uncovered(program)
