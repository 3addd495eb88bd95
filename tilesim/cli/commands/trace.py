"""``tilesim trace``: the trace of a run as a file for a trace viewer."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, Annotated, cast

import typer

from tilesim.cli.options.answers import QuietOption
from tilesim.cli.output import tell
from tilesim.cli.paths import files_of_run, given_path, must_be_free
from tilesim.cli.progress import progress
from tilesim.errors import InputError
from tilesim.report.document import load_run
from tilesim.saving import all_or_nothing

FAST = 4
"""How hard a file whose name ends in .gz is compressed."""


def command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_DIR", help="What `tilesim run --trace --out RUN_DIR` has written.", parser=given_path
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write it.", show_default=False, parser=given_path
        ),
    ],
    chrome: Annotated[
        bool,
        typer.Option("--chrome", help="Write the JSON format of Chrome's viewer; compressed if FILE ends in .gz."),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Write the trace of a run for a viewer.

    Perfetto (https://ui.perfetto.dev) shows either format: a track a unit in the tree of the chip, what each did when
    and what let its stalls end, the bytes a cycle of each bus, and the MACs in use. A nanosecond there is a cycle.
    """
    must_be_free(output, files_of_run(run), "of the run itself")
    with progress(f"reading {run}", quiet) as say:
        saved = load_run(run)
        if saved.trace is None:
            raise InputError(f"{run}: must hold a trace.npz, which tilesim run --trace --out {run} writes")
        spans = len(saved.trace.track)
        if chrome:
            from tilesim.report.chrome_file import write_chrome as write
        else:
            from tilesim.report.perfetto_file import write_perfetto as write
        try:
            with all_or_nothing(output.parent) as made, _opened(made / output.name) as file:
                write(saved.statistics, saved.trace, file, lambda n: say(f"writing {output}: {n:,} of {spans:,} spans"))
        except OSError as error:
            raise InputError(f"{output}: cannot be written: {error.strerror}") from None
    if not quiet:
        tell(f"{output}: {spans:,} spans")


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(path, "wb", FAST, mtime=0))
    return path.open("wb")
