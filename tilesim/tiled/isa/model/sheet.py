"""The instruction sheet: a row an instruction, with all that is a fact of it and no algorithm.

Who carries it out and which flag that raises, what it reads and writes through which port at which rank, and how far
its header reaches. Checks, rules, units and statistics read it; :mod:`tilesim.tiled.stepped` has its own on purpose.

Source: the words are those of the Edge TPU's encoding as reported by others; the ranks are an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tilesim.tiled.isa.model.fields import Channel, Engine, Flag, MemoryName, Side

NARROW, WIDE = MemoryName.NARROW, MemoryName.WIDE


class PortName(StrEnum):
    """A port of a tile's memories: narrow memory has one to read and one to write, wide memory one for both."""

    WIDE = "wide"
    NARROW_READ = "narrow_read"
    NARROW_WRITE = "narrow_write"


class Goes(StrEnum):
    """Who takes an instruction."""

    ENGINE = "engine"
    """An engine of each of its tiles, through that one's buffer."""
    STOP = "stop"
    """The stop of each of its tiles on the instruction bus, which obeys it there and then."""
    CLASSIFIER = "classifier"
    CONTROLLER = "controller"
    """Nobody on the instruction bus."""


@dataclass(frozen=True)
class Operand:
    """What an instruction addresses by one of its fields.

    ``rank`` is its place among those who want the port of ``memory``, 0 first. An address and each step of it is a
    multiple of the ``unit``, an access ``size`` big (the unit, if none is given): words for what
    :func:`~tilesim.tiled.isa.model.accesses.sizes_bytes` knows. ``loops``: the most loops of its traversal, if it has
    one of its own; of a tensorop's, ``once_a_group``: whether it moves once a result group, ``in_one_row``: whether one
    access to wide memory must deliver it (of the parameters what each of the registers gets, or each whole row of a
    table; of weights of 16 bits one in each of their passes).
    """

    field: str
    memory: MemoryName
    rank: int
    unit: str
    size: str = ""
    writes: bool = False
    loops: int = 0
    once_a_group: bool = False
    in_one_row: bool = False

    @property
    def access(self) -> str:
        """What an access is called among actions that cost energy."""
        return f"{self.memory}_{'write' if self.writes else 'read'}"

    @property
    def port(self) -> PortName:
        return PortName.WIDE if self.memory is WIDE else PortName(self.access)


def _rows(field: str, rank: int) -> Operand:
    """Wide rows of a DMA. Source: for the loops, the Edge TPU's instructions as reported by others."""
    return Operand(field, WIDE, rank, "row", loops=4, writes=field == "write")


def _words(field: str, rank: int, loops: int) -> Operand:
    return Operand(field, NARROW, rank, "word", loops=loops, writes=field == "write")


@dataclass(frozen=True)
class SheetRow:
    """What is so of all instructions of one kind.

    ``words``: of its encoding. ``raises``: the engines that carry it out, and the flag of each one's write port.
    ``counts``: the field with the nest whose loops its ``produce`` and its loop watchers name, that of wide rows if
    there are any. ``bus``: on which the bytes that it moves have come, or leave. ``operands``: what it addresses; a
    field with two memories has one or the other, as the topology or the instruction says.
    """

    words: int
    goes: Goes = Goes.ENGINE
    raises: Mapping[Engine, Flag] = field(default_factory=dict)
    counts: str = ""
    bus: str = ""
    operands: tuple[Operand, ...] = ()

    @cached_property
    def engine(self) -> Engine:
        """The first of the engines, if not the only one."""
        return next(iter(self.raises))

    @property
    def copies(self) -> bool:
        """Whether it moves bytes between the memories of a tile."""
        return {operand.field for operand in self.operands} == {"read", "write"}


MESH_IN = {side: Engine(f"mesh_in_{side}") for side in Side}
MESH_OUT = {side: Engine(f"mesh_out_{side}") for side in Side}
"""The mesh engines at each side."""
CONSUMERS = {Channel.A: Engine.RING_CONSUMER, Channel.B: Engine.RING_CONSUMER_B}
"""The ring consumer of each channel."""

