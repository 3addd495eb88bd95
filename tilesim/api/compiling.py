"""The first verb: networks and a chip into programs, and what is decided on the way there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Literal

from tilesim.api.arguments import checked
from tilesim.api.files import load_network
from tilesim.batching import Plan, Schedule, graph_of, plan
from tilesim.errors import CapacityError, InputError, ModelError, refuse
from tilesim.machines.machine import HasCacheDocument, PlansBatches, PlansCache, uncompilable
from tilesim.machines.options import CompileOptions, Say, silent
from tilesim.machines.policies import CACHE, CHOICES, LAYER_CHOICES, MIXED, CachePolicy, PartitionPolicy, nameless
from tilesim.machines.program import Program, host_note
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.network.obstacles import Support, is_no_model, obstacles_of, of_chip
from tilesim.printable import unknown
from tilesim.registry import machine_of, refusal


@checked
def compile(  # noqa: A001  (always used with its module)
    network: Network,
    topology: Topology,
    partition: PartitionPolicy | str = MIXED,
    say: Say | None = None,
    batches: Plan | None = None,
) -> Program:
    """Lower a network to the instructions of a chip.

    Args:
        network, topology: what to run on what.
        partition: how layers are spread over the tiles: ``mixed``, each as is best by estimate; ``spatial``, by rows
            and columns of their maps; ``channel``, by output channels, where that makes sense; ``auto``, whichever
            takes fewer simulated cycles. What the network says of a layer, or a policy, counts more.
        say: is told what is being tried.
        batches: of which inferences a systolic machine makes batches, and in what order it runs them; if not given, the
            program is for one inference; see :func:`plan_batches`.

    Raises:
        CapacityError: the network does not fit the chip.
        InputError: a partition or a layer that there is not, or options that mean nothing to this kind of chip.
    """
    [program] = compile_networks([network], topology, CACHE, partition, say, batches)
    return program


@checked
def compile_networks(
    networks: Sequence[Network],
    topology: Topology,
    policy: CachePolicy = CACHE,
    partition: PartitionPolicy | str = MIXED,
    say: Say | None = None,
    batches: Plan | None = None,
) -> list[Program]:
    """Lower ``networks`` that share a ``topology``: parameters lie side by side in its tiles, as far as there is room.

    ``policy`` says whether parameters stay in the tiles at all, and whose get room first; ``partition``, ``say`` and
    ``batches`` are as in :func:`compile`; ``auto`` tries each network alone.

    Raises:
        CapacityError: a network does not fit the chip.
        InputError: a partition, network or layer that there is not, or options that mean nothing to this kind of chip.
    """
    machine = machine_of(topology)
    options = CompileOptions(_policy(networks, partition, policy), policy, batches, say or silent)
    refuse(uncompilable(machine, networks, topology, options))
    return list(machine.compile(networks, topology, options))


@checked
def cache_plan(
    networks: Mapping[str, Network],
    topology: Topology,
    policy: CachePolicy = CACHE,
    partition: PartitionPolicy | str = MIXED,
    say: Say | None = None,
) -> HasCacheDocument:
    """Decide which parameters of ``networks``, by name, stay on the ``topology`` that they share, and where.

    ``policy``, ``partition`` and ``say`` are as in :func:`compile_networks`.

    Raises:
        CapacityError: a network does not fit the chip.
        InputError: a network or a layer that there is not, or a chip that keeps no parameters in tiles.
    """
    machine = machine_of(topology)
    if not isinstance(machine, PlansCache):
        raise refusal(topology, PlansCache)
    spread = _policy([*networks.values()], partition, policy)
    return machine.cache_plan(networks, topology, CompileOptions(spread, policy, None, say or silent))


@checked
def support(model: Path | str, topology: Topology | None = None, say: Say | None = None) -> Support:
    """Everything that stands between a model and a run, at once: on ``topology``, if one is given.

    Args:
        model: a .tflite, .onnx or .yaml file, or a shipped workload's name.
        topology: the chip; without, the model is only read.
        say: is told what is being tried.

    Raises:
        InputError: no such file or chip, or one that is no model.
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
        program = compile(network, topology, say=say)
    except InputError as error:
        return Support(network, False, (of_chip(topology.name, error.faults),))
    return Support(network, True, (), host_note(program))


@checked
def plan_batches(
    network: Network,
    topology: Topology,
    inferences: int,
    schedule: Schedule | Literal["fastest"] = "demand",
    weight_reuse: Fraction | int | None = None,
    power_of_two: bool = False,
    fit: bool = False,
    say: Say | None = None,
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
    """
    machine = machine_of(topology)
    if not isinstance(machine, PlansBatches):
        raise refusal(topology, PlansBatches)
    value = machine.weight_tile_cycles(topology) if weight_reuse is None else weight_reuse
    room, graph = machine.room(network, topology), graph_of(network)

    def made(schedule: Schedule) -> Plan:
        return plan(
            graph, value, inferences, schedule, power_of_two,
            capacity_bytes=room.capacity_bytes, fit=fit, at_once=room.at_once
        )  # fmt: skip

    if schedule != "fastest":
        return made(schedule)
    plans = [made("none")]  # if one inference does not fit, nothing does
    for other in ("demand", "lcm"):
        with suppress(CapacityError):
            plans.append(made(other))
    return machine.fastest(network, topology, plans, say or silent)


def _policy(networks: Sequence[Network], partition: PartitionPolicy | str, cache: CachePolicy) -> PartitionPolicy:
    policy = PartitionPolicy(partition) if isinstance(partition, str) else partition
    asked = [(policy.default, CHOICES), *((choice, LAYER_CHOICES) for _, _, choice in policy.layers)]
    wrong = [f"partition {unknown(word, choices)}" for word, choices in asked if word not in choices]
    refuse([*wrong, *nameless(networks, policy, cache)])
    return policy
