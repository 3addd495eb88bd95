"""Static checks of what instructions put on the ring and take off it."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.checks.values import MOST_WORDS
from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Instruction, RingConsume, RingProduce
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.topology import Topology


def stop_faults(instruction: Instruction, tiles: int) -> Iterator[str]:
    """Stops on the ring to which the instruction must not send."""
    if isinstance(instruction, Infeed) and instruction.transfers > 1:
        last = instruction.to.bit_length() + instruction.transfers - 2
        if last >= tiles:
            yield f"to must stay among the {tiles} tiles in all {instruction.transfers} transfers, not reach {last}"
    if isinstance(instruction, RingProduce) and instruction.tiles & instruction.to:
        own = instruction.tiles & instruction.to
        yield f"to must not name the tile that sends ({own:#x}), as {instruction.to:#x} does"


def ring_faults(instruction: Instruction, topology: Topology) -> Iterator[str]:
    """What is wrong with the rows that an instruction, whose loops are sound, takes off the ring."""
    if isinstance(instruction, Classify):
        yield from _classify_faults(instruction, topology.wide_memory.row_bytes)
    if isinstance(instruction, RingConsume) and instruction.filter is not None:
        if not topology.ring.byte_filter:
            yield "filter must not be given on a chip without ring.byte_filter"
        yield from _filter_faults(instruction.filter, iterations(instruction.write.nest), topology)


def _classify_faults(op: Classify, row_bytes: int) -> Iterator[str]:
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
