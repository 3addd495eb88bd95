"""Static checks of what passes between tiles: on the ring, over the mesh, whose ends move the same words, and on the
instruction bus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.program import where
from tilesim.tiled.isa.checks.values import MOST_WORDS, differs_soundly, nest_faults
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.accesses import mesh_words
from tilesim.tiled.isa.model.fields import (
    FLAGS_OF_B,
    OPPOSITE,
    ByteFilter,
    Channel,
    MemoryName,
    Side,
    bits,
    neighbour,
)
from tilesim.tiled.isa.model.likeness import Kinds
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.tile_sets import tile_rows
from tilesim.tiled.topology import Grid, Topology

Counts = NDArray[np.int64]


def stop_faults(instruction: isa.Instruction, tiles: int) -> Iterator[str]:
    """Stops on the ring to which the instruction must not send."""
    if isinstance(instruction, isa.Infeed) and instruction.transfers > 1:
        last = instruction.to.bit_length() + instruction.transfers - 2
        if last >= tiles:
            yield f"to must stay among the {tiles} tiles in all {instruction.transfers} transfers, not reach {last}"
    if isinstance(instruction, isa.RingProduce) and instruction.tiles & instruction.to:
        own = instruction.tiles & instruction.to
        yield f"to must not name the tile that sends ({own:#x}), as {instruction.to:#x} does"


def channel_faults(instruction: isa.Instruction, topology: Topology) -> Iterator[str]:
    """A channel of the ring, or a flag of one, that the chip doesn't have, and stops to which channel B doesn't go."""
    one = topology.ring.consumer_queues == 1
    lacks = "on a chip with one consumer queue (ring.consumer_queues)"
    channel = getattr(instruction, "channel", Channel.A)
    if channel is Channel.B and one:
        yield f"channel must be a {lacks}, not b"
    elif channel is Channel.B and getattr(instruction, "to", 0) >> topology.tiles:
        yield f"to must name tiles alone on channel b, not the classifier or the sink, as {instruction.to:#x} does"  # type: ignore[union-attr]
    if one:
        unknown = dict.fromkeys(watcher.flag for watcher in getattr(instruction, "wait", ()))
        yield from (f"wait must not name {flag} {lacks}" for flag in unknown if flag in FLAGS_OF_B)


def ring_faults(instruction: isa.Instruction, topology: Topology) -> Iterator[str]:
    """What is wrong with the rows that an instruction, whose loops are sound, takes off the ring."""
    if isinstance(instruction, isa.Classify):
        yield from _classify_faults(instruction, topology.wide_memory.row_bytes)
    if isinstance(instruction, isa.RingConsume) and instruction.filter is not None:
        if not topology.ring.byte_filter:
            yield "filter must not be given on a chip without ring.byte_filter"
        yield from _filter_faults(instruction.filter, iterations(instruction.write.nest), topology)


def _classify_faults(op: isa.Classify, row_bytes: int) -> Iterator[str]:
    if op.elements < 1 or op.elements_per_sender < 0:
        return
    per_sender = op.elements_per_sender or op.elements
    need = -(-op.elements // per_sender) * -(-per_sender // row_bytes)
    if op.rows != need:
        held = f"{op.elements} elements" + (f", {per_sender} a sender," if op.elements_per_sender else "")
        yield f"rows must be the {need} that {held} take, not {op.rows}"


def _filter_faults(kept: ByteFilter, rows: int, topology: Topology) -> Iterator[str]:
    least = {"rows": 1, "first": 0, "keep": 1, "gap": 0}
    below = [(name, value) for name, value in least.items() if getattr(kept, name) < value]
    yield from (f"filter must have {name} of at least {value}, not {getattr(kept, name)}" for name, value in below)
    if kept.rows > MOST_WORDS:
        yield f"filter must have rows of at most {MOST_WORDS}, not {kept.rows}"
    if below:
        return
    row_bytes = topology.wide_memory.row_bytes
    kept_bytes = kept.kept(kept.rows * row_bytes)
    filled = -(-kept_bytes // row_bytes)
    if filled < rows:
        yield f"write must have at most {filled} rows, for the {kept_bytes} bytes that the filter keeps, not {rows}"


def broadcast_faults(program: Program) -> Iterator[str]:
    """Every broadcast that no stop could start."""
    for section, ops in (("load", program.load), ("run", program.run)):
        for place, op in enumerate(ops):
            if isinstance(op, isa.Broadcast):
                faults = _faults(op, ops[place + 1 : place + 2], program.topology.tiles)
                yield from (f"{where(section, place, op)}: {sentence}" for sentence in faults)


def _faults(op: isa.Broadcast, following: Sequence[isa.Instruction], tiles: int) -> Iterator[str]:
    if op.tiles.bit_count() != 1:
        yield f"tiles must name the one tile that starts the broadcast, not {op.tiles:#x}"
        return
    stops = sum(isa.header_of(later, tiles) for later in following if not isinstance(later, isa.Record))
    if stops <= op.tiles or stops % op.tiles:
        what = f"{following[0].mnemonic} for the bitmap {stops:#x}" if following else "the end"
        what = "a record, which comes part by part" if following and isinstance(following[0], isa.Record) else what
        first = op.tiles.bit_length() - 1
        yield f"an instruction for tiles behind tile {first}, and none before it, must stand next, not {what}"


def mesh_faults(op: isa.MeshIn | isa.MeshOut, topology: Topology) -> Iterator[str]:
    """Tiles without a neighbour to exchange words with (a fill needs none), and memory that the mesh does not reach."""
    if isinstance(op, isa.MeshOut) or op.fill is None:
        what = "side must be where every tile has a neighbour" + (", or fill be given" * isinstance(op, isa.MeshIn))
        for tile in bits(op.tiles & _at_edge(topology.grid.rows, topology.grid.columns, op.side)):
            yield f"{what}; tile {tile} has none to the {op.side}"
    destination = MemoryName(topology.mesh.destination)
    if isinstance(op, isa.MeshOut) and op.memory not in (MemoryName.NARROW, destination):
        yield f"memory must be narrow on a chip whose mesh.destination is {destination}, not {op.memory}"


@cache
def _at_edge(rows: int, columns: int, side: Side) -> int:
    """The tiles without a neighbour there."""
    grid = Grid(rows=rows, columns=columns)
    return sum(1 << tile for tile in range(rows * columns) if neighbour(grid, tile, side) is None)


def pair_faults(program: Program) -> Iterator[str]:
    """On each link the k-th transfer that is sent must be as long as the k-th that is received.

    One without a partner is no fault: the run explains it.
    """
    known: dict[int, int] = {}
    for section, ops in (("load", program.load), ("run", program.run)):
        words = np.array([_words(op, program, known) for op in ops], np.int64)
        for out, into, tile in _pairs(ops, words, program.topology):
            yield (
                f"{where(section, out, ops[out])}: read must have the {words[into]} words that "
                f"{where(section, into, ops[into])} takes in tile {tile}, not {words[out]}"
            )


def _words(op: isa.Instruction, program: Program, known: dict[int, int]) -> int:
    """The words that ``op`` moves over the mesh, if they are not ``known`` by likeness; 0 if there are none, or its
    loops are unsound, which is a fault of its own.
    """
    if not isinstance(op, isa.MeshOut | isa.MeshIn):
        return 0
    topology = program.topology
    if not differs_soundly(op):
        return 0 if any(nest_faults(op, topology)) else mesh_words(op, topology)
    key = program.once(Kinds).number(op)
    if key not in known:
        known[key] = 0 if any(nest_faults(op, topology)) else mesh_words(op, topology)
    return known[key]


def _pairs(ops: Sequence[isa.Instruction], words: Counts, topology: Topology) -> list[tuple[int, int, int]]:
    """The places of a sending and a receiving instruction that meet on a link and move other words, and the first tile
    that receives: links as they are first sent on, each once.
    """
    unequal: dict[tuple[int, int, int, int], tuple[int, int, int]] = {}
    for side in Side:
        outs = [k for k, op in enumerate(ops) if isinstance(op, isa.MeshOut) and op.side is side]
        ins = [k for k, op in enumerate(ops) if isinstance(op, isa.MeshIn) and op.side is OPPOSITE[side]]
        ins = [k for k in ins if getattr(ops[k], "fill", None) is None]
        if not outs or not ins:
            continue
        senders, out = _by_tile(ops, outs, topology.tiles)
        beside = np.array([_beside(topology.grid, tile, side) for tile in range(topology.tiles)])
        senders, out = senders[beside[senders] >= 0], out[beside[senders] >= 0]
        tiles, into = _by_tile(ops, ins, topology.tiles)
        sent, taken = _numbered(beside[senders], len(ops)), _numbered(tiles, len(ops))
        _, a, b = np.intersect1d(sent, taken, assume_unique=True, return_indices=True)
        wrong = (words[out[a]] != words[into[b]]) & (words[out[a]] > 0) & (words[into[b]] > 0)
        for one, other in zip(a[wrong], b[wrong], strict=True):
            first = int(out[np.searchsorted(senders, senders[one])])
            order = first, int(senders[one]), int(sent[one]), list(Side).index(side)
            unequal[order] = int(out[one]), int(into[other]), int(tiles[other])
    firsts: dict[tuple[int, int], int] = {}
    for _, (place, partner, tile) in sorted(unequal.items()):
        firsts.setdefault((place, partner), tile)
    return [(place, partner, tile) for (place, partner), tile in firsts.items()]


def _by_tile(ops: Sequence[isa.Instruction], places: list[int], tiles: int) -> tuple[Counts, Counts]:
    """Each tile that some of the instructions are for, tile by tile, and the place of the instruction."""
    each, rows = np.nonzero(tile_rows((getattr(ops[place], "tiles", 0) for place in places), tiles).T)
    return each, np.array(places)[rows]


def _beside(grid: Grid, tile: int, side: Side) -> int:
    other = neighbour(grid, tile, side)
    return -1 if other is None else other


def _numbered(tiles: Counts, most: int) -> Counts:
    """Transfers by the tile that gets them, which rises, and among those to it by their number."""
    return tiles * most + np.arange(len(tiles)) - np.searchsorted(tiles, tiles)
