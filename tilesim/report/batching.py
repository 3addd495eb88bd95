"""Batches and schedules, as text that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tilesim.batching.document import BatchingDocument, PlanDocument, WeightReuse
from tilesim.printable import printable
from tilesim.report import tables
from tilesim.report.words import ending, short_name
from tilesim.units import format_bytes, format_hertz

NAME_WIDTH = 30
"""Columns for the name of a layer, so that a line fits 80."""
LONGEST_ORDER = 300
"""Characters of an order of layers."""
LONGEST_BLOCK = 64
"""Layers of what repeats itself in an order; longer repetitions are not looked for."""


def batch_summary(document: BatchingDocument) -> Group:
    """The document of ``tilesim batch`` in words and tables."""
    title = Text.assemble(
        (printable(document["network"]), "bold"),
        " on ",
        (printable(document["topology"]), "bold"),
        f", {_inferences(document['inferences'])}",
    )
    return Group(
        title,
        "",
        Text(_reuse_words(document["weight_reuse"])),
        Text(_batch_words(document["power_of_two"])),
        "",
        _layer_table(document),
        "",
        _schedule_table(document),
        "",
        _orders(document["schedules"]),
    )


def _reuse_words(reuse: WeightReuse) -> str:
    """The weight reuse value, and where it comes from."""
    memory, chip = format_hertz(reuse["memory_clock_hz"]), format_hertz(reuse["clock_hz"])
    why = (
        f"{reuse['rows']} x {reuse['columns']} cells hold {reuse['tile_bytes']:,} bytes of weights; their memory "
        f"brings {reuse['channels']} x {reuse['channel_bytes']} bytes at {memory}, so they take "
        f"{reuse['chip_value']:,.2f} cycles at {chip}"
    )
    if reuse["given"]:
        return f"A weight is to be used {reuse['value']:,.6g} times, as asked for. (Of this chip: {why}.)"
    return f"A weight must be used {reuse['value']:,.2f} times while the next ones come: {why}."


def _batch_words(power_of_two: bool) -> str:
    rounded = "rounded up to a power of two" if power_of_two else "rounded up"
    return f"A layer's batch is that number over the uses in one inference, {rounded}."


def _layer_table(document: BatchingDocument) -> Table:
    of_layers = tables.right("weights", "uses", "batch", "to 2^n")
    table = tables.table(*tables.right(""), *tables.left("layer with weights"), *of_layers)
    for layer in document["layers"]:
        table.add_row(
            str(layer["layer"]),
            Text(ending(short_name(layer["name"]), NAME_WIDTH)),
            format_bytes(layer["weight_bytes"]),
            f"{layer['reuse']:,}",
            f"{layer['batch']:,}",
            f"{layer['batch_power_of_two']:,}",
        )
    return table


def _schedule_table(document: BatchingDocument) -> Table:
    of_schedules = tables.right("batches", "weight loads", "weights", "peak buffer")
    room = tables.folded(f"fits {format_bytes(document['room_bytes'])}")
    table = tables.table(*tables.left("schedule"), *of_schedules, *room)
    for plan in document["schedules"]:
        table.add_row(
            plan["schedule"],
            f"{len(plan['steps']):,}",
            f"{plan['weight_set_loads']:,}",
            format_bytes(plan["weight_bytes"]),
            format_bytes(plan["peak_buffer_bytes"]),
            f"with {plan['fitted']}" if plan["fitted"] else "yes" if plan["fits"] else "no",
        )
    return table


def _orders(plans: Sequence[PlanDocument]) -> Table:
    table = tables.table(*tables.left("schedule"), *tables.folded("order of layers"))
    for plan in plans:
        words = spelt(folded([step["layer"] for step in plan["steps"]]))
        table.add_row(plan["schedule"], words if len(words) <= LONGEST_ORDER else f"{words[:LONGEST_ORDER]}...")
    return table


def _inferences(count: int) -> str:
    return "one inference" if count == 1 else f"{count:,} inferences"


# ---- long orders that repeat themselves, short: ``1, 1, 2, 1, 1, 2, 3`` as ``2 x (2 x 1, 2), 3``

Member: TypeAlias = "int | Repeated"


@dataclass(frozen=True)
class Repeated:
    """Members that come several times."""

    times: int
    members: tuple[Member, ...]


def folded(members: Sequence[Member]) -> tuple[Member, ...]:
    """What repeats itself once, the shortest repetitions first."""
    kept, size = tuple(members), 1
    while size <= min(LONGEST_BLOCK, len(kept) // 2):
        shorter = _folded_by(kept, size)
        size = size + 1 if len(shorter) == len(kept) else 1
        kept = shorter
    return kept


def _folded_by(members: tuple[Member, ...], size: int) -> tuple[Member, ...]:
    kept: list[Member] = []
    place = 0
    while place < len(members):
        times = _times(members, place, size)
        kept.append(Repeated(times, members[place : place + size]) if times > 1 else members[place])
        place += times * size if times > 1 else 1
    return tuple(kept)


def _times(members: tuple[Member, ...], place: int, size: int) -> int:
    """How often in a row the ``size`` members from ``place`` on come."""
    after = place + size
    if after >= len(members) or members[after] != members[place]:  # as mostly
        return 1
    block = members[place:after]
    while members[after : after + size] == block:
        after += size
    return (after - place) // size


def spelt(members: Sequence[Member]) -> str:
    """Members with commas between them."""
    return ", ".join(_spelt(member) for member in members)


def _spelt(member: Member) -> str:
    if isinstance(member, int):
        return str(member)
    inner = spelt(member.members)
    return f"{member.times} x {inner}" if len(member.members) == 1 else f"{member.times} x ({inner})"
