"""Weight memory: transfers, a number of bytes each, by a clock of its own."""

from __future__ import annotations

from tilesim.systolic.topology import Topology


class WeightMemory:
    """Transfers one block after the other, in ticks of its own clock, of which there are clock_hz a second.

    Timing: a block of n bytes asked for at t begins with tick max(end of the block before, ceil(t * weight clock /
    chip clock)) and takes ceil(n / transfer_bytes) ticks; ticks are exact, so that n blocks back to back take n times
    as long as one, to the fraction. A memory that was at rest waits for its next tick: one with a slightly faster
    clock may then be a cycle later, one that is an integer times as fast is not. Source: Jouppi et al., ISCA 2017,
    section 2 (34 GB/s); JP 7561916 B2, for its clock and a number of channels.
    """

    def __init__(self, topology: Topology) -> None:
        self._chip_hz = topology.clock_hz
        self._hz = topology.weight_memory.clock_hz
        self._transfer_bytes = topology.weight_memory.transfer_bytes
        self._free_tick = 0

    def transfer(self, cycle: int, block_bytes: int) -> tuple[int, int]:
        """Transfer a block asked for in ``cycle``: the cycle in which that ends, and the first one that has it all."""
        start = max(self._free_tick, -(-cycle * self._hz // self._chip_hz))
        self._free_tick = start + -(-block_bytes // self._transfer_bytes)
        end = self._free_tick * self._chip_hz
        return end // self._hz, -(-end // self._hz)
