"""The public calls: four nouns (network, topology, program, run) and two verbs (compile, simulate)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from tilesim.config import load, peek
from tilesim.errors import ConfigError
from tilesim.network.graph import Network
from tilesim.network.readers import read
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.tiled.compiler import compile_network
from tilesim.tiled.isa import storage
from tilesim.tiled.isa.program import Program
from tilesim.tiled.simulate import simulate as simulate_tiled
from tilesim.tiled.topology import Topology

Kind = Literal["topologies", "workloads"]

SUFFIXES: Mapping[Kind, tuple[str, ...]] = {"topologies": (".yaml",), "workloads": (".onnx", ".tflite", ".yaml")}
SINGULAR: Mapping[Kind, str] = {"topologies": "topology", "workloads": "workload"}


class Compile(Protocol):
    """The first verb of a machine."""

    def __call__(self, network: Network, topology: Topology) -> Program: ...


class Simulate(Protocol):
    """The second verb of a machine."""

    def __call__(
        self, program: Program, inputs: Sequence[NDArray[Any]], keep_tensors: bool = False, trace: bool = False
    ) -> Run: ...


@dataclass(frozen=True)
class Machine:
    """What a machine brings: the schema of its topologies, and the two verbs."""

    schema: type[Topology]
    compile: Compile
    simulate: Simulate


MACHINES = {"tiled": Machine(Topology, compile_network, simulate_tiled)}
"""Machines by the ``machine:`` key of a topology; the one place that picks."""


def list_topologies() -> tuple[str, ...]:
    """Names of the topologies that come with tilesim."""
    return _names("topologies")


def list_workloads() -> tuple[str, ...]:
    """Names of the workloads that come with tilesim."""
    return _names("workloads")


def load_network(path: Path | str) -> Network:
    """Read a .tflite, .onnx or .yaml network, or a shipped workload by its name.

    Raises:
        InputError: no such file or workload, or faults in it, all at once.
    """
    return read(_located(path, "workloads"))


def load_topology(name_or_path: Path | str, overrides: Mapping[str, object] | None = None) -> Topology:
    """Read a topology: a shipped one by its name, or a path (anything with ``/`` or ``.yaml``).

    ``overrides`` change keys, e.g. ``{"grid.rows": 2}``; ``{"grid": "2x4"}`` is short for rows and columns.

    Raises:
        ConfigError: no such topology, or faults in it, all at once.
    """
    path = _located(name_or_path, "topologies")
    machine = peek(path, "machine", tuple(MACHINES))
    return load(path, MACHINES[machine].schema, _spelt_out(overrides or {}))


def load_program(path: Path | str) -> Program:
    """Read a saved program (.tasm, with its data in the .npz beside it).

    Raises:
        ProgramError: faults in it, all at once.
    """
    return storage.load(Path(path))


def save_program(program: Program, path: Path | str) -> None:
    """Write a program as text to ``path``, which ends in .tasm, and its data to the .npz beside it.

    Raises:
        ProgramError: the files cannot be written.
    """
    storage.save(program, Path(path).parent, Path(path).name)


def compile(network: Network, topology: Topology) -> Program:  # noqa: A001  (always used with its module)
    """Lower a network to the instructions of a chip.

    Raises:
        CapacityError: the network does not fit the chip.
    """
    return MACHINES[topology.machine].compile(network, topology)


def simulate(program: Program, inputs: Sequence[NDArray[Any]], keep_tensors: bool = False, trace: bool = False) -> Run:
    """Run one inference of a program on its chip.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each input, of the model's dtype and shape; a first axis k times as long holds k samples,
            which all go through the same run.
        keep_tensors: also read every tensor of the model out of the tiles' memories, into ``run.tensors``.
        trace: also record what every unit does, into ``run.trace``.

    Raises:
        InputError: inputs that do not fit, or an instruction that the chip could not run.
        RunError: the run can't go on.
    """
    return MACHINES[program.topology.machine].simulate(program, inputs, keep_tensors=keep_tensors, trace=trace)


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(sorted({path.stem for path in shipped(kind).iterdir() if path.suffix in SUFFIXES[kind]}))


def _located(name_or_path: Path | str, kind: Kind) -> Path:
    text = str(name_or_path)
    if "/" in text or Path(text).suffix:
        return Path(text)
    for suffix in SUFFIXES[kind]:
        if (path := shipped(kind) / f"{text}{suffix}").is_file():
            return path
    names = _names(kind)
    near = get_close_matches(text, names, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}; a file's name has a / or an ending"
    raise ConfigError(f"{text}: there is no such {SINGULAR[kind]}; {hint}")


def _spelt_out(overrides: Mapping[str, object]) -> dict[str, object]:
    """``grid=2x4`` as ``grid.rows=2`` and ``grid.columns=4``."""
    found = dict(overrides)
    if size := re.fullmatch(r"(\d+)x(\d+)", str(found.get("grid", ""))):
        del found["grid"]
        found["grid.rows"], found["grid.columns"] = size.groups()
    return found
