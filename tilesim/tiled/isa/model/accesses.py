"""Which memory each reference of an instruction addresses, in what steps and sizes, and whether all of it exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from tilesim.tiled.isa.model.fields import Alternate, Loop, MemoryName, Nest, Reference, Traversal
from tilesim.tiled.isa.model.instructions import Instruction, MeshIn, MeshOut, Operation, TensorOp, counted_nest
from tilesim.tiled.isa.model.loops import domains, iterations, span, straddles
from tilesim.tiled.isa.model.sheet import Operand
from tilesim.tiled.topology import LANE_BYTES, Topology


def operands(instruction: Instruction, topology: Topology) -> tuple[Operand, ...]:
    """What the instruction may address on such a chip."""
    if not isinstance(instruction, MeshIn | MeshOut):
        return instruction.row.operands
    # words arrive where the mesh takes them, and leave from either
    memory = instruction.memory if isinstance(instruction, MeshOut) else MemoryName(topology.mesh.destination)
    return tuple(operand for operand in instruction.row.operands if operand.memory == memory)


def mesh_words(op: MeshIn | MeshOut, topology: Topology) -> int:
    """The words that a mesh instruction, whose loops are sound, moves over its link."""
    return iterations(counted_nest(op)) * words_per_access(op, topology)


def words_per_access(op: MeshIn | MeshOut, topology: Topology) -> int:
    """The words that go over its link each time that a mesh instruction touches the memory."""
    size = sizes_bytes(topology)
    [operand] = operands(op, topology)
    return size[operand.unit] // size["word"]


TABLE_BYTES = 256


class OperandSizes(NamedTuple):
    """What tells how large a tensorop's operands are: bytes of an element of each, and registers of its sums."""

    operation: Operation = Operation.CONVOLUTION
    input_bytes: int = 1
    weight_bytes: int = 1
    output_bytes: int = 1
    sum_registers: int = 1

    @classmethod
    def of(cls, op: TensorOp) -> OperandSizes:
        return cls(op.operation, op.input_type.bytes, op.weight_type.bytes, op.output_type.bytes, op.sum_registers)


BYTES = OperandSizes()
"""Those of a convolution of bytes."""


def sizes_bytes(topology: Topology, sizes: OperandSizes = BYTES, lanes: int = 1) -> Mapping[str, int]:
    """What the words of the sheet mean in bytes, for a tensorop with such operands on ``lanes`` lanes."""
    tile, word, row = topology.tile, topology.narrow_memory.word_bytes, topology.wide_memory.row_bytes
    operand = tile.inputs_per_cycle if sizes.operation is Operation.CONVOLUTION else tile.vector_bytes
    written = result_unit_bytes(topology, sizes)
    return _sizes_bytes(word, row, tile.register_bytes, operand, written, sizes, lanes)


def result_unit_bytes(topology: Topology, sizes: OperandSizes) -> int:
    """The least that a result group writes: a word, the last one of several ended by zeros; or what the operation's
    lanes make, if that is less, as the narrow write port takes a word with some of its bytes masked.

    Source: assumption, for the mask.
    """
    tile = topology.tile
    lanes = tile.lanes if sizes.operation is Operation.CONVOLUTION else tile.vector_bytes
    return min(topology.narrow_memory.word_bytes, lanes * sizes.output_bytes)


