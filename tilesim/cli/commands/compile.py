"""``tilesim compile``: a model and a chip into a program, or a program into its other form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.assembly.files import BINARY, SUFFIXES
from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides
from tilesim.cli.options.compilation import Caching, LayerPriorityOption, NoCacheOption, PriorityOption, programs_of
from tilesim.cli.options.partition import PartitionOption
from tilesim.cli.options.program import is_program
from tilesim.cli.output import tell
from tilesim.cli.paths import files_of_model, given_path, must_be_free
from tilesim.cli.progress import progress
from tilesim.errors import InputError
from tilesim.machines.program import Program
from tilesim.units import format_bytes


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_PROGRAM",
            help="A .tflite, .onnx or .yaml file, or a workload's name; or a .tasm or .tbin file.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the program goes.", parser=given_path)
    ],
    topology: TopologyOption = None,
    set_: SetOption = None,
    no_cache: NoCacheOption = False,
    priority: PriorityOption = None,
    layer_priority: LayerPriorityOption = None,
    partition: PartitionOption = None,
) -> None:
    """Compile a model into a program for a chip.

    Or turn a program into its other form. A FILE.tasm gets the program's text, FILE.npz beside it the data; a FILE.tbin
    gets both, in binary.
    """
    if output.suffix not in SUFFIXES:
        raise InputError(f"{output}: the file of a program must end in {' or '.join(SUFFIXES)}")
    for path in [output, *([] if output.suffix == BINARY else [output.with_suffix(".npz")])]:
        must_be_free(path, [*files_of_model(model), Path(one_chip(topology))])
    with progress(f"{'reading' if is_program(model) else 'compiling'} {model}") as say:
        caching = Caching(no_cache, priority, layer_priority, partition)
        made = programs_of([model], one_chip(topology), overrides(set_), caching, say)
        [program] = made.programs
        api.save_program(program, output)
    tell(_described(program, output), *made.unmet)


def _described(program: Program, path: Path) -> str:
    """What went into which file."""
    count, data_bytes = len(program.load) + len(program.run), sum(segment.data.size for segment in program.data)
    between = ", " if path.suffix == BINARY else f"; {path.with_suffix('.npz')}: "
    return f"{path}: {count:,} instructions{between}{format_bytes(data_bytes)} of data"
