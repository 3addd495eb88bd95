"""``tilesim batch``: how many inferences each layer of a model should take at once, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Any, TypeVar

import typer

from tilesim import api
from tilesim.batching import SCHEDULES, Graph, Plan, Room, batch_size, graph_of, plan
from tilesim.batching.document import layers_document, plan_document
from tilesim.batching.schedules import Schedule
from tilesim.cli.options.batching import FitOption, PowerOfTwoOption, WeightReuseOption, advised
from tilesim.cli.options.batching import weight_reuse as given_reuse
from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides
from tilesim.cli.output import tell_json
from tilesim.cli.progress import progress
from tilesim.errors import CapacityError, InputError
from tilesim.machines.machine import PlansBatches, WeightSupply
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.printable import unknown
from tilesim.registry import machine_of, refusal

MOST_INFERENCES = 4096
ALL = "all"
CHOICES = (*SCHEDULES, ALL)

Read = TypeVar("Read")


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A .tflite, .onnx or .yaml file, or a workload's name.")
    ],
    topology: TopologyOption = None,
    set_: SetOption = None,
    inputs: Annotated[
        int | None,
        typer.Option(
            "--inputs",
            min=1,
            max=MOST_INFERENCES,
            metavar="N",
            help="Inferences in all; as many as the largest batch if not given.",
            show_default=False,
        ),
    ] = None,
    weight_reuse: WeightReuseOption = "",
    power_of_two: PowerOfTwoOption = False,
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="|".join(CHOICES),
            help="In what order layers run: one inference after the other; each layer as much as the next one asks "
            "for; each the least common multiple of all batches; or all of these, side by side.",
        ),
    ] = ALL,
    fit: FitOption = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Plan batches of inferences for a chip with a weight memory.

    How many inferences each layer takes at once so that its weights are worth their fetch, in what order layers run,
    and what that costs: weights that are fetched, and bytes that wait in the unified buffer.
    """
    with progress(f"reading {model}"):
        network, chip, value = _read(model, one_chip(topology), overrides(set_), weight_reuse, schedule)
        machine = _batching(chip)
        supply = machine.weight_supply(chip)
        graph, room = graph_of(network), machine.room(network, chip)
        used = value or supply.tile_cycles
        largest = max((batch_size(used, layer.reuse, power_of_two) for layer in graph.layers), default=1)
        count = inputs or min(largest, MOST_INFERENCES)
        plans = _plans(graph, room, used, count, schedule, power_of_two, fit)
    document = {
        "network": graph.name,
        "topology": chip.name,
        "inferences": count,
        "power_of_two": power_of_two,
        "room_bytes": room.capacity_bytes,
        "weight_reuse": _reuse(supply, value),
        "layers": layers_document(graph, used),
        "schedules": [plan_document(graph, each, room.capacity_bytes) for each in plans],
    }
    if json_:
        tell_json(document)
        return
    from tilesim.report.batching import batch_summary
    from tilesim.report.terminal import show

    show(batch_summary(document))


def _plans(
    graph: Graph, room: Room, value: Fraction, count: int, schedule: str, power_of_two: bool, fit: bool
) -> list[Plan]:
    """Those that are asked for; one alone must fit, several are compared.

    Raises:
        InputError: a network without weights.
        CapacityError: the unified buffer is too small.
    """
    wanted: Sequence[Schedule] = [each for each in SCHEDULES if schedule in {each, ALL}]
    most = room.capacity_bytes if fit or schedule != ALL else None
    try:
        return [
            plan(graph, value, count, each, power_of_two, capacity_bytes=most, fit=fit, at_once=room.at_once)
            for each in wanted
        ]
    except CapacityError as error:
        raise advised(error, fit or schedule == "none") from None


def _read(
    model: str, topology: str, changes: dict[str, object], weight_reuse: str, schedule: str
) -> tuple[Network, Topology, Fraction | None]:
    """What the words of the command line stand for.

    Raises:
        InputError: faults in any of them, all at once.
    """
    faults = [] if schedule in CHOICES else [f"--schedule {unknown(schedule, CHOICES, 'a schedule')}"]
    network = _tried(faults, lambda: api.load_network(model))
    chip = _tried(faults, lambda: _chip(topology, changes))
    value = _tried(faults, lambda: given_reuse(weight_reuse))
    if faults or network is None or chip is None:
        raise InputError(faults)
    return network, chip, value


def _tried(faults: list[str], read: Callable[[], Read]) -> Read | None:
    """What ``read`` reads; or nothing, and its faults are kept."""
    try:
        return read()
    except InputError as error:
        faults += error.faults
        return None


def _chip(topology: str, changes: dict[str, object]) -> Topology:
    if not topology:
        raise InputError("--topology must name a chip with a weight memory; `tilesim topologies` lists all chips")
    chip = api.load_topology(topology, changes)
    _batching(chip)
    return chip


def _batching(chip: Topology) -> PlansBatches[Any, Any]:
    machine = machine_of(chip)
    if not isinstance(machine, PlansBatches):
        raise refusal(chip, PlansBatches)
    return machine


def _reuse(supply: WeightSupply, given: Fraction | None) -> dict[str, Any]:
    """The weight reuse value and what it comes from."""
    own = supply.tile_cycles
    return {
        "value": float(own if given is None else given),
        "given": given is not None,
        "chip_value": float(own),
        **{key: value for key, value in asdict(supply).items() if key != "tile_cycles"},
    }
