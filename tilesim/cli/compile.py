"""``tilesim compile``: a model and a chip into a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.chip import SetOption, TopologyOption, overrides
from tilesim.cli.progress import progress
from tilesim.errors import InputError
from tilesim.units import format_bytes


def compile_model(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A .tflite, .onnx or .yaml file, or a workload's name.")
    ],
    topology: TopologyOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.tasm", help="Where the program goes.", readable=False)
    ],
    set_: SetOption = None,
) -> None:
    """Compile a model for a chip.

    FILE.tasm gets the program's text, FILE.npz beside it the data.
    """
    if output.suffix != ".tasm":
        raise InputError(f"{output}: the file of a program must end in .tasm")
    chip = api.load_topology(topology, overrides(set_))
    with progress(f"compiling {model} for {chip.name}"):
        program = api.compile(api.load_network(model), chip)
        api.save_program(program, output)
    count, data_bytes = len(program.load) + len(program.run), sum(segment.data.size for segment in program.data)
    typer.echo(f"{output}: {count:,} instructions; {output.with_suffix('.npz')}: {format_bytes(data_bytes)} of data")