@lru_cache(maxsize=1 << 12)
def _sizes_bytes(
    word: int, row: int, register: int, elements: int, written: int, sizes: OperandSizes, lanes: int
) -> Mapping[str, int]:
    inputs, weights, sums = elements * sizes.input_bytes, elements * sizes.weight_bytes, sizes.sum_registers * register
    parameters = sums + register + LANE_BYTES * lanes  # the last register ends with the lanes
    return {
        "byte": 1,
        "word": word,
        "row": row,
        "register": min(row, sums),
        "lane": LANE_BYTES,
        "parameters": TABLE_BYTES if sizes.operation is Operation.TABLE else parameters,
        "operand": min(word, inputs),
        "inputs": inputs,
        "weights": lanes * weights if sizes.operation is Operation.CONVOLUTION else weights,
        "sums": sums,
        "write": written,
        "results": -(-lanes * sizes.output_bytes // written) * written,
    }


@dataclass(frozen=True)
class Access:
    """A stream of addresses into one memory: only the loops in ``moving`` move it."""

    operand: Operand
    nest: Nest
    reference: Reference
    moving: frozenset[str]
    sizes: OperandSizes = BYTES

    @property
    def field(self) -> str:
        return self.operand.field

    @property
    def memory(self) -> MemoryName:
        return self.operand.memory


def accesses(instruction: Instruction, topology: Topology) -> Iterator[Access]:
    """Every stream of addresses of ``instruction``."""
    if isinstance(instruction, TensorOp):
        yield from _of_tensorop(instruction, result_unit_bytes(topology, OperandSizes.of(instruction)))
        return
    for operand in operands(instruction, topology):
        traversal: Traversal = getattr(instruction, operand.field)
        moving = frozenset(loop.name for loop in traversal.nest.loops)
        yield Access(operand, traversal.nest, traversal.reference, moving)


def _of_tensorop(op: TensorOp, written_bytes: int) -> Iterator[Access]:
    # The lanes all go in one cycle, so that their loop moves no address but those of the words that come of them.
    issued = frozenset([loop.name for loop in op.nest.loops[:-1]])
    once_a_group, sizes = issued.difference(op.reduce), OperandSizes.of(op)
    for operand in op.row.operands:
        reference = getattr(op, operand.field)
        if reference is not None:
            access = Access(operand, op.nest, reference, once_a_group if operand.once_a_group else issued, sizes)
            yield _by_word(access, written_bytes) if moves_by_lane(op, reference) else access


def moves_by_lane(op: TensorOp, reference: Reference) -> bool:
    """Whether the loop of the lanes moves an operand."""
    lanes = op.nest.loops[-1].name if op.nest.loops else None
    return any(stride and loop == lanes for loop, stride in reference.strides)


def _by_word(access: Access, written_bytes: int) -> Access:
    """Results whose words lie apart: the loop of the lanes becomes one of words."""
    *outer, lanes = access.nest.loops
    element_bytes = access.sizes.output_bytes
    nest = Nest((*outer, Loop(lanes.name, -(-lanes.bound * element_bytes // written_bytes))), access.nest.alternate)
    if nest.alternate is not None:
        words = -(-nest.alternate.limit * element_bytes // written_bytes)
        nest = nest._replace(alternate=Alternate(nest.alternate.loop, words))
    return replace(
        access, operand=replace(access.operand, size="write"), nest=nest, moving=access.moving | {lanes.name}
    )


def access_faults(access: Access, topology: Topology) -> Iterator[str]:
    """What is wrong with the addresses of ``access``, whose nest and reference must be sound."""
    yield from _misaligned(access, sizes_bytes(topology, access.sizes)[access.operand.unit])
    yield from _outside(access, topology)
    if not access.operand.in_one_row:
        return
    within, what = _within(access, topology)
    sized = partial(_row_part_bytes, access, topology)
    if straddles(access.nest, access.reference, access.moving, sized, within):
        most = max(sized(domain.innermost) for domain in domains(access.nest))
        yield f"{access.field} must not cross the end of {what} of {within} bytes within one operand of {most} bytes"


def _within(access: Access, topology: Topology) -> tuple[int, str]:
    """Of what one access to wide memory must lie in one: bytes, and its name."""
    register_bytes, row_bytes = topology.tile.register_bytes, topology.wide_memory.row_bytes
    if access.field == "parameters" and access.sizes.operation is not Operation.TABLE and register_bytes < row_bytes:
        return register_bytes, "a part of a row"
    if access.field == "weights" and access.sizes.weight_bytes > 1:
        return access.sizes.weight_bytes * row_bytes, "a pair of rows"  # one in each pass
    return row_bytes, "a row"


def _row_part_bytes(access: Access, topology: Topology, lanes: int) -> int:
    if access.sizes.operation is Operation.TABLE:
        return min(TABLE_BYTES, topology.wide_memory.row_bytes)
    return LANE_BYTES * lanes if access.field == "parameters" else size_bytes(access, topology, lanes)


def size_bytes(access: Access, topology: Topology, lanes: int) -> int:
    """What one access touches whose innermost loop runs ``lanes`` times."""
    return sizes_bytes(topology, access.sizes, lanes)[access.operand.size or access.operand.unit]


def extent(access: Access, topology: Topology) -> tuple[int, int]:
    """The first byte that is touched, and the end."""
    nest, reference = access.nest, access.reference
    innermost = nest.loops[-1].bound if nest.loops else 1
    whole = size_bytes(access, topology, innermost)
    short = size_bytes(access, topology, nest.alternate.limit) if nest.alternate else whole
    low, end = _reach(nest, reference.strides, access.moving, whole, short)
    return reference.base + low, reference.base + end


@lru_cache(maxsize=1 << 12)
def _reach(
    nest: Nest, strides: tuple[tuple[str, int], ...], moving: frozenset[str], whole: int, short: int
) -> tuple[int, int]:
    """How far from a base accesses go of ``whole`` bytes, or of ``short`` ones where an alternate limit holds."""
    spans = [
        (low, high + (short if nest.alternate and domain.innermost == nest.alternate.limit else whole))
        for domain in domains(nest)
        for low, high in [span(domain, Reference(0, strides), moving)]
    ]
    return min(low for low, _ in spans), max(end for _, end in spans)


def _misaligned(access: Access, multiple: int) -> Iterator[str]:
    what = f"a multiple of {multiple} bytes (one {access.operand.unit})"
    if access.reference.base % multiple:
        yield f"{access.field} must begin at {what}, not at {access.reference.base:#x}"
    turning = access.moving & {loop.name for loop in access.nest.loops if loop.bound > 1}
    for name, stride in access.reference.strides:
        if stride % multiple and name in turning:
            yield f"{access.field} must move by {what} in the loop {name}, not by {stride}"


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
    """A DMA within a tile must write as many bytes as it reads, to or from wide memory whole rows. Source: US
    19/025,090 [0052].
    """
    if not instruction.row.copies:
        return
    size = sizes_bytes(topology)
    narrower, wider = sorted(operands(instruction, topology), key=lambda operand: operand.memory)
    moved, wanted = (
        iterations(getattr(instruction, operand.field).nest) * size[operand.unit] for operand in (narrower, wider)
    )
    if moved != wanted:
        what = f"the same whole rows of {size['row']} bytes" if wider.unit == "row" else "as many bytes"
        yield (
            f"read and write must move {what}, not {moved} bytes of {narrower.memory} {narrower.unit}s and "
            f"{wanted} bytes of {wider.memory} {wider.unit}s"
        )
