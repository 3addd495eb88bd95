"""``tilesim report``: the page of a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.cli.options.answers import QuietOption
from tilesim.cli.output import tell
from tilesim.cli.paths import PAGE, files_of_run, given_path, must_be_free
from tilesim.cli.progress import progress
from tilesim.errors import InputError
from tilesim.saving import all_or_nothing

if TYPE_CHECKING:
    from tilesim.report.document import SavedRun

FIGURES = "figures"

RunOption = Annotated[
    Path, typer.Argument(metavar="RUN_DIR", help="A folder that `tilesim run --out` has written.", parser=given_path)
]


def command(
    folder: RunOption,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="The page; RUN_DIR/report.html if not given.", parser=given_path
        ),
    ] = None,
    png: Annotated[
        bool,
        typer.Option("--png", help="Draw the pictures as PNG and SVG, too, into RUN_DIR/figures; needs matplotlib."),
    ] = False,
    png_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw them into DIR instead.", parser=given_path)
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Make one HTML page of a saved run.

    What every unit and every bus did when, and where the cycles went. The page needs nothing else, and no network.
    Record the run with --trace to see its timeline.
    """
    from tilesim.report.document import load_run
    from tilesim.report.sections import report as page_of

    path = out or folder / PAGE
    must_be_free(path, files_of_run(folder), "of the run itself")
    with progress(f"reading {folder}", quiet) as say:
        run = load_run(folder)
        if png or png_dir:
            say(f"drawing into {png_dir or folder / FIGURES}")
            _draw(run, png_dir or folder / FIGURES, quiet)
        say(f"writing {path}")
        write_page(path, page_of(run))
    if not quiet:
        tell(f"written to {path}")
    if open_:
        typer.launch(str(path))


def _draw(run: SavedRun, folder: Path, quiet: bool) -> None:
    from tilesim.report.figures.save import save_all

    made = save_all(run, folder)
    if not quiet:
        tell(f"{len(made)} pictures in {folder}")


def write_page(path: Path, text: str) -> None:
    """Write a page whole, or not at all.

    Raises:
        InputError: it can't be written.
    """
    try:
        with all_or_nothing(path.parent) as made:
            (made / path.name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: the page cannot be written there: {error.strerror}") from None
