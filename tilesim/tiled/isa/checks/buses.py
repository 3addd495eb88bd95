"""Static checks of what passes between tiles: on the ring, over the mesh, whose ends move the same words, and on the
instruction bus.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tilesim.machines.program import where
from tilesim.tiled.isa.checks.values import MOST_WORDS, nest_faults
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.accesses import mesh_words
from tilesim.tiled.isa.model.fields import FLAGS_OF_B, OPPOSITE, ByteFilter, Channel, MemoryName, Side, neighbour
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Grid, Topology


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


End = tuple[int, Side]
"""A tile that receives, and from which side."""


def mesh_faults(op: isa.MeshIn | isa.MeshOut, topology: Topology) -> Iterator[str]:
    """Tiles without a neighbour to exchange words with (a fill needs none), and memory that the mesh does not reach."""
    if isinstance(op, isa.MeshOut) or op.fill is None:
        what = "side must be where every tile has a neighbour" + (", or fill be given" * isinstance(op, isa.MeshIn))
        for tile in range(topology.tiles):
            if op.tiles >> tile & 1 and neighbour(topology.grid, tile, op.side) is None:
                yield f"{what}; tile {tile} has none to the {op.side}"
    destination = MemoryName(topology.mesh.destination)
    if isinstance(op, isa.MeshOut) and op.memory not in (MemoryName.NARROW, destination):
        yield f"memory must be narrow on a chip whose mesh.destination is {destination}, not {op.memory}"


def pair_faults(program: Program) -> Iterator[str]:
    """On each link the k-th transfer that is sent must be as long as the k-th that is received.

    One without a partner is no fault: the run explains it.
    """
    for section, ops in (("load", program.load), ("run", program.run)):
        moving = {place: op for place, op in enumerate(ops) if isinstance(op, isa.MeshOut | isa.MeshIn)}
        words = {place: _words(op, program.topology) for place, op in moving.items()}
        for (out, into), tile in _pairs(ops, program.topology.grid).items():
            sent, taken = words[out], words[into]
            if sent and taken and sent != taken:
                yield (
                    f"{where(section, out, ops[out])}: read must have the {taken} words that "
                    f"{where(section, into, ops[into])} takes in tile {tile}, not {sent}"
                )


def _words(op: isa.MeshOut | isa.MeshIn, topology: Topology) -> int | None:
    """The words that ``op`` moves; None if its loops are unsound, which is a fault of its own."""
    return None if any(nest_faults(op, topology)) else mesh_words(op, topology)


def _pairs(ops: Sequence[isa.Instruction], grid: Grid) -> dict[tuple[int, int], int]:
    """The places of a sending and a receiving instruction that meet on a link, and the first tile that receives."""
    sent: dict[End, list[int]] = defaultdict(list)
    received: dict[End, list[int]] = defaultdict(list)
    for place, op in enumerate(ops):
        for tile in range(grid.rows * grid.columns):
            if isinstance(op, isa.MeshOut) and op.tiles >> tile & 1:
                to = neighbour(grid, tile, op.side)
                if to is not None:
                    sent[to, OPPOSITE[op.side]].append(place)
            elif isinstance(op, isa.MeshIn) and op.fill is None and op.tiles >> tile & 1:
                received[tile, op.side].append(place)
    pairs: dict[tuple[int, int], int] = {}
    for (tile, side), outs in sent.items():
        for pair in zip(outs, received[tile, side], strict=False):
            pairs.setdefault(pair, tile)
    return pairs
