"""The options that say how a command answers."""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print results and errors only: no progress, and no notes.")
]
