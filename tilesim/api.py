"""The public calls: four nouns (network, topology, program, run) and two verbs (compile, simulate)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tilesim.batching import Plan, Schedule, graph_of, plan
from tilesim.config import load, peek
from tilesim.errors import ArrayError, CapacityError, ConfigError, InputError, ModelError, ProgramError
from tilesim.machines import MACHINES, Machine, Options, Program, SystolicTopology, Topology
from tilesim.network.graph import Network
from tilesim.network.obstacles import Support, is_no_model, obstacles_of, of_chip
from tilesim.network.readers import read
from tilesim.printable import unknown
from tilesim.run import Look, Run, unwatched
from tilesim.saving import undisturbed
from tilesim.shipped import shipped
from tilesim.sim.trace.recorder import Recording
from tilesim.systolic.compiler.choice import fastest
from tilesim.systolic.compiler.compile import room_for
from tilesim.tiled.caching.policy import CACHE, CachePolicy
from tilesim.tiled.partition_policy import CHOICES, SPATIAL, PartitionPolicy

Kind = Literal["topologies", "workloads"]
Inputs: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]] | Mapping[str, NDArray[Any]]

SUFFIXES: Mapping[Kind, tuple[str, ...]] = {"topologies": (".yaml",), "workloads": (".onnx", ".tflite", ".yaml")}
SINGULAR: Mapping[Kind, str] = {"topologies": "topology", "workloads": "workload"}


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
    machine = MACHINES[peek(path, "machine", tuple(MACHINES))]
    found: Topology = load(path, machine.schema, _spelt_out(overrides or {}))  # type: ignore[assignment]
    return found


def load_program(path: Path | str) -> Program:
    """Read a saved program: a .tasm, with its data in the .npz beside it, or a .tbin.

    Raises:
        ProgramError: faults in it, all at once.
    """
    with undisturbed(Path(path).parent):
        machine = next(each for each in [*MACHINES.values()][::-1] if each.tells(Path(path)))
        program: Program = machine.load(Path(path))
    if found := program.once(machine.faults):
        raise ProgramError(f"{path}: {fault}" for fault in found)
    return program


def save_program(program: Program, path: Path | str) -> None:
    """Write a program to ``path``: one that ends in .tbin gets all of it, in binary.

    Any other gets its text, and the .npz beside it its data; only a name that ends in .tasm is taken for a program's.

    Raises:
        ProgramError: the files cannot be written.
    """
    _machine(program.topology).save(program, Path(path).parent, Path(path).name)


def compile(  # noqa: A001  (always used with its module)
    network: Network,
    topology: Topology,
    partition: PartitionPolicy | str = SPATIAL,
    say: Callable[[str], None] = _silent,
    batches: Plan | None = None,
) -> Program:
    """Lower a network to the instructions of a chip.

    Args:
        network, topology: what to run on what.
        partition: how layers are spread over the tiles: ``spatial``, by rows and columns of their maps; ``channel``, by
            output channels, where that makes sense; ``auto``, whichever takes fewer simulated cycles. What the network
            says of a layer, or a policy, counts more.
        say: is told what is being tried.
        batches: of which inferences a systolic machine makes batches, and in what order it runs them; if not given, the
            program is for one inference; see :func:`plan_batches`.

    Raises:
        CapacityError: the network does not fit the chip.
        InputError: a partition that there is not, or options that mean nothing to this kind of chip.
        TypeError: something else than a network and a topology.
    """
    _must_be(network, Network, "load_network")
    _must_be(topology, Topology, "load_topology")
    program: Program
    [program] = _machine(topology).compile([network], topology, Options(_policy(partition), CACHE, batches), say)
    return program


def compile_networks(
    networks: Sequence[Network],
    topology: Topology,
    policy: CachePolicy = CACHE,
    partition: PartitionPolicy | str = SPATIAL,
    say: Callable[[str], None] = _silent,
    batches: Plan | None = None,
) -> list[Program]:
    """Lower networks that share a chip: their parameters lie side by side in the tiles, as far as there is room.

    ``policy`` says whether parameters stay in the tiles at all, and whose get room first; ``partition``, ``say`` and
    ``batches`` are as in :func:`compile`; ``auto`` tries each network alone.

    Raises:
        CapacityError: a network does not fit the chip.
        InputError: a partition that there is not, or options that mean nothing to this kind of chip.
        TypeError: something else than networks and a topology.
    """
    for network in networks:
        _must_be(network, Network, "load_network")
    _must_be(topology, Topology, "load_topology")
    return _machine(topology).compile(networks, topology, Options(_policy(partition), policy, batches), say)


def support(model: Path | str, topology: Topology | None = None, say: Callable[[str], None] = _silent) -> Support:
    """Everything that stands between a model and a run, at once: on ``topology``, if one is given.

    Args:
        model: a .tflite, .onnx or .yaml file, or a shipped workload's name.
        topology: the chip; without, the model is only read.
        say: is told what is being tried.

    Raises:
        InputError: no such file or chip, or one that is no model.
        TypeError: something else than a topology.
    """
    try:
        network = load_network(model)
    except ModelError as error:
        if is_no_model(error):
            raise
        return Support(None, None, obstacles_of(error))
    if topology is None:
        return Support(network, None, ())
    try:
        compile(network, topology, say=say)
    except InputError as error:
        return Support(network, False, (of_chip(topology.name, error.faults),))
    return Support(network, True, ())


def plan_batches(
    network: Network,
    topology: Topology,
    inferences: int,
    schedule: Schedule | Literal["fastest"] = "demand",
    weight_reuse: Fraction | int | None = None,
    power_of_two: bool = False,
    fit: bool = False,
    say: Callable[[str], None] = _silent,
) -> Plan:
    """Put inferences together into batches for a systolic machine: a plan for :func:`compile`.

    Args:
        network, topology: what to run on what.
        inferences: how many there are in all.
        schedule: ``none``, one inference after the other; ``demand``, each layer as much as the next one asks for;
            ``lcm``, each layer the least common multiple of all batches; ``fastest``, the one of these that takes the
            fewest cycles, which ``predicted`` of the plan then has of all that fit.
        weight_reuse: how often a weight is to be used; if not given, as often as the chip's weight memory asks for.
        power_of_two: round batches up to powers of two.
        fit: make batches smaller until the unified buffer holds what waits in it.
        say: is told what is being tried.

    Raises:
        CapacityError: the unified buffer is too small.
        InputError: a chip without a weight memory, a network without weights, a schedule that there is not, or numbers
            below 1.
        TypeError: something else than a network and a topology.
    """
    _must_be(network, Network, "load_network")
    _must_be(topology, Topology, "load_topology")
    if not isinstance(topology, SystolicTopology):
        raise InputError(f"{topology.name}: must be a systolic machine to run batches, such as tpu-v1")
    value = topology.weight_tile_cycles if weight_reuse is None else Fraction(weight_reuse)
    room, graph = room_for(network, topology), graph_of(network)

    def made(schedule: Schedule) -> Plan:
        return plan(
            graph, value, inferences, schedule, power_of_two,
            capacity_bytes=room.capacity_bytes, fit=fit, at_once=room.at_once,
        )  # fmt: skip

    if schedule != "fastest":
        return made(schedule)
    plans = [made("none")]  # if one inference does not fit, nothing does
    for each in ("demand", "lcm"):
        with suppress(CapacityError):
            plans.append(made(each))
    return fastest(network, topology, plans, say)


def _machine(topology: Topology) -> Machine:
    return MACHINES[topology.machine]


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
    masters: str = "meet",
) -> Run:
    """Run one inference of a program on its chip.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each input, of the model's dtype and shape; a first axis k times as long holds k samples,
            which all go through the same run. A mapping holds them as ``in0``, ``in1``, ...; a program of one input
            also takes the array alone.
        keep_tensors: also read every tensor of the model out of the tiles' memories, into ``run.tensors``.
        trace: also record what every unit does, into ``run.trace``; or as much of it as the recording says.
        rules: what becomes of transfers that meet on the ring, and of accesses that nothing orders. ``strict``: the
            first two transfers end the run, and such a program is refused; ``observe``: the chip does what it then
            does, and ``run.statistics["findings"]`` says what came of it.
        not_before: cycles before which instructions must not begin, by label (``{"send": 100}``), or by label and tile
            (``{"send@2": 100}``), counted from the start of the load or run program.
        on_start: hears, when the chip begins, whom to ask how far it is: from another thread, as often as one likes. If
            the chip has to begin again, it hears so again.
        masters: what two masters of the ring must not do, for the ``rules``: ``meet``; be under way at once past a node
            in common (``disjoint``); or be under way at once at all (``single``).

    Raises:
        InputError: inputs that do not fit, an instruction that the chip could not run, or a label that there is not.
        RunError: the run can't go on: it hangs, or transfers met; its ``findings`` say what was noticed.
        TypeError: something else than a program and arrays.
    """
    _must_be(program, Program, "compile or load_program")
    arrays = _listed(inputs, len(program.inputs))
    return _machine(program.topology).simulate(
        program,
        arrays,
        keep_tensors=keep_tensors,
        trace=trace,
        rules=rules,
        not_before=not_before,
        on_start=on_start,
        masters=masters,
    )


def simulate_requests(
    programs: Sequence[Program],
    inputs: Sequence[Inputs],
    order: Sequence[int] | None = None,
    trace: bool | Recording = False,
    rules: str = "strict",
    not_before: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] = unwatched,
    masters: str = "meet",
) -> Run:
    """Run inferences of programs, one after the other, on the one chip that they share.

    Args:
        programs: what to run; those that :func:`compile_networks` made together keep each other's parameters.
        inputs: for each inference what :func:`simulate` takes.
        order: for each inference the number of its program; if not given, they take turns.
        trace, rules, not_before, on_start, masters: as in :func:`simulate`; labels begin with ``request2.``, that of
            inference 2.

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
    return _machine(programs[0].topology).simulate_requests(
        programs, turns, arrays, trace=trace, rules=rules, not_before=not_before, on_start=on_start, masters=masters
    )


def _must_be(value: object, kind: Any, maker: str) -> None:
    """``kind`` is a class, or several of one name."""
    if not isinstance(value, kind):
        name = (get_args(kind) or (kind,))[0].__name__
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
