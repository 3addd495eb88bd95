"""How much of each memory a program needs."""

from __future__ import annotations

from tilesim.machines.program import covered_bytes
from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.isa.walk import walk
from tilesim.rotating.topology import RAW_ROWS


def peak_bytes(program: Program) -> dict[str, int]:
    """By memory: the rows that anything is written into, from the first byte to the last."""
    data = _brought(program, isa.Ram.DATA)
    for _, op, counters in walk(program.run):
        if isinstance(op, isa.Out):
            row = op.row.address(counters)
            data.add((row, row + (RAW_ROWS if op.function is isa.Function.RAW else 1)))
    row_bytes = program.topology.row_bytes
    return {
        "data_ram": covered_bytes(data) * row_bytes,
        "weight_ram": covered_bytes(_brought(program, isa.Ram.WEIGHT)) * row_bytes,
    }


def _brought(program: Program, ram: isa.Ram) -> set[tuple[int, int]]:
    """Rows of a RAM that DMA in writes."""
    ops = (*program.load, *program.run)
    return {(op.row, op.row + op.rows) for op in ops if isinstance(op, isa.ReadHostMemory) and op.ram is ram}
