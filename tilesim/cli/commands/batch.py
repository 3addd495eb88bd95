"""``tilesim batch``: how many inferences each layer of a model should take at once, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import typer

from tilesim.batching import MOST_INFERENCES, SCHEDULES, LayerGraph, Plan, Room, batch_size, graph_of, plan
from tilesim.batching.document import BatchingDocument, layers_document, plan_document
from tilesim.batching.schedules import Schedule
from tilesim.cli.faults import Faults
from tilesim.cli.options.batching import BatchSizeOptions, advised
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.groups import word_option
from tilesim.cli.options.models import ModelArgument
from tilesim.cli.options.running import whole_number
from tilesim.cli.output import JsonOption, QuietOption, tell_json
from tilesim.cli.programs import read_sources
from tilesim.cli.progress import progress
from tilesim.errors import CapacityError, refuse
from tilesim.machines.machine import PlansBatches
from tilesim.printable import unknown
from tilesim.registry import machine_of, refusal

ALL = "all"
CHOICES = (*SCHEDULES, ALL)


def command(
    model: ModelArgument,
    chips: ChipOptions,
    sizes: BatchSizeOptions,
    faults: Faults,
    inferences: Annotated[
        int | None,
        typer.Option(
            "--inferences",
            "-n",
            metavar="N",
            parser=whole_number,
            help="Inferences in all; as many as the largest batch if not given.",
            show_default=False,
        ),
    ] = None,
    schedule: Annotated[
        str,
        word_option(
            "|".join(CHOICES),
            "In what order layers run: one inference after the other; each layer as much as the next one asks "
            "for; each the least common multiple of all batches; or all of these, side by side.",
            "--schedule",
        ),
    ] = ALL,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Plan batches of inferences for a chip with a weight memory.

    How many inferences each layer takes at once so that its weights are worth their fetch, in what order layers run,
    and what that costs: weights that are fetched, and bytes that wait in the unified buffer.
    """
    with progress(f"reading {model}", quiet):
        sources = read_sources([model], chips, [], faults, PlansBatches, takes_programs=False)
        if schedule not in CHOICES:
            faults.append(f"--schedule {unknown(schedule, CHOICES, 'a schedule')}")
        if inferences is not None and not 1 <= inferences <= MOST_INFERENCES:
            faults.append(f"--inferences must be from 1 to {MOST_INFERENCES:,}, not {inferences:,}")
        refuse(faults)
        [named], [chip], value = sources.named, sources.chips, sizes.value()
        network, machine = named.network, machine_of(chip)
        if not isinstance(machine, PlansBatches):
            raise refusal(chip, PlansBatches)
        asked = machine.weight_tile_cycles(chip)
        graph, room = graph_of(network), machine.room(network, chip)
        used = value or asked
        largest = max((batch_size(used, layer.reuse, sizes.power_of_two) for layer in graph.layers), default=1)
        count = inferences or min(largest, MOST_INFERENCES)
        plans = _plans(graph, room, used, count, schedule, sizes)
    document: BatchingDocument = {
        "network": graph.name,
        "topology": chip.name,
        "inferences": count,
        "power_of_two": sizes.power_of_two,
        "room_bytes": room.capacity_bytes,
        "weight_reuse": {
            "value": float(used),
            "given": value is not None,
            "chip_value": float(asked),
            **machine.weight_supply(chip),
        },
        "layers": layers_document(graph, used),
        "schedules": [plan_document(graph, made, room.capacity_bytes) for made in plans],
    }
    if json_:
        tell_json(document)
        return
    from tilesim.report.batching import batch_summary
    from tilesim.report.terminal import show

    show(batch_summary(document))


def _plans(
    graph: LayerGraph, room: Room, value: Fraction, count: int, schedule: str, sizes: BatchSizeOptions
) -> list[Plan]:
    """Those that are asked for; one alone must fit, several are compared."""
    wanted: Sequence[Schedule] = [order for order in SCHEDULES if schedule in {order, ALL}]
    most = room.capacity_bytes if sizes.fit or schedule != ALL else None
    try:
        return [
            plan(
                graph, value, count, order, sizes.power_of_two, capacity_bytes=most, fit=sizes.fit, at_once=room.at_once
            )
            for order in wanted
        ]
    except CapacityError as error:
        raise advised(error, sizes.fit or schedule == "none") from None
