"""``tilesim run``: a model or a program on a chip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.options.batching import Batches, BatchScheduleOption, FitOption, PowerOfTwoOption, WeightReuseOption
from tilesim.cli.options.chip import SetOption, TopologiesOption, overrides
from tilesim.cli.options.compilation import Caching, LayerPriorityOption, NoCacheOption, PriorityOption, programs_of
from tilesim.cli.options.energy import EnergyOption, table, with_energies
from tilesim.cli.options.inferences import InferencesOption, run_in_turn
from tilesim.cli.options.partition import PartitionOption
from tilesim.cli.options.program import is_program
from tilesim.cli.options.recording import TraceTracksOption, TraceWindowOption, wanted_trace
from tilesim.cli.output import tell, tell_json
from tilesim.cli.paths import files_of_model, files_of_run, given_path, must_be_folder, must_be_free
from tilesim.cli.progress import progress
from tilesim.cli.several_chips import compare
from tilesim.cli.simulation import HoldOption, MastersOption, RulesOption, samples, simulated, start_times
from tilesim.errors import InputError
from tilesim.files import Array
from tilesim.machines.options import RunOptions
from tilesim.machines.program import Program
from tilesim.run import FILES, Run
from tilesim.saving import all_or_nothing

LISTED = 16
"""Outputs that are described."""


def command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL_OR_PROGRAM",
            help="A .tflite, .onnx, .yaml, .tasm or .tbin file, or a workload's name; several models run in turn.",
            show_default=False,
        ),
    ],
    topology: TopologiesOption = None,
    set_: SetOption = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz|.npy",
            help="Arrays in0, in1, ... of one model; random ones if not given.",
            parser=given_path,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where outputs, statistics and program go; nowhere if not given.", parser=given_path
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the statistics as JSON and nothing else.")] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Record what every unit does when: into DIR/trace.npz, its hash into the statistics."
        ),
    ] = False,
    trace_window: TraceWindowOption = None,
    trace_tracks: TraceTracksOption = None,
    rules: RulesOption = "strict",
    masters: MastersOption = RunOptions.masters,
    hold: HoldOption = None,
    inferences: InferencesOption = 1,
    no_cache: NoCacheOption = False,
    priority: PriorityOption = None,
    layer_priority: LayerPriorityOption = None,
    partition: PartitionOption = None,
    energy: EnergyOption = None,
    batch_schedule: BatchScheduleOption = "",
    weight_reuse: WeightReuseOption = "",
    power_of_two: PowerOfTwoOption = False,
    fit: FitOption = False,
) -> None:
    """Run models or a program on a chip.

    Once or several times; several models in turn; or one model on several chips, to compare them. The exit status is 2
    if the input is wrong, and 3 if the run can't go on.
    """
    if out is not None:
        _must_be_free(out, [*models, *(topology or [])], [inputs, energy])
    recording = wanted_trace(trace, trace_window, trace_tracks)
    changes, held, caching = overrides(set_), start_times(hold), Caching(no_cache, priority, layer_priority, partition)
    batches = Batches(inferences, batch_schedule, weight_reuse, power_of_two, fit)
    if topology is not None and len(topology) > 1:
        _refuse_several(models, inferences, [*caching.given, *batches.given])
        _refuse_files(models[0], out, recording is not None, energy)
        _refuse_rules(rules, masters, held)
        compare(models[0], topology, changes, inputs, json, partition)
        return
    energies = table(energy)
    with progress(f"compiling {', '.join(models)}") as say:
        made = programs_of(models, topology[0] if topology else "", changes, caching, say, batches)
    programs = made.programs
    if len(programs) == inferences == 1:
        program, result = programs[0], simulated(models[0], programs[0], inputs, recording, rules, held, masters)
    else:
        program, result = run_in_turn(
            models, programs, inferences, inputs, out is not None, recording, rules, held, masters
        )
    result = with_energies(result, energies)
    if out is not None:
        _save(program, result, out)
    if json:
        tell_json(result.statistics)
    else:
        _show(program, result, changes, made.unmet)
        if out is not None:
            tell(f"written to {out}")


def _must_be_free(out: Path, words: Sequence[str], files: Sequence[Path | None]) -> None:
    """What is written into ``out`` is nothing that is read."""
    must_be_folder(out)
    read = [*(path for word in words for path in files_of_model(word)), *(path for path in files if path is not None)]
    for path in files_of_run(out):
        must_be_free(path, read)


def _refuse_several(models: list[str], inferences: int, given: list[str]) -> None:
    """What a comparison of chips leaves to one chip."""
    reasons = {
        f"{', '.join(models)}: several models share one chip; give one --topology": len(models) > 1,
        "--inferences follow one another on one chip; give one --topology": inferences > 1,
        **{f"{option} is about one chip; give one --topology": True for option in given},
    }
    if faults := [fault for fault, holds in reasons.items() if holds]:
        raise InputError(faults)


def _refuse_files(model: str, out: Path | None, trace: bool, energy: Path | None) -> None:
    """What makes no sense with several chips."""
    reasons = {
        f"{model}: a program is compiled for one chip; give the model, or at most one --topology": is_program(model),
        "--out keeps the files of one run; give one --topology": out is not None,
        "--trace records one run; give one --topology": trace,
        "--energy is about one run; give one --topology": energy is not None,
    }
    if faults := [fault for fault, holds in reasons.items() if holds]:
        raise InputError(faults)


def _refuse_rules(rules: str, masters: str, held: dict[str, int]) -> None:
    """What is about one program, and makes no sense with several chips either."""
    reasons = {
        "--rules is about the program of one chip; give one --topology": rules != "strict",
        "--masters is about the program of one chip; give one --topology": masters != RunOptions.masters,
        "--hold names instructions of one program; give one --topology": bool(held),
    }
    if faults := [fault for fault, holds in reasons.items() if holds]:
        raise InputError(faults)


def _save(program: Program, result: Run, folder: Path) -> None:
    try:
        with all_or_nothing(folder, FILES) as made:
            api.save_program(program, made / "program.tasm")
            result.save(made)
    except OSError as error:
        raise InputError(f"{folder}: the results cannot be written there: {error.strerror}") from None


def _show(program: Program, result: Run, changes: dict[str, object], unmet: Sequence[str]) -> None:
    from tilesim.report.terminal import show, summary

    show(summary(result.statistics, changes, samples(program, result)), "")
    if unmet:
        tell(*unmet, "")
    described = [_described(name, array) for name, array in zip(_names(program, result), result.outputs, strict=True)]
    tell(*described[:LISTED])
    if len(described) > LISTED:
        tell(f"and {len(described) - LISTED:,} more outputs")
    if result.trace is not None:
        tell(f"trace: {result.trace.start_cycle.size:,} spans, sha256 {result.trace.sha256}")


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
