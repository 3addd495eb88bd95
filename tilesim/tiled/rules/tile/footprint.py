"""Which bytes of a tile's memories an instruction reads and writes, as bitmaps: bit k of an int stands for byte k."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from tilesim.tiled.isa.model.accesses import Access, accesses, extent, size_bytes
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.loops import Domain, domains
from tilesim.tiled.topology import Topology


class Footprint(Struct, frozen=True, eq=False, dict=True):
    """The bytes that one operand touches: the first, the end, and, as soon as somebody asks, which between them."""

    access: Access
    topology: Topology

    @property
    def operand(self) -> str:
        return self.access.field

    @property
    def memory(self) -> str:
        """``narrow`` or ``wide``."""
        return self.access.memory

    @property
    def writes(self) -> bool:
        return self.access.operand.writes

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The first byte, and the end."""
        return extent(self.access, self.topology)

    @property
    def first(self) -> int:
        return self.extent[0]

    @property
    def end(self) -> int:
        return self.extent[1]

    @cached_property
    def pattern(self) -> int:
        """The bytes from the first on, as a bitmap."""
        pattern = 0
        for domain in domains(self.access.nest):
            pattern |= _pattern(self.access, domain, self.topology, self.first)
        return pattern

    @property
    def touched(self) -> int:
        """The bytes, as a bitmap of the memory."""
        return self.pattern << self.first

    def clashes(self, other: Footprint) -> bool:
        """Whether both touch some byte of one memory, and at least one of them writes."""
        if self.memory != other.memory or not (self.writes or other.writes):
            return False
        (first, end), (other_first, other_end) = self.extent, other.extent
        if first >= other_end or other_first >= end:
            return False
        return common(self.pattern, other.pattern, other_first - first)


def footprints(op: Instruction, topology: Topology) -> Iterator[Footprint]:
    """The footprint of each operand of a sound instruction."""
    return (Footprint(access, topology) for access in accesses(op, topology))


def common(pattern: int, other: int, distance: int) -> bool:
    """Whether two bitmaps have a bit in common; ``other`` begins ``distance`` bits behind ``pattern``."""
    return ((other << distance if distance > 0 else other >> -distance) & pattern) != 0


def _pattern(access: Access, domain: Domain, topology: Topology, origin: int) -> int:
    pattern = (1 << size_bytes(access, topology, domain.innermost)) - 1
    address = access.reference.base
    for loop, stride in access.reference.strides:
        if loop in access.moving:
            first, last = domain.counters[loop]
            pattern, back = repeated(pattern, stride, last - first + 1)
            address += first * stride - back
    return pattern << address - origin


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
