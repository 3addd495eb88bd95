"""The word that names a model or a program, and the program in a file."""

from __future__ import annotations

from pathlib import Path

from tilesim import api
from tilesim.assembly.files import SUFFIXES
from tilesim.errors import InputError
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology
from tilesim.report.keys import differences

MOST_DIFFERENCES = 5


def is_program(model: str) -> bool:
    """Whether the word names the file of a program, not a model."""
    return Path(model).suffix in SUFFIXES


def ready_program(path: str, topology: str, changes: dict[str, object]) -> Program:
    """The program in a file. It brings its chip: a ``topology`` must be the same one.

    Raises:
        InputError: faults in the files, or a program for another chip.
    """
    program = api.load_program(path)
    if changes and not topology:
        raise InputError(
            f"{path}: --set cannot change the chip of a program; change its .chip lines, or compile the model for "
            "another chip"
        )
    if topology:
        _must_be_same(path, program.topology, api.load_topology(topology, changes))
    return program


def _must_be_same(path: str, ours: Topology, given: Topology) -> None:
    if given == ours:
        return
    found = differences(ours, given)
    more = [f"and {len(found) - MOST_DIFFERENCES} more"] if len(found) > MOST_DIFFERENCES else []
    raise InputError(
        f"{path}: the program is compiled for another chip than --topology gives "
        f"({'; '.join([*found[:MOST_DIFFERENCES], *more])}); leave --topology out, or compile the model again"
    )
