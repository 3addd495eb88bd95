"""``tilesim run``: a model or a program on a chip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.chip import SetOption, TopologyOption, overrides
from tilesim.cli.inputs import load_inputs, random_inputs
from tilesim.cli.progress import progress
from tilesim.errors import ArrayError, InputError
from tilesim.files import Array, all_or_nothing
from tilesim.run import FILES, Run
from tilesim.tiled.isa.program import Program


def run(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL_OR_PROGRAM", help="A .tflite, .onnx, .yaml or .tasm file, or a workload's name."),
    ],
    topology: TopologyOption = "",
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
    trace: Annotated[bool, typer.Option("--trace", help="Record what every unit does when (DIR/trace.npz).")] = False,
) -> None:
    """Run a model or a program on a chip."""
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"{out}: must be a folder, or not be there yet")
    with progress(f"compiling {model}"):
        program = _program(model, topology, overrides(set_))
    with progress(f"simulating {program.name} on {program.topology.name}"):
        result = _result(program, inputs, trace)
    if out is not None:
        _save(program, result, out)
    if json:
        typer.echo(result.json(), nl=False)
    else:
        _show(program, result, out)


def _program(model: str, topology: str, changes: dict[str, object]) -> Program:
    """The program to run, compiled if need be."""
    if Path(model).suffix == ".tasm":
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
        chip = api.load_topology(topology, changes)
        if chip != program.topology:
            raise InputError(
                f"{path}: the program is compiled for the chip {program.topology.name}, and cannot run on {chip.name} "
                f"as given by --topology {topology}; leave that out, or compile the model again"
            )
    return program


def _result(program: Program, inputs: Path | None, trace: bool) -> Run:
    if inputs is None:
        return api.simulate(program, random_inputs(program.inputs), trace=trace)
    arrays = load_inputs(inputs, len(program.inputs))
    try:
        return api.simulate(program, arrays, trace=trace)
    except ArrayError as error:
        raise ArrayError(f"{inputs}: {fault}" for fault in error.faults) from None


def _save(program: Program, result: Run, folder: Path) -> None:
    try:
        with all_or_nothing(folder, FILES) as made:
            api.save_program(program, made / "program.tasm")
            result.save(made)
    except OSError as error:
        raise InputError(f"{folder}: the results cannot be written there: {error.strerror}") from None


def _show(program: Program, result: Run, out: Path | None) -> None:
    from rich.console import Console

    from tilesim.report.terminal import show_run

    show_run(result.statistics, Console(highlight=False))
    typer.echo()
    for tensor, array in zip(program.outputs, result.outputs, strict=True):
        typer.echo(_described(tensor.name, array))
    if out is not None:
        typer.echo(f"written to {out}")


def _described(name: str, array: Array) -> str:
    shape = " x ".join(str(size) for size in array.shape)
    return f"output {name}: {array.dtype} {shape}, from {array.min():g} to {array.max():g}"
