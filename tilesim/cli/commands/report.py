"""``tilesim report``: the page of a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim.cli.faults import faults_of, told_with
from tilesim.cli.options.pictures import PictureOptions
from tilesim.cli.output import QuietOption, tell
from tilesim.cli.paths import FIGURES, PAGE, files_of_run, given_path, must_be_folder, must_be_free, path_option
from tilesim.cli.progress import progress

RunOption = Annotated[
    Path, typer.Argument(metavar="RUN_DIR", help="A folder that `tilesim run --out` has written.", parser=given_path)
]


def command(
    folder: RunOption,
    how: PictureOptions,
    out: Annotated[
        Path | None, path_option("FILE", "The page; RUN_DIR/report.html if not given.", "-o", "--out")
    ] = None,
    png: Annotated[
        bool,
        typer.Option("--png", help="Draw the pictures into RUN_DIR/figures."),
    ] = False,
    what_if: Annotated[
        int,
        typer.Option(
            "--what-if",
            metavar="N",
            help="Simulate the run again with each of the N transfers that it waits for most in no time, for the page.",
            min=0,
        ),
    ] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Make one HTML page of a saved run.

    What every unit and every bus did when, and where the cycles went. The page needs nothing
    else, not even a connection. Record the run with --trace to see its timeline.
    """
    from tilesim.report.api import save_figures, save_report
    from tilesim.report.document import load_run
    from tilesim.report.figures.save import must_have_matplotlib
    from tilesim.report.transfers import simulated

    path, pictures = out or folder / PAGE, how.png_dir or (folder / FIGURES if png else None)
    faults = faults_of(lambda: must_be_free(path, files_of_run(folder), "of the run itself"))
    faults += how.unmeant(pictures, "--png or --png-dir")
    if pictures is not None:
        faults += faults_of(lambda: must_be_folder(pictures), must_have_matplotlib)
    with progress(f"reading {folder}", quiet) as say:
        run = told_with(faults, lambda: load_run(folder))
        if what_if:
            run = simulated(run, what_if, say)
        say(f"writing {path}")
        save_report(run, path)
        if pictures is not None:  # at last, as they take longest
            say(f"drawing into {pictures}")
            drawn = save_figures(run, pictures, how.columns, how.pdf)
    if not quiet:
        tell(*([f"{len(drawn)} pictures in {pictures}"] if pictures is not None else []), f"written to {path}")
    if open_:
        typer.launch(str(path))
