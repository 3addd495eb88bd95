"""The transfers that a program puts on the ring: from where, to which stops, past which."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from tilesim.arithmetic.classify import bytes_made
from tilesim.tiled.isa.model.fields import ON_B, Channel, node_name
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Instruction, RingProduce
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.topology import Topology

SOURCE = 0
"""The infeed's node; tile k is node k + 1, and bit k of a bitmap is node k + 1.

Each channel has stops of its own: those of channel B are numbered on behind those of A, so that transfers on two
channels pass no stop in common.
"""


def first_stop(channel: Channel, tiles: int) -> int:
    """The infeed's stop on a channel, from which on the others are numbered."""
    return channel.number * (tiles + 3)


class Transfer(Struct, frozen=True, eq=False, dict=True):
    """``rows`` rows of one master: a ring_produce on one tile, one of an infeed's transfers, or a classifier's reply.

    ``place`` is where the instruction stands among all of the program, ``ordinal`` which of its transfers this is.
    ``master`` is a stop of its channel; ``nodes``: how many each channel has.
    """

    number: int
    op: Instruction
    name: str
    place: int
    ordinal: int
    master: int
    to: int
    rows: int
    nodes: int

    @cached_property
    def first_stop(self) -> int:
        """The infeed's stop on its channel."""
        return self.master - self.master % self.nodes

    @property
    def channel(self) -> Channel:
        return Channel.B if self.first_stop else Channel.A

    @cached_property
    def destinations(self) -> tuple[int, ...]:
        """The nodes that take its rows, in the order in which they do."""
        nodes = (self.first_stop + bit + 1 for bit in range(self.to.bit_length()) if self.to >> bit & 1)
        return tuple(sorted(nodes, key=self.hops))

    @cached_property
    def reach(self) -> int:
        """Hops to the last destination."""
        return self.hops(self.destinations[-1])

    @cached_property
    def occupied(self) -> int:
        """The nodes that its packets pass, its master's own and its destinations included: bit k is node k."""
        bits = (1 << self.reach + 1) - 1 << self.master % self.nodes
        return ((bits | bits >> self.nodes) & (1 << self.nodes) - 1) << self.first_stop

    @cached_property
    def path(self) -> tuple[int, ...]:
        """The nodes that it passes, in order."""
        return tuple(self.first_stop + (self.master + hop) % self.nodes for hop in range(self.reach + 1))

    @property
    def tile(self) -> int | None:
        """The tile that sends it, if one does."""
        return self.master - self.first_stop - 1 if isinstance(self.op, RingProduce) else None

    def hops(self, node: int) -> int:
        """How far a node is from the master."""
        return (node - self.master) % self.nodes

    def stage(self, hops: int) -> int:
        """How many destinations a row has left that passes the stop so many hops from the master."""
        return bisect_right(self._stages, hops)

    @cached_property
    def _stages(self) -> list[int]:
        return [self.hops(node) for node in self.destinations]

    def passes(self, node: int) -> bool:
        return bool(self.occupied >> node & 1)

    def beside(self, other: Transfer) -> str:
        """Its name, with its tile if another transfer has the same one."""
        same = self.name == other.name and self.tile is not None
        return f"{self.name} of tile {self.tile}" if same else self.name

    def __str__(self) -> str:
        if isinstance(self.op, RingProduce):
            return f"{self.name} ({self.op.mnemonic} of tile {self.tile})"
        if isinstance(self.op, Infeed) and self.op.transfers > 1:
            return f"{self.name} ({self.op.mnemonic}, transfer {self.ordinal + 1} of {self.op.transfers})"
        return f"{self.name} ({self.op.mnemonic})"


def sent_by(op: Instruction, topology: Topology) -> Iterator[tuple[int, int, int]]:
    """The master, which is a stop of the channel, bitmap and rows of each transfer of an instruction."""
    tiles = topology.tiles
    if isinstance(op, Infeed):
        for ordinal in range(op.transfers):
            yield first_stop(op.channel, tiles), op.to << ordinal, op.rows
    elif isinstance(op, RingProduce):
        for tile in range(tiles):
            if op.tiles >> tile & 1:
                yield first_stop(op.channel, tiles) + tile + 1, op.to, iterations(op.read.nest)
    elif isinstance(op, Classify):
        yield (
            tiles + 1,
            1 << tiles + 1,
            -(-bytes_made(op.function, op.elements, op.scaling) // topology.wide_memory.row_bytes),
        )


def node_names(nodes: Iterable[int], tiles: int) -> str:
    """What some nodes of one channel are called, in their order, tiles in runs."""
    runs: list[list[int]] = []
    on_b = ""
    for stop in nodes:
        channel, node = divmod(stop, tiles + 3)
        on_b = ON_B if channel else ""
        both = bool(runs) and 0 < runs[-1][-1] == node - 1 < tiles
        runs = [*runs[:-1], [*runs[-1], node]] if both else [*runs, [node]]
    named = (node_name(run[0], tiles) if len(run) == 1 else f"tiles {run[0] - 1}-{run[-1] - 1}" for run in runs)
    return ", ".join(named) + on_b
