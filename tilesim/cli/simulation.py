"""Programs, run with the user's arrays or with random ones: once, or several times in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tilesim import api
from tilesim.budgets import LARGEST_INPUTS_BYTES, MOST_SIGNAL_VALUES
from tilesim.cli.options.running import RunningOptions
from tilesim.cli.progress import simulating
from tilesim.cli.saved_runs import Done, save
from tilesim.energy import priced
from tilesim.errors import ArrayError, ProgramError, RunError, refuse
from tilesim.files import Array, npz_names, read_npy, read_npz
from tilesim.machines.host import samples_of
from tilesim.machines.options import Say
from tilesim.machines.program import HostTensor, Program
from tilesim.registry import machine_of
from tilesim.run import Run
from tilesim.sim.trace.packets import PacketSeen, save_packets


def simulated(
    models: Sequence[str],
    programs: Sequence[Program],
    options: RunningOptions,
    quiet: bool,
    out: Path | None = None,
) -> tuple[Program, Run, list[str]]:
    """The program of all inferences of ``programs``, made from ``models``; its run, priced as asked for; notes. A run
    that can't go on is written into ``out``.
    """
    notes: list[str] = []
    if len(programs) == options.inferences == 1:
        program, run = programs[0], simulated_once(models[0], programs[0], options, quiet, out)
    else:
        program, run = simulated_in_turn(models, programs, options, quiet, notes.append, out)
    recording, energy, energies = options.recording(), run.statistics.get("energy"), options.energies()
    if recording and recording.window is not None and recording.window.start >= run.cycles:
        notes.append(f"the trace is empty: the run ends at cycle {run.cycles:,}, before the cycles of --trace-window")
    notes += [*cut(run, options.log_window()), *filter(None, [run.note])]
    if energies is not None and energy is not None:
        run = replace(run, statistics={**run.statistics, "energy": priced(energy, energies)})
    return program, run, [] if quiet else notes


def simulated_once(
    model: str, program: Program, options: RunningOptions, quiet: bool = False, out: Path | None = None
) -> Run:
    """One inference of ``program``, made from ``model``."""
    arrays = arrays_for(program, options.inputs)
    what = f"{program.name} on {program.topology.name}"
    with (
        saving_what_ended(program, out),
        simulating(what, quiet) as on_start,
        naming(model, options.inputs),
        packets_for(options.ring_trace) as on_packet,
    ):
        return api.simulate(
            program,
            arrays,
            trace=options.recording() or False,
            rules=options.rules,
            holds=options.holds(),
            on_start=on_start,
            masters=options.masters,
            instant=options.instant or (),
            signals=options.log_window(),
            on_packet=on_packet,
            engine=options.engine,
        )


def simulated_in_turn(
    models: Sequence[str],
    programs: Sequence[Program],
    options: RunningOptions,
    quiet: bool,
    note: Say,
    out: Path | None = None,
) -> tuple[Program, Run]:
    """The program of all inferences, and its run. Inference i gets sample i of the arrays that are given, or of those
    samples over again; ``note`` hears of those that none gets.
    """
    order = [*range(len(programs))] * options.inferences
    tensors = programs[0].inputs_of_inference
    samples = None if options.inputs is None else load_inputs(options.inputs, len(tensors))
    with naming(", ".join(models), options.inputs):
        linked = api.link(programs, order)
        if options.out is not None:  # the program is to be one that can be read again
            unkept = machine_of(linked.topology).faults(linked)
            refuse(f"--out keeps the program of all inferences in one piece: {fault}" for fault in unkept)
        arrays = None if samples is None else _samples(tensors, options.inferences, samples, note)
        what = f"{len(order)} inferences on {linked.topology.name}"
        with (
            saving_what_ended(linked, out),
            simulating(what, quiet) as on_start,
            packets_for(options.ring_trace) as on_packet,
        ):
            run = api.simulate_requests(
                programs,
                arrays,
                order,
                trace=options.recording() or False,
                rules=options.rules,
                holds=options.holds(),
                on_start=on_start,
                masters=options.masters,
                instant=options.instant or (),
                signals=options.log_window(),
                on_packet=on_packet,
                engine=options.engine,
            )
    return linked, run


@contextmanager
def packets_for(path: Path | None) -> Iterator[Callable[[PacketSeen], None] | None]:
    """Who hears of packets on the ring, if they are to go into a file: those of a run that can't go on, too."""
    packets: list[PacketSeen] = []
    try:
        yield None if path is None else packets.append
    except RunError:
        if path is not None:
            save_packets(packets, path)
        raise
    if path is not None:
        save_packets(packets, path)


