"""The public calls: four nouns (network, topology, program, run) and two verbs (compile, simulate)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.config import load, peek
from tilesim.errors import ArrayError, CapacityError, ConfigError, InputError, ProgramError
from tilesim.network.graph import Network
from tilesim.network.operators import Normalise
from tilesim.network.readers import read
from tilesim.run import Look, Run, unwatched
from tilesim.shipped import shipped
from tilesim.sim.recorder import Recording
from tilesim.tiled.caching.policy import CACHE, CachePolicy
from tilesim.tiled.isa import storage
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.program import Program
from tilesim.tiled.isa.scanner import unknown
from tilesim.tiled.partition_policy import CHOICES, SPATIAL, PartitionPolicy
from tilesim.tiled.partitioned import compile_network
from tilesim.tiled.partitioned import compile_networks as compile_networks_tiled
from tilesim.tiled.simulate import simulate as simulate_tiled
from tilesim.tiled.simulate import simulate_requests as simulate_requests_tiled
from tilesim.tiled.topology import Topology

Kind = Literal["topologies", "workloads"]
Inputs: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]] | Mapping[str, NDArray[Any]]

SUFFIXES: Mapping[Kind, tuple[str, ...]] = {"topologies": (".yaml",), "workloads": (".onnx", ".tflite", ".yaml")}
SINGULAR: Mapping[Kind, str] = {"topologies": "topology", "workloads": "workload"}


class Compile(Protocol):
    """The first verb of a machine."""

    def __call__(
        self, network: Network, topology: Topology, partition: PartitionPolicy, say: Callable[[str], None]
    ) -> Program: ...


class CompileNetworks(Protocol):
    """The first verb for several networks that share a chip."""

    def __call__(
        self,
        networks: Sequence[Network],
        topology: Topology,
        policy: CachePolicy,
        partition: PartitionPolicy,
        say: Callable[[str], None],
    ) -> list[Program]: ...


class Simulate(Protocol):
    """The second verb of a machine."""

    def __call__(
        self,
        program: Program,
        inputs: Sequence[NDArray[Any]],
        keep_tensors: bool = False,
        trace: bool | Recording = False,
        rules: str = "strict",
        not_before: Mapping[str, int] | None = None,
        on_start: Callable[[Look], None] = unwatched,
    ) -> Run: ...


class SimulateRequests(Protocol):
    """The second verb for several inferences, one after the other."""

    def __call__(
        self,
        programs: Sequence[Program],
        order: Sequence[int],
        inputs: Sequence[Sequence[NDArray[Any]]],
        trace: bool | Recording = False,
        rules: str = "strict",
        not_before: Mapping[str, int] | None = None,
        on_start: Callable[[Look], None] = unwatched,
    ) -> Run: ...


@dataclass(frozen=True)
class Machine:
    """What a machine brings: the schema of its topologies, and the two verbs, for one network and for several."""

    schema: type[Topology]
    compile: Compile
    simulate: Simulate
    compile_networks: CompileNetworks
    simulate_requests: SimulateRequests


MACHINES = {
    "tiled": Machine(Topology, compile_network, simulate_tiled, compile_networks_tiled, simulate_requests_tiled)
}
"""Machines by the ``machine:`` key of a topology; the one place that picks."""

LACKING: Mapping[str, tuple[type, ...]] = {"tiled": (Normalise,)}
"""Operators that a machine has no unit for."""


def _silent(_what: str) -> None:
    """Nobody listens."""


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
    """Read a saved program: a .tasm, with its data in the .npz beside it, or a .tbin.

    Raises:
        ProgramError: faults in it, all at once.
    """
    program = storage.load(Path(path))
    if found := program.once(faults):
        raise ProgramError(f"{path}: {fault}" for fault in found)
    return program


def save_program(program: Program, path: Path | str) -> None:
    """Write a program to ``path``: one that ends in .tbin gets all of it, in binary.

    Any other gets its text, and the .npz beside it its data; only a name that ends in .tasm is taken for a program's.

    Raises:
        ProgramError: the files cannot be written.
    """
    storage.save(program, Path(path).parent, Path(path).name)


def compile(  # noqa: A001  (always used with its module)
    network: Network,
    topology: Topology,
    partition: PartitionPolicy | str = SPATIAL,
    say: Callable[[str], None] = _silent,
) -> Program:
    """Lower a network to the instructions of a chip.

    Args:
        network, topology: what to run on what.
        partition: how layers are spread over the tiles: ``spatial``, by rows and columns of their maps; ``channel``, by
            output channels, where that makes sense; ``auto``, whichever takes fewer simulated cycles. What the network
            says of a layer, or a policy, counts more.
        say: is told what is being tried.

    Raises:
        CapacityError: the network does not fit the chip.
        InputError: a partition that there is not.
        TypeError: something else than a network and a topology.
    """
    _must_be(network, Network, "load_network")
    _must_be(topology, Topology, "load_topology")
    check_operators([network], topology.machine)
    return MACHINES[topology.machine].compile(network, topology, _policy(partition), say)


def compile_networks(
    networks: Sequence[Network],
    topology: Topology,
    policy: CachePolicy = CACHE,
    partition: PartitionPolicy | str = SPATIAL,
    say: Callable[[str], None] = _silent,
) -> list[Program]:
    """Lower networks that share a chip: their parameters lie side by side in the tiles, as far as there is room.

    ``policy`` says whether parameters stay in the tiles at all, and whose get room first; ``partition`` and ``say`` are
    as in :func:`compile`; ``auto`` tries each network alone.

    Raises:
        CapacityError: a network does not fit the chip.
        InputError: a partition that there is not.
        TypeError: something else than networks and a topology.
    """
    for network in networks:
        _must_be(network, Network, "load_network")
    _must_be(topology, Topology, "load_topology")
    check_operators(networks, topology.machine)
    return MACHINES[topology.machine].compile_networks(networks, topology, policy, _policy(partition), say)


def check_operators(networks: Sequence[Network], machine: str) -> None:
    """Refuse networks with operators that a machine has no unit for.

    Raises:
        CapacityError: all of them at once.
    """
    lacking = LACKING.get(machine, ())
    faults = [
        f"{network.name}: node {node.title} ({node.kind}) must be an operator that a {machine} machine can run, which "
        "this one is not"
        for network in networks
        for node in network.nodes
        if isinstance(node.operator, lacking)
    ]
    if faults:
        raise CapacityError(faults)


def _policy(partition: PartitionPolicy | str) -> PartitionPolicy:
    policy = PartitionPolicy(partition) if isinstance(partition, str) else partition
    choices = [policy.default, *(choice for _, _, choice in policy.layers)]
    if faults := [f"partition {unknown(word, CHOICES, 'one')}" for word in choices if word not in CHOICES]:
        raise InputError(faults)
    return policy


def simulate(
    program: Program,
    inputs: Inputs,
    keep_tensors: bool = False,
    trace: bool | Recording = False,
    rules: str = "strict",
    not_before: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] = unwatched,
) -> Run:
    """Run one inference of a program on its chip.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each input, of the model's dtype and shape; a first axis k times as long holds k samples,
            which all go through the same run. A mapping holds them as ``in0``, ``in1``, ...; a program of one input
            also takes the array alone.
        keep_tensors: also read every tensor of the model out of the tiles' memories, into ``run.tensors``.
        trace: also record what every unit does, into ``run.trace``; or as much of it as the recording says.
        rules: what becomes of transfers that meet on the ring. ``strict``: the first two end the run; ``observe``: the
            chip does what it then does, and ``run.statistics["findings"]`` says what came of it.
        not_before: cycles before which instructions must not begin, by label (``{"send": 100}``), or by label and tile
            (``{"send@2": 100}``), counted from the start of the load or run program.
        on_start: hears, when the chip begins, whom to ask how far it is: from another thread, as often as one likes. If
            the chip has to begin again, it hears so again.

    Raises:
        InputError: inputs that do not fit, an instruction that the chip could not run, or a label that there is not.
        RunError: the run can't go on: it hangs, or transfers met; its ``findings`` say what was noticed.
        TypeError: something else than a program and arrays.
    """
    _must_be(program, Program, "compile or load_program")
    arrays = _listed(inputs, len(program.inputs))
    return MACHINES[program.topology.machine].simulate(
        program, arrays, keep_tensors=keep_tensors, trace=trace, rules=rules, not_before=not_before, on_start=on_start
    )


def simulate_requests(
    programs: Sequence[Program],
    inputs: Sequence[Inputs],
    order: Sequence[int] | None = None,
    trace: bool | Recording = False,
    rules: str = "strict",
    not_before: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] = unwatched,
) -> Run:
    """Run inferences of programs, one after the other, on the one chip that they share.

    Args:
        programs: what to run; those that :func:`compile_networks` made together keep each other's parameters.
        inputs: for each inference what :func:`simulate` takes.
        order: for each inference the number of its program; if not given, they take turns.
        trace, rules, not_before, on_start: as in :func:`simulate`; labels begin with ``request2.``, that of inference
            2.

    The run's outputs are those of all inferences, one after the other; ``run.statistics["requests"]`` says whose are
    which.

    Raises:
        InputError, RunError: as in :func:`simulate`.
        TypeError: something else than programs and arrays.
    """
    for program in programs:
        _must_be(program, Program, "compile or load_program")
    turns = [k % max(1, len(programs)) for k in range(len(inputs))] if order is None else order
    if not turns or not all(0 <= number < len(programs) for number in turns):
        raise InputError(f"order must name programs from 0 to {len(programs) - 1}, at least one, not be {list(turns)}")
    arrays = [_listed(each, len(programs[k].inputs)) for k, each in zip(turns, inputs, strict=False)]
    return MACHINES[programs[0].topology.machine].simulate_requests(
        programs, turns, arrays, trace=trace, rules=rules, not_before=not_before, on_start=on_start
    )


def _must_be(value: object, kind: type, maker: str) -> None:
    if not isinstance(value, kind):
        name = kind.__name__
        raise TypeError(f"the {name.lower()} must be a {name}, which {maker} makes, not {_titled(value)}")


def _listed(inputs: Inputs, count: int) -> list[NDArray[Any]]:
    """The arrays of the ``count`` inputs, in order. Raises ArrayError, TypeError."""
    if isinstance(inputs, Mapping):
        names = [f"in{k}" for k in range(count)]
        if missing := [name for name in names if name not in inputs]:
            held = ", ".join(map(str, inputs)) or "none"
            raise ArrayError(f"inputs must hold an array {name}; they hold {held}" for name in missing)
        arrays = [inputs[name] for name in names]
    else:
        arrays = list(inputs) if isinstance(inputs, Sequence) else [inputs]
    if wrong := [array for array in arrays if not isinstance(array, np.ndarray)]:
        raise TypeError(f"each input must be a NumPy array, not {_titled(wrong[0])}")
    return arrays


def _titled(value: object) -> str:
    """A value for a sentence: its type and, if it is text, what it says."""
    return repr(value) if isinstance(value, str) else f"a {type(value).__name__}"


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(sorted({path.stem for path in shipped(kind).iterdir() if path.suffix in SUFFIXES[kind]}))


def _located(name_or_path: Path | str, kind: Kind) -> Path:
    text = str(name_or_path)
    if "/" in text or Path(text).suffix:
        return Path(text)
    for suffix in SUFFIXES[kind]:
        if (path := shipped(kind) / f"{text}{suffix}").is_file():
            return path
    raise ConfigError(f"{text}: there is no such {SINGULAR[kind]}; {_advice(text, kind)}")


def _advice(text: str, kind: Kind) -> str:
    """What may have been meant by a name that does not exist; one that differs in its numbers alone is no slip."""
    names = _names(kind)
    near = [name for name in get_close_matches(text, names, 1) if re.sub(r"\d", "", name) != re.sub(r"\d", "", text)]
    if near:
        return f"did you mean {near[0]}?"
    grid = "; --set grid=RxC gives a chip another grid of tiles" if kind == "topologies" else ""
    return f"there are {', '.join(names)}; a file's name has a / or an ending{grid}"


def _spelt_out(overrides: Mapping[str, object]) -> dict[str, object]:
    """``grid=2x4`` as ``grid.rows=2`` and ``grid.columns=4``."""
    found: dict[str, object] = {}
    for key, value in overrides.items():  # in order: what comes later holds
        size = re.fullmatch(r"(\d+)x(\d+)", str(value)) if key == "grid" else None
        if size is None:
            found[key] = value
        else:
            found["grid.rows"], found["grid.columns"] = size.groups()
    return found