SHEET: Mapping[str, SheetRow] = {
    "tensorop": SheetRow(
        words=17,
        raises={Engine.TENSOR: Flag.AVDATA},  # with sums_out: partial_sums
        counts="nest",
        operands=(
            Operand("input", NARROW, rank=2, unit="operand", size="inputs"),
            Operand("input_b", NARROW, rank=2, unit="operand", size="inputs"),
            Operand("weights", WIDE, rank=8, unit="byte", size="weights", in_one_row=True),
            Operand("parameters", WIDE, rank=7, unit="lane", size="parameters", once_a_group=True, in_one_row=True),
            Operand("sums_in", WIDE, rank=7, unit="register", size="sums"),
            Operand("sums_out", WIDE, rank=6, unit="register", size="sums", writes=True, once_a_group=True),
            Operand("output", NARROW, rank=2, unit="write", size="results", writes=True, once_a_group=True),
        ),
    ),
    "ring_consume": SheetRow(
        words=4,
        raises={Engine.RING_CONSUMER: Flag.RING_READ_A, Engine.RING_CONSUMER_B: Flag.RING_READ_B},
        counts="write",
        bus="ring",
        operands=(_rows("write", rank=0),),
    ),
    "ring_produce": SheetRow(
        words=4,
        raises={Engine.RING_PRODUCER: Flag.RING_WRITE},
        counts="read",
        bus="ring",
        operands=(_rows("read", rank=1),),
    ),
    "narrow_to_wide": SheetRow(
        words=7,
        raises={Engine.NARROW_TO_WIDE: Flag.NARROW_TO_WIDE},
        counts="write",
        bus="ring",
        operands=(_words("read", rank=1, loops=6), _rows("write", rank=4)),
    ),
    "wide_to_narrow": SheetRow(
        words=7,
        raises={Engine.WIDE_TO_NARROW: Flag.WIDE_TO_NARROW},
        counts="read",
        bus="ring",
        operands=(_rows("read", rank=5), _words("write", rank=1, loops=6)),
    ),
    "mesh_in": SheetRow(
        words=6,
        raises={engine: Flag(f"mesh_{side}_in") for side, engine in MESH_IN.items()},
        counts="write",
        bus="mesh",
        operands=(_words("write", rank=0, loops=4), _rows("write", rank=2)),
    ),
    "mesh_out": SheetRow(
        words=6,
        raises={engine: Flag(f"mesh_{side}_out") for side, engine in MESH_OUT.items()},
        counts="read",
        bus="mesh",
        operands=(_words("read", rank=0, loops=4), _rows("read", rank=3)),
    ),
    "tile_fence": SheetRow(words=1, goes=Goes.STOP),
    "broadcast": SheetRow(words=1, goes=Goes.STOP),
    "record": SheetRow(words=1, goes=Goes.STOP),  # more, if it has many sub-instructions
    "classify": SheetRow(words=4, goes=Goes.CLASSIFIER),
    "infeed": SheetRow(words=0, goes=Goes.CONTROLLER),
    "outfeed": SheetRow(words=0, goes=Goes.CONTROLLER),
    "scalar_fence": SheetRow(words=0, goes=Goes.CONTROLLER),
}

FLAGS: Mapping[Engine, Flag] = {engine: flag for row in SHEET.values() for engine, flag in row.raises.items()}
"""The flag of each engine's write port."""


def _clients(port: PortName) -> Iterator[tuple[int, int, Engine]]:
    """Everybody who wants a port, engines of one rank in their own order."""
    places = {engine: place for place, engine in enumerate(Engine)}
    for row in SHEET.values():
        for operand in row.operands:
            if operand.port is port:
                yield from ((operand.rank, places[engine], engine) for engine in row.raises)


CLIENTS: Mapping[PortName, tuple[tuple[int, Engine], ...]] = {
    port: tuple((rank, engine) for rank, _, engine in sorted(set(_clients(port)))) for port in PortName
}
"""The rank and the engine of each client of a port, the one that goes first first."""

RANKS: Mapping[tuple[Engine, str, MemoryName], tuple[PortName, int]] = {
    (engine, operand.field, operand.memory): (operand.port, CLIENTS[operand.port].index((operand.rank, engine)))
    for row in SHEET.values()
    for engine in row.raises
    for operand in row.operands
}
"""The port through which an engine gets at an operand, and its rank among all of the port's clients."""
