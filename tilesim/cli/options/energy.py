"""``--energy``: what actions cost, by a table of the user's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tilesim.cli.paths import given_path
from tilesim.energy import Table, load_table, priced
from tilesim.run import Run

EnergyOption = Annotated[
    Path | None,
    typer.Option(
        "--energy",
        metavar="FILE.yaml",
        help="Energies of actions that replace those of tilesim's own table, which is in run.json.",
        parser=given_path,
    ),
]


def table(path: Path | None) -> Table | None:
    """The table that the user gave, if any.

    Raises:
        ConfigError: faults in the file, all at once.
    """
    return None if path is None else load_table(path)


def with_energies(run: Run, of: Table | None) -> Run:
    """A run with what its actions cost by another table, if there is one."""
    energy = run.statistics.get("energy")
    if of is None or energy is None:
        return run
    return replace(run, statistics={**run.statistics, "energy": priced(energy, of)})
