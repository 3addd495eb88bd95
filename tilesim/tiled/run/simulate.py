"""Run a program on the chip it was made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim import compiled
from tilesim.errors import ArrayError, HangError, InputError, ProgramError
from tilesim.findings import Finding
from tilesim.printable import unknown
from tilesim.run import Look, Progress, Run, unwatched
from tilesim.sim.core.memory import Bytes
from tilesim.sim.trace.recorder import Recorder, Recording
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.hang import report
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import link_programs
from tilesim.tiled.rules.ring.readings import Reading, reading_of
from tilesim.tiled.rules.soundness import unrunnable, unsound
from tilesim.tiled.rules.tile.hazards import hazards
from tilesim.tiled.run import host_driver, statistics
from tilesim.tiled.run.holds import holds
from tilesim.tiled.run.tensor_probe import TensorProbe
from tilesim.tiled.run.wakeup_sources import partners
from tilesim.tiled.units.chip import Chip, Holds
from tilesim.tiled.units.ring.announcement import Unforeseen

Array = NDArray[Any]

RULES = ("strict", "observe")
"""What becomes of transfers that meet on the ring, and of accesses that nothing orders: they end the run, or keep it
from beginning; or it goes on and says so.
"""

MOST_RACING_CYCLES = 1_000_000
"""So long may a run be in which accesses are followed cycle by cycle."""


def simulate(
    program: Program,
    inputs: Sequence[Array],
    keep_tensors: bool = False,
    trace: bool | Recording = False,
    rules: str = "strict",
    not_before: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] = unwatched,
    masters: str = Reading.MEET,
) -> Run:
    """Load the parameters, then run the program, mostly one inference, carrying all samples of ``inputs`` at once.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each of the program's inputs, of the model's dtype and shape; with a first axis k times
            as long, k samples are run.
        keep_tensors: also read every tensor that the program says a place of, when its layer has written it.
        trace: record what every unit does, or as much as is asked for.
        rules: one of :data:`RULES`.
        not_before: cycles, counted from the start of a section, before which an instruction must not begin, by label,
            or by label, ``@`` and tile.
        on_start: hears, when the chip begins (again), whom to ask how far it is.
        masters: the :class:`~tilesim.tiled.rules.ring.readings.Reading` of the rule for masters that ``rules`` are
        about.

    Raises:
        ProgramError: an instruction that the chip could not run.
        ArrayError: inputs that do not fit.
        InputError: other rules, another reading, labels that the program does not have, or tracks to trace that no unit
            or link matches.
        CollisionError: two transfers met on the ring, or did what else the reading forbids, against strict rules.
        HangError: the run can't go on.
    """
    reading = reading_of(masters)
    lenient = rules == "observe" and len(program.requests) < 2
    _must_be_sound([program], rules, unrunnable if lenient else unsound)
    racing = lenient and bool(program.once(hazards))
    if racing and keep_tensors:
        raise InputError(f"{program.name}: tensors can only be kept of a program whose accesses have an order")
    return _run(_named(program), inputs, keep_tensors, trace, rules, not_before or {}, on_start, reading, racing)


def simulate_requests(
    programs: Sequence[Program],
    order: Sequence[int],
    inputs: Sequence[Sequence[Array]],
    trace: bool | Recording = False,
    rules: str = "strict",
    not_before: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] = unwatched,
    masters: str = Reading.MEET,
) -> Run:
    """Load the parameters, then run the inferences of ``programs`` in ``order``, by their numbers, each with its own
    ``inputs``; the run's outputs are those of all requests, one after the other.

    Each program is checked alone: the fences between requests let none meet another. Accesses that nothing orders are
    refused whatever the rules.

    Raises:
        ProgramError: as in :func:`simulate`, or programs that can't follow one another.
        ArrayError, InputError, CollisionError, HangError: as in :func:`simulate`.
    """
    reading = reading_of(masters)
    _must_be_sound(programs, rules, unsound)
    program = link_programs(programs, order)
    _must_match(programs, order, inputs)
    arrays = [array for each in inputs for array in each]
    return _run(program, arrays, False, trace, rules, not_before or {}, on_start, reading)


def observed(program: Program, not_before: Mapping[str, int], masters: Reading) -> list[Finding]:
    """What is noticed on the ring in a run with zeros for inputs, if that comes to its end or not.

    Raises:
        InputError: labels that the program does not have.
    """
    named = _named(program)
    arrays = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    rows_of_host, samples = host_driver.rows_of_inputs(program, arrays)
    chip = Chip(program.topology, samples, None, _forget, reading=masters)
    try:
        _sections(chip, named, rows_of_host, holds(named, not_before))
    except HangError as error:
        return error.findings
    return chip.monitor.findings()


def _must_match(programs: Sequence[Program], order: Sequence[int], inputs: Sequence[Sequence[Array]]) -> None:
    if len(inputs) != len(order):
        raise ArrayError(f"inputs must be those of {len(order)} requests, not of {len(inputs)}")
    counts = [(len(programs[number].inputs), len(arrays)) for number, arrays in zip(order, inputs, strict=True)]
    if wrong := [(k, *count) for k, count in enumerate(counts) if count[0] != count[1]]:
        raise ArrayError(f"inputs of request {k + 1} must be {need} arrays, not {have}" for k, need, have in wrong)


def _must_be_sound(programs: Sequence[Program], rules: str, faults: Callable[[Program], list[str]]) -> None:
    if rules not in RULES:
        raise InputError(f"rules {unknown(rules, RULES, 'strict or observe')}")
    several = len(programs) > 1
    found = [f"{program.name}: {fault}" if several else fault for program in programs for fault in faults(program)]
    if found:
        raise ProgramError(found)


def _run(
    program: Program,
    inputs: Sequence[Array],
    keep_tensors: bool,
    trace: bool | Recording,
    rules: str,
    not_before: Mapping[str, int],
    on_start: Callable[[Look], None],
    reading: Reading,
    racing: bool = False,
) -> Run:
    held = holds(program, not_before)
    rows_of_host, samples = host_driver.rows_of_inputs(program, inputs)
    watch = TensorProbe(program, samples)

    def finish(bursts: bool) -> tuple[Chip, int, range]:
        chip = Chip(
            program.topology,
            samples,
            Recorder(None if trace is True else trace) if trace else None,
            watch.retired if keep_tensors else _forget,
            strict=rules == "strict",
            bursts=bursts,
            flat=compiled.pays(sum(getattr(op, "tiles", 1).bit_count() for op in (*program.load, *program.run))),
            reading=reading,
        )
        if isinstance(trace, Recording):
            _must_match_tracks(trace, chip)
        watch.attach([tile.memories.narrow for tile in chip.tiles])
        on_start(_look(program, chip))
        return chip, *_sections(chip, program, rows_of_host, held)

    try:
        bursts = program.topology.ring.no_consumer == "stall" and reading is Reading.MEET
        chip, load_cycles, cycles = finish(bursts)
    except Unforeseen:
        chip, load_cycles, cycles = finish(bursts=False)
    outputs = [
        host_driver.output_array(output, chip.host_outfeed.output(k)) for k, output in enumerate(program.outputs)
    ]
    recorded = _trace(program, chip, chip.recorder) if chip.recorder else None
    findings: list[Finding] = []
    if racing:
        _must_be_short(program, samples * cycles.stop)
        from tilesim.tiled.verify.touched import raced  # with all of the stepped model, which other runs don't need

        outputs, findings = raced(program, inputs, samples, held)
    return Run(
        outputs=outputs,
        cycles=len(cycles),
        statistics=statistics.document(program, chip, load_cycles, cycles, recorded, findings),
        tensors=watch.tensors(outputs) if keep_tensors else {},
        trace=recorded,
    )


def _must_be_short(program: Program, cycles: int) -> None:
    if cycles > MOST_RACING_CYCLES:
        raise InputError(
            f"{program.name}: a program whose accesses nothing orders is followed cycle by cycle, samples one by one: "
            f"that must take at most {MOST_RACING_CYCLES:,} cycles, not {cycles:,}"
        )


def _must_match_tracks(trace: Recording, chip: Chip) -> None:
    tracks, what = [unit.track for unit in chip.units], f"a unit or link of {chip.topology.name}, or a pattern of such"
    if found := trace.unmatched(tracks):
        raise InputError(f"tracks to trace: each {unknown(pattern, tracks, what)}" for pattern in found)


def _sections(chip: Chip, program: Program, rows: list[Bytes], held: Holds) -> tuple[int, range]:
    """Run both sections of ``program``: how long loading takes, and the cycles of the other."""
    chip.fill(program.data)
    start, load_cycles = chip.run(program.load, [], "load", held)
    report.refuse(chip, program, "load", start)
    if chip.recorder:
        chip.recorder.begin(chip.clock.cycle)
    start, end = chip.run(program.run, rows, "run", held, {request.begins for request in program.requests})
    report.refuse(chip, program, "run", start)
    chip.close(end)
    return load_cycles, range(start, end)


def _look(program: Program, chip: Chip) -> Look:
    """Who tells how far ``chip`` is; what it reads another thread may read too."""
    layer_of = {op.label: op.layer for op in program.run}
    layers = tuple(layer.name for layer in program.layers)
    controls = [tile.tensor.unit for tile in chip.tiles]

    def look() -> Progress:
        section, start = chip.section
        foremost = max(layer_of.get(unit.instruction, -1) for unit in controls)
        return Progress(section, chip.clock.cycle - start, None if foremost < 0 else foremost, layers)

    return look


def _trace(program: Program, chip: Chip, recorder: Recorder) -> Trace:
    layers = {op.label: op.layer for op in (*program.load, *program.run)}
    known = partners(program.topology, {unit.track for unit in chip.units})
    return recorder.trace([layer.name for layer in program.layers], layers, known)


def _forget(_tile: int, _label: str) -> None:
    """Nobody keeps tensors."""


def _named(program: Program) -> Program:
    """The program with a label for each instruction."""
    if all(op.label for op in (*program.load, *program.run)):
        return program
    return replace(program, load=_labelled(program.load, "load"), run=_labelled(program.run, "run"))


def _labelled(ops: tuple[Instruction, ...], section: str) -> tuple[Instruction, ...]:
    return tuple(op if op.label else replace(op, label=f"{section}[{k}]") for k, op in enumerate(ops))
