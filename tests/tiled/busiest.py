"""What a program's layers at least take: in each, the cycles of the busiest port, link or MAC array, told from the
instructions alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import ceil, prod

from tilesim.tiled.isa.model.instructions import (
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
)
from tilesim.tiled.isa.model.loops import domains, iterations
from tilesim.tiled.isa.model.program import Program

Cycles = Counter[str]


def busiest(program: Program) -> dict[int, tuple[str, int]]:
    """For each layer (-1: none) its busiest resource and that one's cycles."""
    found: dict[int, Cycles] = defaultdict(Counter)
    for op in program.run:
        found[getattr(op, "layer", -1)].update(_cycles(op, program))
    return {layer: cycles.most_common(1)[0] for layer, cycles in sorted(found.items()) if cycles}


def _cycles(op: Instruction, program: Program) -> Cycles:
    """Cycles of each port, link and MAC array that one instruction needs."""
    if isinstance(op, Infeed):
        return _infeed_cycles(op, program)
    each: Cycles = Counter()
    row_words = program.topology.wide_memory.row_bytes // program.topology.narrow_memory.word_bytes
    match op:
        case TensorOp():
            each = _tensorop_cycles(op, program)
        case RingConsume():
            each = Counter(wide=iterations(op.write.nest))
        case RingProduce():
            each = Counter(wide=iterations(op.read.nest), ring=iterations(op.read.nest))
        case NarrowToWide():
            rows = iterations(op.write.nest)
            each = Counter(narrow_read=rows * row_words, wide=rows)
        case WideToNarrow():
            rows = iterations(op.read.nest)
            each = Counter(narrow_write=rows * row_words, wide=rows)
        case MeshIn():
            each = Counter(narrow_write=iterations(op.write.nest))
        case MeshOut():
            each = Counter({"narrow_read": iterations(op.read.nest), f"mesh_{op.side}": iterations(op.read.nest)})
    tiles = [tile for tile in range(program.topology.tiles) if getattr(op, "tiles", 0) >> tile & 1]
    ring = Counter(ring=each.pop("ring", 0))
    return Counter({f"{what} {tile}": n for tile in tiles for what, n in each.items()}) + ring


def _infeed_cycles(op: Infeed, program: Program) -> Cycles:
    """Of the slowest thing on the way of the rows: the host's link, data memory or the ring."""
    topology, rows = program.topology, op.rows * op.transfers
    source = topology.host if op.source == "host" else topology.data_memory
    return Counter({op.source: ceil(rows * topology.wide_memory.row_bytes / source.bytes_per_cycle), "ring": rows})


def _tensorop_cycles(op: TensorOp, program: Program) -> Cycles:
    """Issue cycles at the MAC array and the ports it reads, result words at the port it writes."""
    outer = [loop.name for loop in op.nest.loops[:-1]]
    kept = [name for name in outer if name not in op.reduce]
    word_bytes, issues, words = program.topology.narrow_memory.word_bytes, 0, 0
    for domain in domains(op.nest):
        counts = {name: last - first + 1 for name, (first, last) in domain.counters.items()}
        issues += prod(counts[name] for name in outer)
        words += prod(counts[name] for name in kept) * -(-domain.innermost // word_bytes)
    issues *= (2 if op.input_b is not None else 1) * prod(max(1, width // 8) for width in op.widths)
    each = Counter(macs=issues, narrow_read=issues, narrow_write=words)
    if op.weights is not None:
        each["wide"] = issues
    return each
