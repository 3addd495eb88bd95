"""The nouns in files: read, written, listed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tilesim.api.arguments import checked
from tilesim.assembly import SUFFIXES
from tilesim.config import load, peek
from tilesim.errors import ConfigError, ProgramError, refuse
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.network.readers import read
from tilesim.registry import MACHINES, machine_named, machine_of, machine_of_file
from tilesim.saving import undisturbed
from tilesim.shipped import located, names


def list_topologies() -> tuple[str, ...]:
    """Names of the topologies that come with tilesim."""
    return names("topologies")


def list_workloads() -> tuple[str, ...]:
    """Names of the workloads that come with tilesim."""
    return names("workloads")


def load_network(path: Path | str) -> Network:
    """Read a .tflite, .onnx or .yaml network, or a shipped workload by its name.

    Raises:
        InputError: no such file or workload, or faults in it, all at once.
    """
    return read(located(path, "workloads"))


@checked
def load_topology(name_or_path: Path | str, overrides: Mapping[str, object] | None = None) -> Topology:
    """Read a topology: a shipped one by its name, or a path (anything with ``/`` or ``.yaml``).

    ``overrides`` change keys, e.g. ``{"grid.rows": 2}``; ``{"grid": "2x4"}`` is short for rows and columns.

    Raises:
        ConfigError: no such topology, or faults in it, all at once.
    """
    path = located(name_or_path, "topologies")
    machine = machine_named(peek(path, "machine", tuple(MACHINES)))
    try:
        topology: Topology = load(path, machine.schema, _spelt_out(overrides or {}))
    except ConfigError as error:
        raise ConfigError(
            f"{fault}; write rows and columns, such as 2x4" if " grid must be a section " in fault else fault
            for fault in error.faults
        ) from None
    return topology


@checked
def load_program(path: Path | str) -> Program:
    """Read a saved program: a .tasm, with its data in the .npz beside it, or a .tbin.

    Raises:
        ProgramError: faults in it, all at once.
    """
    with undisturbed(Path(path).parent):
        machine = machine_of_file(Path(path))
        program: Program = machine.assembly.load(Path(path))
    refuse((f"{path}: {fault}" for fault in machine.faults(program)), ProgramError)
    return program


@checked
def save_program(program: Program, path: Path | str) -> None:
    """Write a program: a .tbin gets all of it, in binary; a .tasm its text, and the .npz beside it the data.

    Raises:
        ProgramError: another ending, or files that cannot be written.
    """
    must_be_program(Path(path))
    machine_of(program.topology).assembly.save(program, Path(path).parent, Path(path).name)


def must_be_program(path: Path) -> None:
    """Raises ProgramError for a name that no program has."""
    if path.suffix not in SUFFIXES:
        endings = f"{' or '.join(SUFFIXES)}, not in {path.suffix or 'nothing'}"
        raise ProgramError(f"{path}: the file of a program must end in {endings}")


def _spelt_out(overrides: Mapping[str, object]) -> dict[str, object]:
    """``grid=2x4`` as ``grid.rows=2`` and ``grid.columns=4``."""
    spelt: dict[str, object] = {}
    for key, value in overrides.items():  # in order: what comes later holds
        size = re.fullmatch(r"(\d+)x(\d+)", str(value)) if key == "grid" else None
        if size is None:
            spelt[key] = value
        else:
            spelt["grid.rows"], spelt["grid.columns"] = size.groups()
    return spelt
