"""What commands print, and the options that say how; tables are printed by :func:`tilesim.report.terminal.show`."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TextIO

import typer

from tilesim.printable import printable, printable_lines

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print results and errors only: no progress, and no notes.")
]


def tell(*lines: str, error: bool = False) -> None:
    """Print each of ``lines`` on standard output, so that no name in it can steer a terminal or make a line of its own.

    An ``error`` goes to standard error; if that takes none, the exit status is to say it alone.
    """
    try:
        typer.echo("\n".join(map(printable, lines)), err=error)
    except OSError:
        if not error:
            raise
        sys.stderr = _nobody()


def tell_json(document: object) -> None:
    """Print a document as JSON, in which no character is left that is not ASCII."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def tell_json_lines(documents: Iterable[object]) -> None:
    """Print documents as JSON, a line each."""
    for document in documents:
        typer.echo(json.dumps(document, allow_nan=False))


class Guarded(io.TextIOWrapper):
    """A stream that lets nothing through that would steer a terminal, whoever writes it: warnings, usage errors."""

    def __init__(self, raw: io.TextIOWrapper) -> None:
        super().__init__(raw.buffer, raw.encoding, "backslashreplace", line_buffering=True)
        self.raw = raw

    def write(self, text: str) -> int:
        super().write(printable_lines(text))
        return len(text)


def guard() -> None:
    """Have names hold anything, whatever the terminal can show, and obey none of them; what nobody reads is lost."""
    sys.stdout, sys.stderr = sys.stdout or _nobody(), sys.stderr or _nobody()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = Guarded(sys.stderr)


def _nobody() -> TextIO:
    """What takes the place of a stream that is closed."""
    return Path(os.devnull).open("w", encoding="utf-8")


def styled_error() -> TextIO:
    """Standard error, for those who write colours and movements of their own."""
    return sys.stderr.raw if isinstance(sys.stderr, Guarded) else sys.stderr
