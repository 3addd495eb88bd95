"""``tilesim trace``: the trace of a run as a file for a trace viewer, or its state log for one of waveforms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim.cli.faults import faults_of, told_with
from tilesim.cli.output import QuietOption, tell
from tilesim.cli.paths import files_of_run, given_path, must_be_free, path_option
from tilesim.cli.progress import progress
from tilesim.report.api import is_waveform, load_run, save_trace


def command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_DIR",
            help="What `tilesim run --trace --out RUN_DIR` has written, or `--signals`.",
            parser=given_path,
        ),
    ],
    output: Annotated[Path, path_option("FILE", "Where to write it; .vcd for the state log.", "-o", "--output")],
    chrome: Annotated[
        bool, typer.Option("--chrome", help="Write the JSON format of Chrome's viewer; compressed if FILE ends in .gz.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Write the trace of a run for a viewer.

    Perfetto (https://ui.perfetto.dev) shows either format: a track a unit in the tree of the chip, what each did when
    and what let its stalls end, the bytes a cycle of each bus, and the MACs in use. A nanosecond there is a cycle. A
    FILE that ends in .vcd or .vcd.gz gets the state log, for GTKWave and other viewers of waveforms.
    """
    faults = faults_of(lambda: must_be_free(output, files_of_run(run), "of the run itself"))
    with progress(f"reading {run}", quiet) as say:
        count = save_trace(told_with(faults, lambda: load_run(run)), output, chrome, say)
    if not quiet:
        tell(f"{output}: {count:,} {'values' if is_waveform(output) else 'spans'}")
