"""What a kind of unit can wait for, and what it can't, with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tilesim.sim.core.unit import Reason

NAMED = re.compile(r"\d+|_(?:north|east|south|west)$|\.(?:north|east|south|west)$")

CAN: dict[str, tuple[str, ...]] = {
    "tile.tensor": ("flag", "hazard", "port", "traversal", "work"),
    "tile.mac_array": ("fifo", "flag", "hazard", "port", "traversal", "work"),
    "tile.ring_consumer": ("fifo", "flag", "traversal"),
    "tile.ring_consumer_b": ("fifo", "flag", "traversal"),
    "tile.ring_producer": ("credit", "flag", "port", "traversal"),
    "tile.narrow_to_wide": ("flag", "port", "traversal"),
    "tile.wide_to_narrow": ("flag", "port", "traversal"),
    "tile.mesh_in": ("fifo", "flag", "port", "traversal"),
    "tile.mesh_out": ("credit", "flag", "port", "traversal"),
    "infeed": ("credit", "fifo", "flag", "host"),
    "outfeed": ("fifo",),
    "classifier": ("credit", "fifo"),
    "controller": ("credit", "fifo", "flag", "host"),
    "instruction_bus.stop": ("credit", "fifo", "flag"),
    "ring.link": ("credit",),
    "mesh.tile": ("credit",),
    "host.infeed": ("fifo", "host"),
    "host.outfeed": (),
}
"""By kind of unit: its track without numbers and sides. A mesh link's track names the tile that sends."""

ENGINES = tuple(kind for kind in CAN if kind.startswith("tile."))
LINKS = ("ring.link", "mesh.tile")
HOST = ("host.infeed", "host.outfeed")
FEEDS = ("infeed", "outfeed", "classifier")
ISSUE = ("controller", "instruction_bus.stop")
COPIES = ("tile.narrow_to_wide", "tile.wide_to_narrow")

NEVER: dict[str, dict[tuple[str, ...], str]] = {
    "hold": {tuple(CAN): "who runs a program may hold instructions back; nothing in a program does"},
    **{reason: {tuple(CAN): "it is the systolic machine's"} for reason in ("weights", "shift", "raw", "input")},
    "work": {
        (
            *ENGINES[2:],
            *FEEDS,
            *ISSUE,
            *LINKS,
            *HOST,
        ): "it is idle then: a lack of work is a stall of MAC arrays, and of what controls them, only",
    },
    "traversal": {(*FEEDS, *ISSUE, *LINKS, *HOST): "it has no TTU"},
    "hazard": {(*ENGINES[2:], *FEEDS, *ISSUE, *LINKS, *HOST): "only tensorops read what they write themselves"},
    "host": {
        (
            *ENGINES,
            *LINKS,
            "instruction_bus.stop",
            "host.outfeed",
            "outfeed",
            "classifier",
        ): "only infeed and controller take what the host sends, and the host always takes what it is sent",
    },
    "port": {
        ("tile.ring_consumer", "tile.ring_consumer_b"): (
            "a ring commit goes before everybody else at the wide port; but for ``AT_ODDS``"
        ),
        (*FEEDS, *ISSUE, *LINKS, *HOST): "it has no port of a tile's memories",
    },
    "credit": {
        ("tile.tensor", "tile.mac_array", *COPIES, "outfeed", *HOST): "it sends nothing over a link with credits",
        (
            "tile.ring_consumer",
            "tile.ring_consumer_b",
            "tile.mesh_in",
        ): "it only takes; a place is what its sender waits for",
    },
    "fifo": {
        ("tile.tensor", *COPIES): "its queue is full only while it writes, and so is busy, or waits for the port",
        ("tile.ring_producer", "tile.mesh_out"): "its way out is a link: it waits for credits",
        LINKS: "it waits for credits",
        ("host.outfeed",): "the host always takes what it is sent",
    },
    "flag": {
        ("outfeed", "classifier"): "its instructions have no watchers",
        (*LINKS, *HOST): "it has no instructions",
    },
}
"""By reason and kinds of units."""


CAN_ON_BOTH = {(kind, reason) for kind, reasons in CAN.items() for reason in reasons}
"""All pairs that occur; those of ``tile.ring_consumer_b`` where a tile has two ring consumers."""
AT_ODDS = {("tile.ring_consumer", "port"), ("tile.ring_consumer_b", "port")}
"""What occurs there now and then, if both have a byte filter: each is to commit a row in a cycle of its own."""


def kind_of(track: str) -> str:
    """The kind of unit that a track is of."""
    return NAMED.sub("", track.removeprefix("chip."))


def waits(units: Mapping[str, Mapping[str, int]]) -> set[tuple[str, str]]:
    """The kinds of units that have waited, and what for."""
    return {
        (kind_of(track), name.removeprefix("stall:"))
        for track, cycles in units.items()
        for name, count in cycles.items()
        if count and name.startswith("stall:")
    }


def undecided() -> set[tuple[str, str]]:
    """Kinds of units and reasons of which neither table says whether they occur, or both do."""
    can = [(kind, reason) for kind, reasons in CAN.items() for reason in reasons]
    never = [(kind, reason) for reason, kinds in NEVER.items() for each in kinds for kind in each]
    every = {(kind, reason.value) for kind in CAN for reason in Reason if reason is not Reason.INSTRUCTION}
    return {pair for pair in every | {*can, *never} if (can + never).count(pair) != 1}
