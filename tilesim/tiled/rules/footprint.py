"""Which bytes of a tile's memories an instruction reads and writes, as bitmaps: bit k of an int stands for byte k."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tilesim.tiled.isa.accesses import Access, accesses, sizes_bytes
from tilesim.tiled.isa.instructions import Instruction, Work, counted_nest
from tilesim.tiled.isa.nests import Block, blocks
from tilesim.tiled.topology import Topology

WRITTEN = frozenset({"write", "output", "sums_out"})
"""The operands that an instruction writes; it reads the others."""


@dataclass(frozen=True)
class Footprint:
    """The bytes that one operand touches, and the memory that they are in (``narrow`` or ``wide``)."""

    operand: str
    memory: str
    touched: int

    @property
    def writes(self) -> bool:
        return self.operand in WRITTEN

    @cached_property
    def first(self) -> int:
        return (self.touched & -self.touched).bit_length() - 1

    @property
    def end(self) -> int:
        return self.touched.bit_length()


def footprints(op: Instruction, topology: Topology) -> Iterator[Footprint]:
    """The footprint of each operand of a sound instruction."""
    for access in accesses(op, topology):
        yield Footprint(access.field, access.memory, _all_touched(access, topology))


MOST_ROUNDS = 1 << 12
"""Rounds that are looked at one by one."""


def by_round(op: Work, operand: str, topology: Topology) -> list[int] | None:
    """The bytes that an operand touches in each round of the outermost loop that the instruction counts; None if its
    addresses don't follow that loop, or if there are too many rounds to look at.
    """
    [access] = [access for access in accesses(op, topology) if access.field == operand]
    nest = access.nest
    if nest != counted_nest(op) or (nest.alternate is not None and nest.alternate.loop == nest.loops[0].name):
        return None
    outer, *inner = nest.loops
    if outer.bound > MOST_ROUNDS:
        return None
    once = replace(nest, loops=(replace(outer, bound=1), *inner))
    stride = dict(access.reference.strides).get(outer.name, 0) if outer.name in access.moving else 0
    first = _all_touched(replace(access, nest=once), topology)
    return [first << k * stride if stride >= 0 else first >> k * -stride for k in range(outer.bound)]


def _all_touched(access: Access, topology: Topology) -> int:
    touched = 0
    for block in blocks(access.nest):
        touched |= _touched(access, block, topology)
    return touched


def _touched(access: Access, block: Block, topology: Topology) -> int:
    size = sizes_bytes(topology, access.operation, block.innermost)[access.size]
    touched = (1 << size) - 1
    address = access.reference.base
    for loop, stride in access.reference.strides:
        if loop in access.moving:
            first, last = block.counters[loop]
            touched, back = repeated(touched, stride, last - first + 1)
            address += first * stride - back
    return touched << address


def repeated(bits: int, stride: int, count: int) -> tuple[int, int]:
    """``bits`` at 0, stride, 2 * stride, …; for a negative stride shifted up, by the second result."""
    if stride < 0:
        return repeated(bits, -stride, count)[0], -stride * (count - 1)
    covered = 1
    while covered < count:  # doubling: what k repetitions touch, moved on, is what the next k touch
        more = min(covered, count - covered)
        bits |= bits << more * stride
        covered += more
    return bits, 0
