"""Which memory each reference of an instruction addresses, in what steps and sizes, and whether all of it exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from tilesim.tiled.isa.model.fields import MemoryName, Nest, Reference
from tilesim.tiled.isa.model.instructions import (
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Operation,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
    counted_nest,
)
from tilesim.tiled.isa.model.loops import domains, iterations, span, straddles
from tilesim.tiled.topology import LANE_BYTES, Topology


@dataclass(frozen=True)
class Port:
    """One side of a DMA: the memory, what it moves at a time, and the most loops of its traversal.

    Source: for the loops, the Edge TPU's instructions as reported by others.
    """

    memory: str
    unit: str
    deepest: int


@dataclass(frozen=True)
class Operand:
    """A tensorop's operand: its memory, whether it moves once a result group, what its addresses and sizes are."""

    memory: str
    once_a_group: bool
    multiple: str
    access: str


PORTS: dict[type, dict[str, Port]] = {
    RingConsume: {"write": Port("wide", "row", 4)},
    RingProduce: {"read": Port("wide", "row", 4)},
    NarrowToWide: {"read": Port("narrow", "word", 6), "write": Port("wide", "row", 4)},
    WideToNarrow: {"read": Port("wide", "row", 4), "write": Port("narrow", "word", 6)},
    MeshIn: {"write": Port("narrow", "word", 4)},
    MeshOut: {"read": Port("narrow", "word", 4)},
}
WIDE_MESH: dict[type, dict[str, Port]] = {
    MeshIn: {"write": Port("wide", "row", 4)},
    MeshOut: {"read": Port("wide", "row", 4)},
}
"""What a mesh engine moves that works on wide memory."""


def mesh_memory(op: MeshIn | MeshOut, topology: Topology) -> MemoryName:
    """The memory that a mesh instruction works on: words arrive where the mesh takes them, and leave from either."""
    return op.memory if isinstance(op, MeshOut) else MemoryName(topology.mesh.destination)


def ports(instruction: Instruction, topology: Topology) -> dict[str, Port]:
    """The sides of a DMA by the field that holds the traversal; none for other instructions."""
    wide = isinstance(instruction, MeshIn | MeshOut) and mesh_memory(instruction, topology) == MemoryName.WIDE
    return (WIDE_MESH if wide else PORTS).get(type(instruction), {})


def mesh_words(op: MeshIn | MeshOut, topology: Topology) -> int:
    """The words that a mesh instruction, whose loops are sound, moves over its link."""
    return iterations(counted_nest(op)) * words_per_access(op, topology)


def words_per_access(op: MeshIn | MeshOut, topology: Topology) -> int:
    """The words that go over its link each time that a mesh instruction touches the memory."""
    size = sizes_bytes(topology)
    [port] = ports(op, topology).values()
    return size[port.unit] // size["word"]


IN_ONE_ROW = ("weights", "parameters")
"""Operands that one access to wide memory must deliver; of the parameters, each of the three rows, or each whole row of
a table, by itself.
"""

TABLE_BYTES = 256

OPERANDS: dict[str, Operand] = {
    "input": Operand("narrow", False, "operand", "operand"),
    "input_b": Operand("narrow", False, "operand", "operand"),
    "weights": Operand("wide", False, "byte", "weights"),
    "parameters": Operand("wide", True, "lane", "parameters"),
    "sums_in": Operand("wide", True, "row", "row"),
    "sums_out": Operand("wide", True, "row", "row"),
    "output": Operand("narrow", True, "word", "results"),
}


def sizes_bytes(topology: Topology, operation: Operation = Operation.CONVOLUTION, lanes: int = 1) -> Mapping[str, int]:
    """What the words of the tables above mean in bytes, for an operation on ``lanes`` lanes."""
    tile, word, row = topology.tile, topology.narrow_memory.word_bytes, topology.wide_memory.row_bytes
    broadcast = operation is Operation.CONVOLUTION
    return _sizes_bytes(word, row, tile.inputs_per_cycle if broadcast else tile.vector_bytes, operation, lanes)


