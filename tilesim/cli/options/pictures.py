"""The options that say what pictures are drawn for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tilesim.cli.options.groups import Options
from tilesim.cli.paths import path_option
from tilesim.report.figures.layout import WIDTHS_INCHES, FigureLayout


@dataclass(frozen=True)
class PictureOptions(Options):
    """Where pictures are drawn, how wide, and in which formats."""

    png_dir: Annotated[
        Path | None, path_option("DIR", "Draw the pictures as PNG and SVG into DIR, too; needs matplotlib.")
    ] = None
    columns: Annotated[
        int, typer.Option(metavar="1|2", help="How many of a paper's two columns the pictures are wide.")
    ] = 2
    pdf: Annotated[bool, typer.Option("--pdf", help="Draw them as PDF, too, with their fonts inside.")] = False

    @property
    def layout(self) -> FigureLayout:
        """As the pictures want it."""
        return FigureLayout(self.columns, self.pdf)

    def faults(self) -> Iterator[str]:
        if self.columns not in WIDTHS_INCHES:
            yield f"--columns must be 1 or 2, not {self.columns}"

    def unmeant(self, folder: Path | None, where: str = "--png-dir") -> Iterator[str]:
        """What is said of pictures, where there is no ``folder`` for them, which the options ``where`` name."""
        said = [*(["--columns"] if self.columns != PictureOptions.columns else []), *(["--pdf"] if self.pdf else [])]
        if said and folder is None:
            yield f"{' and '.join(said)} must be given with {where}: no picture is drawn without it"
