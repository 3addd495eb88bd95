"""Programs of many small instructions of one kind: what an instruction costs the simulator, whatever it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tilesim
from tilesim.tiled.isa.model.fields import Loop, Nest, Reference, Side, Traversal
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, MeshIn, MeshOut, NarrowToWide, RingConsume
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

TOPOLOGY = "edge-4x4"


def repeated(kind: str, count: int) -> Program:
    """A program of ``count`` instructions of a kind of :data:`KINDS`, all in the first tile and the one below it."""
    topology = tilesim.load_topology(TOPOLOGY)
    assert isinstance(topology, Topology), "this chip has tiles"
    some = KINDS[kind](topology)
    return Program(f"{count} {kind}", topology, load=(), run=some * (count // len(some)))


def _copies(topology: Topology) -> tuple[Instruction, ...]:
    """A row of words to the wide memory."""
    word, row = topology.narrow_memory.word_bytes, topology.wide_memory.row_bytes
    return (NarrowToWide(tiles=1, read=_line(row // word, word), write=_line(1, row)),)


def _mesh(topology: Topology) -> tuple[Instruction, ...]:
    """A word to the neighbour: one instruction at each end."""
    word = topology.narrow_memory.word_bytes
    below = 1 << topology.grid.columns
    return (
        MeshIn(tiles=below, side=Side.NORTH, write=_line(1, word)),
        MeshOut(tiles=1, side=Side.SOUTH, read=_line(1, word)),
    )


def _rows(topology: Topology) -> tuple[Instruction, ...]:
    """A row of data memory to the tile: one instruction at each end."""
    row = topology.wide_memory.row_bytes
    return RingConsume(tiles=1, write=_line(1, row)), Infeed(source="data", rows=1, to=1)


def _line(count: int, stride: int) -> Traversal:
    return Traversal(Nest((Loop("r", count),)), Reference(0, (("r", stride),)))


KINDS: Mapping[str, Callable[[Topology], tuple[Instruction, ...]]] = {"copy": _copies, "mesh": _mesh, "ring": _rows}
