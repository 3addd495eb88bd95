"""What stands in data memory, which nobody writes while a program runs."""

from __future__ import annotations

from functools import cached_property

from tilesim.sim.core.memory import Bytes, Memory
from tilesim.tiled.isa.model.program import Program


class DataMemory:
    """The bytes that a program puts there, where it has them, and zeros around them.

    Raises:
        AccessError: it puts some outside.
    """

    def __init__(self, program: Program) -> None:
        self._segments = program.data
        self._memory = Memory("chip.data_memory", program.topology.data_memory.size_bytes)
        for segment in self._segments:
            self._memory.check(segment.address, segment.address + segment.data.size)

    def read(self, first: int, end: int) -> Bytes:
        """The bytes from ``first`` up to ``end``, (1, bytes)."""
        self._memory.check(first, end)
        for segment in self._segments:
            if segment.address <= first and end <= segment.address + segment.data.size:
                return segment.data[None, first - segment.address : end - segment.address]
        return self._whole[:, first:end]

    @cached_property
    def _whole(self) -> Bytes:
        for segment in self._segments:
            self._memory.write_row(segment.address, segment.data[None])
        return self._memory.bytes
