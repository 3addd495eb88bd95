"""``tilesim compare``: several saved runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.cli.faults import faults_of, told_with
from tilesim.cli.options.pictures import PictureOptions
from tilesim.cli.output import QuietOption, tell, tell_json
from tilesim.cli.paths import COMPARISON, files_of_run, given_path, must_be_folder, must_be_free, path_option
from tilesim.cli.progress import progress

if TYPE_CHECKING:
    from tilesim.report.comparison import ComparisonDocument


def command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN_DIR", help="Folders that `tilesim run --out` has written, of one network.", parser=given_path
        ),
    ],
    pictures: PictureOptions,
    out: Annotated[Path | None, path_option("FILE", f"The page; {COMPARISON} if not given.", "-o", "--out")] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON and nothing else; a page only with -o.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Compare saved runs of one network.

    Which is how fast, and where the difference to the first comes from. It prints tables, and makes a
    page that needs nothing else, not even a connection; if the first two were traced, with both on one
    timeline.
    """
    from tilesim.report.api import compare, save_comparison

    path = out or Path(COMPARISON)
    files = [file for folder in folders for file in files_of_run(folder)]
    faults = faults_of(lambda: must_be_free(path, files, "of the run itself"))
    faults += pictures.unmeant(pictures.png_dir)
    if (png_dir := pictures.png_dir) is not None:
        from tilesim.report.figures.save import must_have_matplotlib

        faults += faults_of(lambda: must_be_folder(png_dir), must_have_matplotlib)
    with progress("reading the runs", quiet) as say:
        comparison = told_with(faults, lambda: compare(folders))
        if out is not None or not json_:
            say(f"writing {path}")
            save_comparison(comparison, path, folders)
        drawn = _drawn(comparison, pictures)
    if json_:
        tell_json(comparison)
        return
    from tilesim.report.comparison_tables import comparison_tables
    from tilesim.report.terminal import show

    show(comparison_tables(comparison))
    if not quiet:
        tell("", *([f"{len(drawn)} pictures in {png_dir}"] if drawn else []), f"written to {path}")


def _drawn(comparison: ComparisonDocument, pictures: PictureOptions) -> list[Path]:
    if pictures.png_dir is None:
        return []
    from tilesim.report.figures.save import save_comparison_figures

    return save_comparison_figures(comparison, pictures.png_dir, pictures.layout)
