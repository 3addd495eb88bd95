"""How much of each memory a program needs."""

from __future__ import annotations

from collections import defaultdict

from tilesim.machines.program import covered_bytes
from tilesim.systolic.isa.checks.footprints import ACCUMULATORS, BUFFER, WEIGHTS, accesses
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.topology import SUM_BYTES


def peak_bytes(program: Program) -> dict[str, int]:
    """By memory: what its instructions reach, each from its first byte to its last, things that take turns counted
    once.
    """
    reached: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for op in (*program.load, *program.run):
        for access in accesses(op, program.topology):
            reached[access.memory].add((access.footprint.first, access.footprint.end))
    entry_bytes = program.topology.array.outputs * SUM_BYTES
    return {
        "unified_buffer": covered_bytes(reached[BUFFER]),
        "weight_memory": covered_bytes(reached[WEIGHTS]),
        "accumulators": covered_bytes(reached[ACCUMULATORS]) * entry_bytes,
    }
