"""Finished runs, as a report reads them back."""

from __future__ import annotations

from pathlib import Path

from tilesim import api
from tilesim.machines.host import random_inputs
from tilesim.report.document import SavedRun


def traced(model: Path | str, topology: str) -> SavedRun:
    """One inference of a model with its trace, saved nowhere."""
    program = api.compile(api.load_network(model), api.load_topology(topology))
    run = api.simulate(program, random_inputs(program.inputs), trace=True)
    return SavedRun(Path("nowhere"), run.statistics, run.trace)
