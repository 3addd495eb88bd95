"""``tilesim compile``: a model and a chip into a program, or a program into its other form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tilesim import api
from tilesim.api.files import must_be_program
from tilesim.assembly import BINARY
from tilesim.cli.faults import Faults, faults_of
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.models import SourceArgument, is_program
from tilesim.cli.output import QuietOption, tell
from tilesim.cli.paths import files_of_model, must_be_free, path_option
from tilesim.cli.programs import programs_of, read_sources
from tilesim.cli.progress import progress
from tilesim.errors import kept, refuse
from tilesim.machines.program import Program
from tilesim.units import format_bytes


def command(
    model: SourceArgument,
    output: Annotated[Path, path_option("FILE", "Where the program goes.", "--output", "-o")],
    chips: ChipOptions,
    compilation: CompilationOptions,
    faults: Faults,
    quiet: QuietOption = False,
) -> None:
    """Compile a model into a program for a chip.

    Or turn a program into its other form. A FILE.tasm gets the program's text, FILE.npz beside it the data; a FILE.tbin
    gets both, in binary.
    """
    faults += faults_of(lambda: must_be_program(output))
    for path in [output, *([] if output.suffix == BINARY else [output.with_suffix(".npz")])]:
        with kept(faults):
            must_be_free(path, [*files_of_model(model), *map(Path, chips.names)])
    with progress(f"{'reading' if is_program(model) else 'compiling'} {model}", quiet) as say:
        sources = read_sources([model], chips, [compilation], faults)
        refuse(faults)
        [program], notes = programs_of(sources, compilation, say)
        api.save_program(program, output)
    if not quiet:
        tell(_described(program, output), *notes)


def _described(program: Program, path: Path) -> str:
    """What went into which file."""
    count, data_bytes = len(program.load) + len(program.run), sum(segment.data.size for segment in program.data)
    between = ", " if path.suffix == BINARY else f"; {path.with_suffix('.npz')}: "
    return f"{path}: {count:,} instructions{between}{format_bytes(data_bytes)} of data"