def arrays_for(program: Program, inputs: Path | None) -> list[Array] | None:
    """What is in the file ``inputs``; without one, arrays are made up. Raises ArrayError for what does not fit."""
    return None if inputs is None else load_inputs(inputs, len(program.inputs))


def load_inputs(path: Path, count: int) -> list[Array]:
    """The ``count`` inputs of a run: ``in0``, ``in1``, ... of an .npz file, or the one array of an .npy file."""
    if path.suffix == ".npy":
        if count != 1:
            raise ArrayError(f"{path}: a model of {count} inputs must get an .npz file, not an .npy file")
        return [read_npy(path, LARGEST_INPUTS_BYTES)]
    names = [f"in{k}" for k in range(count)]
    arrays = read_npz(path, names, LARGEST_INPUTS_BYTES)
    missing = [name for name in names if name not in arrays]
    if missing:
        held = ", ".join(npz_names(path)) or "none"
        raise ArrayError(f"{path}: must hold an array {name}; it holds {held}" for name in missing)
    return [arrays[name] for name in names]


@contextmanager
def saving_what_ended(program: Program, out: Path | None) -> Iterator[None]:
    """A run that can't go on in here is written into ``out``, if that is given, up to where it stood."""
    try:
        yield
    except RunError as error:
        if out is not None and error.run is not None:
            save(Done(program, error.run), out)
        raise


@contextmanager
def naming(model: str, inputs: Path | None) -> Iterator[None]:
    """Faults found in here are in the file of the arrays, or of the model."""
    try:
        yield
    except ArrayError as error:
        raise ArrayError(f"{inputs or model}: {fault}" for fault in error.faults) from None
    except ProgramError as error:
        raise ProgramError(f"{model}: {fault}" for fault in error.faults) from None


def engine_words(program: Program, run: Run, asked: str) -> list[str]:
    """Who ran it, where there is a choice or that was ``asked`` for."""
    return [f"engine: {run.engine}"] if asked or machine_of(program.topology).has_compiled_engine else []


def trace_words(run: Run) -> list[str]:
    """What there is to say of the trace and of the state log, if there are any."""
    words = [] if run.trace is None else [f"trace: {run.trace.start_cycle.size:,} spans, sha256 {run.trace.sha256}"]
    if run.signals is not None and (window := run.signals.window):
        log = f"state log: {len(run.signals.names):,} signals, cycles {window.start:,} to {window[-1]:,}"
        words.append(f"{log}, {run.signals.cycle.size:,} values")
    return words


def cut(run: Run, window: range | None) -> list[str]:
    """What the state log of a run lacks of the ``window`` that was asked for, if there is anything to say of that."""
    if window is None or run.signals is None:
        return []
    if not run.signals.window:
        return [f"the state log is empty: the run ends at cycle {run.cycles:,}, before the cycles that it is for"]
    end = run.signals.window.stop
    most = f"{MOST_SIGNAL_VALUES:,} values, cycles x signals, are the most"
    return [f"the state log ends before cycle {end:,}: {most}"] if end < min(window.stop, run.cycles) else []


def samples(program: Program, run: Run) -> int:
    """How many samples went through a run."""
    counts = [len(array) // tensor.shape[0] for tensor, array in zip(program.outputs, run.outputs, strict=True)]
    return max(counts, default=1)


def _samples(tensors: Sequence[HostTensor], inferences: int, arrays: Sequence[Array], note: Say) -> list[list[Array]]:
    """The arrays of each inference."""
    count = samples_of(tensors, arrays)
    if count > inferences:
        note(f"of the {count:,} samples of --inputs, the first {inferences:,} were used, one an inference")
    return [
        [array[k % count * tensor.shape[0] :][: tensor.shape[0]] for tensor, array in zip(tensors, arrays, strict=True)]
        for k in range(inferences)
    ]
