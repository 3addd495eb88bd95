"""``tilesim run``: a model or a program on a chip."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.cli.faults import Faults
from tilesim.cli.options.batching import BatchOptions
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.models import SourcesArgument
from tilesim.cli.options.running import RunningOptions
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.paths import PAGE, files_of_model, files_of_run, must_be_free
from tilesim.cli.programs import Sources, programs_of, read_sources
from tilesim.cli.progress import progress
from tilesim.cli.saved_runs import Done, folder_names, must_be_writable, save
from tilesim.cli.several_chips import compare, conflicts
from tilesim.cli.simulation import engine_words, samples, simulated, trace_words
from tilesim.errors import kept, refuse
from tilesim.files import Array
from tilesim.machines.program import Program
from tilesim.run import Run

LISTED = 16
"""Outputs that are described."""


def command(
    models: SourcesArgument,
    chips: ChipOptions,
    running: RunningOptions,
    compilation: CompilationOptions,
    batches: BatchOptions,
    faults: Faults,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run models or a program on a chip.

    Once or several times; several models in turn; or one model on several chips, to compare them. Without a chip, it is
    the smallest that comes with tilesim and holds them. Of several chips, one that is too small, or on which the run
    can't go on, does not stop the others. The exit status is 2 if the input is wrong, and 3 if a run can't go on, which
    --out keeps up to where it stood.
    """
    with progress(f"reading {', '.join(models)}", quiet):
        sources = read_sources(models, chips, [running, compilation, batches], faults, takes_chips=True)
        faults += conflicts(models, chips.names)
        _must_be_writable(sources, [*models, *chips.names], running, faults)
        refuse(faults)
    if len(chips.names) > 1:
        compare(sources, chips.changes(), compilation, running, batches, json_, quiet)
        return
    with progress(f"compiling {', '.join(models)}", quiet) as say:
        programs, chosen = programs_of(sources, compilation, say, batches, running.inferences)
    program, result, notes = simulated(models, programs, running, quiet, running.out)
    if running.out is not None:
        save(Done(program, result), running.out)
    if json_:
        _tell_json(result, notes)
        return
    engine = [] if quiet else engine_words(program, result, running.engine)
    _show(program, result, chips.changes(), [] if quiet else [*chosen, *notes], engine)
    if running.out is not None and not quiet:
        tell(f"written to {running.out}")


def _must_be_writable(sources: Sources, words: Sequence[str], running: RunningOptions, faults: Faults) -> None:
    """What is written replaces nothing that the ``words`` of the command stand for; what would joins the ``faults``."""
    with kept(faults):
        folders = folder_names(sources.chips) if len(sources.chips) > 1 else []
        must_be_writable(running.out, folders, words, [running.inputs, running.energy])
    if running.ring_trace is None:
        return
    read = [*(path for word in words for path in files_of_model(word)), *filter(None, [running.inputs, running.energy])]
    with kept(faults):
        must_be_free(running.ring_trace, read)
    if running.out is not None:
        with kept(faults):
            must_be_free(running.ring_trace, [*files_of_run(running.out), running.out / PAGE], "of the run itself")


def _tell_json(result: Run, notes: Sequence[str]) -> None:
    tell_json(result.statistics)
    if notes:
        tell(*notes, error=True)


def _show(
    program: Program, result: Run, changes: dict[str, object], notes: Sequence[str], engine: Sequence[str]
) -> None:
    from tilesim.report.terminal import show, summary

    if notes:
        tell(*notes, "")
    show(summary(result.statistics, changes, samples(program, result)))
    described = [_described(name, array) for name, array in zip(_names(program, result), result.outputs, strict=True)]
    more = [f"and {len(described) - LISTED:,} more outputs"] if len(described) > LISTED else []
    if after := [*engine, *described[:LISTED], *more, *trace_words(result)]:
        tell("", *after)


def _names(program: Program, result: Run) -> list[str]:
    """Those of the outputs; where they are of several networks, with these."""
    names = [tensor.name for tensor in program.outputs]
    networks = [request["network"] for request in result.statistics["requests"] for _ in request["outputs"]]
    if len(set(networks)) < 2:
        return names
    return [f"{name} ({network})" for name, network in zip(names, networks, strict=True)]


def _described(name: str, array: Array) -> str:
    shape = " x ".join(str(size) for size in array.shape)
    return f"output {name}: {array.dtype} {shape}, from {array.min():g} to {array.max():g}"
