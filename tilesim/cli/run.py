"""``tilesim run``: a model or a program on a chip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.chip import SetOption, TopologiesOption, overrides
from tilesim.cli.compare import compare
from tilesim.cli.progress import progress
from tilesim.cli.simulation import samples, simulated
from tilesim.errors import InputError
from tilesim.files import Array, all_or_nothing
from tilesim.report.keys import differences
from tilesim.run import FILES, Run
from tilesim.tiled.isa.program import Program
from tilesim.tiled.topology import Topology

MOST_DIFFERENCES = 5


def run(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL_OR_PROGRAM", help="A .tflite, .onnx, .yaml or .tasm file, or a workload's name."),
    ],
    topology: TopologiesOption = None,
    set_: SetOption = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz|.npy", help="Arrays in0, in1, ...; random ones if not given.", readable=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where outputs, statistics and program go; nowhere if not given.", readable=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the statistics as JSON and nothing else.")] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Record what every unit does when: into DIR/trace.npz, its hash into the statistics."
        ),
    ] = False,
) -> None:
    """Run a model or a program on a chip, or a model on several chips to compare them."""
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"{out}: must be a folder, or not be there yet")
    changes = overrides(set_)
    if topology is not None and len(topology) > 1:
        _refuse_files(model, out, trace)
        compare(model, topology, changes, inputs, json)
        return
    with progress(f"compiling {model}"):
        program = _program(model, topology[0] if topology else "", changes)
    result = simulated(model, program, inputs, trace)
    if out is not None:
        _save(program, result, out)
    if json:
        typer.echo(result.json(), nl=False)
    else:
        _show(program, result, changes, out)


def _refuse_files(model: str, out: Path | None, trace: bool) -> None:
    """What makes no sense with several chips."""
    reasons = {
        f"{model}: a program is compiled for one chip; give the model, or at most one --topology": _is_program(model),
        "--out keeps the files of one run; give one --topology": out is not None,
        "--trace records one run; give one --topology": trace,
    }
    if faults := [fault for fault, holds in reasons.items() if holds]:
        raise InputError(faults)


def _is_program(model: str) -> bool:
    return Path(model).suffix == ".tasm"


def _program(model: str, topology: str, changes: dict[str, object]) -> Program:
    """The program to run, compiled if need be."""
    if _is_program(model):
        return _ready_program(model, topology, changes)
    if not topology:
        raise InputError("--topology must name the chip that the model is to run on; `tilesim topologies` lists them")
    chip = api.load_topology(topology, changes)
    return api.compile(api.load_network(model), chip)


def _ready_program(path: str, topology: str, changes: dict[str, object]) -> Program:
    """A saved program, which brings its chip; a ``topology`` must be the same one."""
    program = api.load_program(path)
    if changes and not topology:
        raise InputError(
            f"{path}: --set cannot change the chip of a compiled program; compile the model for another one"
        )
    if topology:
        _must_be_same(path, program.topology, api.load_topology(topology, changes))
    return program


def _must_be_same(path: str, ours: Topology, given: Topology) -> None:
    if given == ours:
        return
    found = differences(ours, given)
    more = [f"and {len(found) - MOST_DIFFERENCES} more"] if len(found) > MOST_DIFFERENCES else []
    raise InputError(
        f"{path}: the program is compiled for another chip than --topology gives "
        f"({'; '.join([*found[:MOST_DIFFERENCES], *more])}); leave --topology out, or compile the model again"
    )


def _save(program: Program, result: Run, folder: Path) -> None:
    try:
        with all_or_nothing(folder, FILES) as made:
            api.save_program(program, made / "program.tasm")
            result.save(made)
    except OSError as error:
        raise InputError(f"{folder}: the results cannot be written there: {error.strerror}") from None


def _show(program: Program, result: Run, changes: dict[str, object], out: Path | None) -> None:
    from tilesim.report.terminal import show, summary

    show(summary(result.statistics, changes, samples(program, result)), "")
    for tensor, array in zip(program.outputs, result.outputs, strict=True):
        typer.echo(_described(tensor.name, array))
    if result.trace is not None:
        typer.echo(f"trace: {result.trace.start_cycle.size:,} spans, sha256 {result.trace.sha256}")
    if out is not None:
        typer.echo(f"written to {out}")


def _described(name: str, array: Array) -> str:
    shape = " x ".join(str(size) for size in array.shape)
    return f"output {name}: {array.dtype} {shape}, from {array.min():g} to {array.max():g}"