@lru_cache(maxsize=1 << 12)
def _sizes_bytes(word: int, row: int, operand: int, operation: Operation, lanes: int) -> Mapping[str, int]:
    broadcast = operation is Operation.CONVOLUTION
    return {
        "byte": 1,
        "word": word,
        "row": row,
        "lane": LANE_BYTES,
        "parameters": TABLE_BYTES if operation is Operation.TABLE else 2 * row + LANE_BYTES * lanes,
        "operand": operand,
        "weights": lanes * operand if broadcast else operand,
        "results": -(-lanes // word) * word,
    }


@dataclass(frozen=True)
class Access:
    """A stream of addresses into one memory: only the loops in ``moving`` move it."""

    field: str
    memory: str
    nest: Nest
    reference: Reference
    moving: frozenset[str]
    multiple: str
    size: str
    operation: Operation = Operation.CONVOLUTION


def accesses(instruction: Instruction, topology: Topology) -> Iterator[Access]:
    """Every stream of addresses of ``instruction``."""
    if isinstance(instruction, TensorOp):
        yield from _operands(instruction)
    for name, port in ports(instruction, topology).items():
        traversal = getattr(instruction, name)
        moving = frozenset(loop.name for loop in traversal.nest.loops)
        yield Access(name, port.memory, traversal.nest, traversal.reference, moving, port.unit, port.unit)


def _operands(op: TensorOp) -> Iterator[Access]:
    # The lanes all go in one cycle, so that their loop never moves an address.
    issued = frozenset(loop.name for loop in op.nest.loops[:-1])
    for name, operand in OPERANDS.items():
        reference = getattr(op, name)
        if reference is not None:
            moving = issued.difference(op.reduce) if operand.once_a_group else issued
            yield Access(
                name, operand.memory, op.nest, reference, moving, operand.multiple, operand.access, op.operation
            )


def access_faults(access: Access, topology: Topology) -> Iterator[str]:
    """What is wrong with the addresses of ``access``, whose nest and reference must be sound."""
    yield from _misaligned(access, sizes_bytes(topology, access.operation)[access.multiple])
    yield from _outside(access, topology)
    if access.field not in IN_ONE_ROW:
        return
    row_bytes = topology.wide_memory.row_bytes
    sized = partial(_row_part_bytes, access, topology)
    if straddles(access.nest, access.reference, access.moving, sized, row_bytes):
        most = max(sized(domain.innermost) for domain in domains(access.nest))
        yield f"{access.field} must not cross the end of a row of {row_bytes} bytes within one operand of {most} bytes"


def _row_part_bytes(access: Access, topology: Topology, lanes: int) -> int:
    if access.operation is Operation.TABLE:
        return min(TABLE_BYTES, topology.wide_memory.row_bytes)
    return LANE_BYTES * lanes if access.field == "parameters" else size_bytes(access, topology, lanes)


def size_bytes(access: Access, topology: Topology, lanes: int) -> int:
    """What one access touches whose innermost loop runs ``lanes`` times."""
    return sizes_bytes(topology, access.operation, lanes)[access.size]


def extent(access: Access, topology: Topology) -> tuple[int, int]:
    """The first byte that is touched, and the end."""
    found = [
        (low, high + size_bytes(access, topology, domain.innermost))
        for domain in domains(access.nest)
        for low, high in [span(domain, access.reference, access.moving)]
    ]
    return min(low for low, _ in found), max(end for _, end in found)


def _misaligned(access: Access, multiple: int) -> Iterator[str]:
    what = f"a multiple of {multiple} bytes (one {access.multiple})"
    if access.reference.base % multiple:
        yield f"{access.field} must begin at {what}, not at {access.reference.base:#x}"
    for name, stride in access.reference.strides:
        if stride % multiple and name in access.moving and _bound(access.nest, name) > 1:
            yield f"{access.field} must move by {what} in the loop {name}, not by {stride}"


def _bound(nest: Nest, name: str) -> int:
    return next(loop.bound for loop in nest.loops if loop.name == name)


def _outside(access: Access, topology: Topology) -> Iterator[str]:
    memory = topology.narrow_memory if access.memory == "narrow" else topology.wide_memory
    lowest, end = extent(access, topology)
    if lowest < 0 or end > memory.size_bytes:
        yield (
            f"{access.field} must stay inside the {access.memory} memory of {memory.size_bytes} bytes, "
            f"but {f'begins at {lowest}' if lowest < 0 else f'ends at {end}'}"
        )
    reserve_bytes = topology.wide_memory.reserve_bytes if access.memory == "wide" else 0
    if 0 <= lowest < reserve_bytes:
        yield (
            f"{access.field} must leave the first {reserve_bytes} bytes of the wide memory alone "
            f"(wide_memory.reserve_bytes), not begin at {lowest}"
        )


def transfer_faults(instruction: Instruction, topology: Topology) -> Iterator[str]:
    """A DMA between the memories must move whole rows, as many bytes as it reads. Source: US 19/025,090 [0052]."""
    size = sizes_bytes(topology)
    moved_bytes = {
        port.unit: iterations(getattr(instruction, side).nest) * size[port.unit]
        for side, port in ports(instruction, topology).items()
    }
    if len(moved_bytes) == 2 and moved_bytes["word"] != moved_bytes["row"]:
        yield (
            f"read and write must move the same whole rows of {size['row']} bytes, "
            f"not {moved_bytes['word']} bytes of narrow words and {moved_bytes['row']} bytes of wide rows"
        )
