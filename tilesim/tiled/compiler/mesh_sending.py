"""The way of a set of parameters from its home tile over the mesh: from wide memory to wide memory, neighbour by
neighbour, each of which passes a row on once it has come.

Source: US 2025/0265455 [0032], [0038], [0047]; the tree of hops is an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tilesim.tiled.compiler.parameters import SetKey
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.rows import each_row, wide_rows
from tilesim.tiled.compiler.split_sending import Arrivals
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.model.fields import OPPOSITE, Flag, MemoryName, Side, Traversal, Watcher, bits, neighbour
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut
from tilesim.tiled.isa.model.sheet import FLAGS, MESH_IN, MESH_OUT
from tilesim.tiled.topology import Grid


class Hop(Struct, frozen=True):
    """From a tile to its neighbour at a side, so many hops from the first one."""

    tile: int
    side: Side
    to: int
    depth: int


def hops_to(grid: Grid, home: int, tiles: int) -> list[Hop]:
    """The hops by which all of ``tiles`` (a bitmap) are reached from ``home``, those nearer to it first; each tile is
    reached once, by as few hops as can be.
    """
    reached: dict[int, Hop] = {}
    front, depth = [home], 0
    while front:
        depth += 1
        new = [
            Hop(tile, side, to, depth)
            for side in Side  # columns before rows: all of them then branch off
            for tile in front
            if (to := neighbour(grid, tile, side)) is not None and to != home and to not in reached
        ]
        for hop in new:
            reached.setdefault(hop.to, hop)
        front = sorted({hop.to for hop in new})
    needed: set[int] = set()
    for tile in bits(tiles & ~(1 << home)):
        at = tile
        while at != home and at not in needed:
            needed.add(at)
            at = reached[at].tile
    return sorted((reached[tile] for tile in needed), key=lambda hop: (hop.depth, list(Side).index(hop.side), hop.to))


class MeshSending(Struct, frozen=True):
    """The hops of a set to the bytes from ``address`` on, which in each tile are ``free`` after some waits."""

    builder: ProgramBuilder
    layout: WideLayout
    key: SetKey
    address: int
    free: Sequence[tuple[Watcher, ...]]
    label: str

    def write(self, arrivals: Arrivals) -> None:
        """Append all instructions, hop by hop from the home tile on."""
        home = self.layout.decisions[self.key].tile
        assert home is not None
        hops = hops_to(self.builder.topology.grid, home, self.layout.streams_to(self.key))
        first: dict[int, Watcher] = {}
        for depth, side in dict.fromkeys((hop.depth, hop.side) for hop in hops):
            here = [hop for hop in hops if (hop.depth, hop.side) == (depth, side)]
            self._hop(f"{self.label}.{side}{depth}", here, home, first, arrivals)

    def _hop(self, label: str, hops: list[Hop], home: int, first: dict[int, Watcher], arrivals: Arrivals) -> None:
        """Side by side, each from another tile to its neighbour at the same side."""
        builder, side = self.builder, hops[0].side
        into, out = FLAGS[MESH_IN[OPPOSITE[side]]], FLAGS[MESH_OUT[side]]
        for hop in hops:
            first[hop.to] = self._each(into, builder.raised[hop.to, into])
        builder.write(f"{label}.receive", {hop.to: self._receive(OPPOSITE[side], self.free[hop.to]) for hop in hops})
        builder.write(f"{label}.send", {hop.tile: self._send(side, hop.tile, home, first) for hop in hops})
        for hop in hops:
            arrivals.arrived[self.key, hop.to] = builder.count(hop.to, into)
            if hop.tile != home:
                passed_on = arrivals.passed_on.setdefault(self.key, {})
                passed_on[hop.tile] = (*passed_on.get(hop.tile, ()), builder.count(hop.tile, out))

    def _receive(self, side: Side, wait: tuple[Watcher, ...]) -> MeshIn:
        rows = self._rows(self.address)
        arriving = each_row(rows) if self._count > 1 else rows
        produce = arriving.nest.loops[-1].name
        return MeshIn(tiles=0, side=side, write=arriving, wait=wait, produce=produce, layer=self.key.layer)

    def _send(self, side: Side, tile: int, home: int, first: dict[int, Watcher]) -> MeshOut:
        """The home tile has all rows; another one sends each as soon as it has come."""
        own = tile == home
        return MeshOut(
            tiles=0,
            side=side,
            memory=MemoryName.WIDE,
            read=self._rows(self.layout.stay[self.key] if own else self.address),
            wait=() if own else (first[tile],),
            produce="r",
            layer=self.key.layer,
        )

    def _each(self, flag: Flag, before: int) -> Watcher:
        """Waits for each row, of which ``flag`` counts one more than ``before``."""
        return self.builder.counted(flag, before + 1, *(("r", 1) if self._count > 1 else ()))

    def _rows(self, address: int) -> Traversal:
        return wide_rows(address, self._count, self.builder.topology.wide_memory.row_bytes)

    @property
    def _count(self) -> int:
        return self.layout.sets.rows_bytes(self.key) // self.builder.topology.wide_memory.row_bytes
