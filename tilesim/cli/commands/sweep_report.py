"""``tilesim sweep report``: the page of the rows in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesim.cli.faults import Faults
from tilesim.cli.options.exploration import ConditionOptions
from tilesim.cli.options.pictures import PictureOptions
from tilesim.cli.output import QuietOption, tell
from tilesim.cli.paths import given_path, must_be_folder, must_be_free, path_option
from tilesim.cli.progress import progress
from tilesim.errors import InputError, kept, refuse
from tilesim.explore.rows.answers import narrowed
from tilesim.explore.rows.store import Store
from tilesim.printable import counted


def command(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="What `tilesim sweep --store` has written.", parser=given_path)
    ],
    conditions: ConditionOptions,
    pictures: PictureOptions,
    faults: Faults,
    out: Annotated[
        Path | None, path_option("FILE", "The page; STORE with the ending .html if not given.", "-o", "--out")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Make one HTML page of a sweep's store.

    How networks scale over tiles and what is lost on the way, maps of two keys, the Pareto front, and every point with
    its command. The page needs nothing else, not even a connection.
    """
    from tilesim.report.exploration_api import save_sweep_report
    from tilesim.report.figures.save import must_have_matplotlib

    path, drawn = out or store.parent / f"{store.stem}.html", 0
    where = conditions.conditions(faults)
    faults += pictures.unmeant(pictures.png_dir)
    with kept(faults):
        must_be_free(path, [store])
        if (png_dir := pictures.png_dir) is not None:
            must_be_folder(png_dir)
            must_have_matplotlib()
    refuse(faults)
    with progress(f"reading {store}", quiet) as say, Store(store, reading=True) as opened:
        rows, older = narrowed(opened.rows(), where), opened.older()
        if not rows:
            raise InputError(f"{store}: must have rows{' for which --where holds' if where else ''}, not none")
        say(f"writing {path}")
        save_sweep_report(rows, path)
        if png_dir is not None:
            from tilesim.report.figures.explore import save_exploration_figures

            say(f"drawing into {png_dir}")
            drawn = len(save_exploration_figures(rows, png_dir, pictures.layout))
    if not quiet:
        left_out = [f"left out: {counted(older, 'row')} that another tilesim made"] if older else []
        pictured = [f"{drawn} pictures in {png_dir}"] if png_dir is not None else []
        tell(*left_out, *pictured, f"written to {path}")
